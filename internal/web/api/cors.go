package api

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
)

// What pages of the configured origins can send and read.
var (
	corsRequest = []string{"Accept-Version, Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, MCP-Protocol-Version, Mcp-Method, Mcp-Name, X-API-Key, X-Request-Id"}
	corsExpose  = []string{"Deprecation, ETag, Idempotent-Replayed, Link, Location, Retry-After, Sunset, X-API-Key-Expires, X-API-Key-Rotate-By, " +
		"X-API-Replacement-Version, X-API-Version, X-RateLimit-Daily-Remaining, X-RateLimit-Key-Limit, X-RateLimit-Key-Remaining, " +
		"X-RateLimit-Limit, X-RateLimit-Monthly-Remaining, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id"}
	corsAge    = []string{"600"}
	varyOrigin = []string{"Origin"}
)

// allowOrigin lets a page of a configured origin read the response. Every response says that it depends on the origin.
func (x *received) allowOrigin(h http.Header) {
	if h["Vary"] == nil {
		h["Vary"] = varyOrigin
	} else {
		h.Add("Vary", "Origin")
	}
	if origin := x.r.Header["Origin"]; len(origin) == 1 && slices.Contains(x.api.o.Origins, origin[0]) {
		h["Access-Control-Allow-Origin"] = origin
		h["Access-Control-Expose-Headers"] = corsExpose
	}
}

// preflight responds to a browser's preflight request.
func (x *received) preflight(allow string) {
	asked := x.r.Header["Access-Control-Request-Method"]
	origin := x.r.Header["Origin"]
	if len(asked) == 0 || len(origin) != 1 || !slices.Contains(x.api.o.Origins, origin[0]) {
		return
	}
	h := x.w.Header()
	h["Access-Control-Allow-Methods"] = []string{allow}
	h["Access-Control-Allow-Headers"] = corsRequest
	h["Access-Control-Max-Age"] = corsAge
}

// originAllowed reports whether an operation with CheckOrigin serves the request: it comes from no web page, from a page of
// the instance, or from one of a configured origin. Without publicUrl, the address of the instance is only known if it is
// this machine's own, because a client chooses Host.
func (x *received) originAllowed() bool {
	sent := x.r.Header["Origin"]
	if len(sent) == 0 {
		return true
	}
	origin, err := url.Parse(sent[0])
	if err != nil || len(sent) > 1 || origin.Host == "" {
		return false
	}
	if slices.Contains(x.api.o.Origins, sent[0]) {
		return true
	}
	if public, err := url.Parse(x.api.o.PublicURL); err == nil && public.Scheme == origin.Scheme && public.Host == origin.Host {
		return true
	}
	return origin.Host == x.r.Host && loopback(origin.Hostname())
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}
