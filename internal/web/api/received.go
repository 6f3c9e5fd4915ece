package api

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"keepsake/internal/govern/usage"
)

// received is a request as it came.
type received struct {
	exchange *exchange
	ctx      *operationContext
	api      *API
	at       time.Time // when it was received

	w    http.ResponseWriter
	r    *http.Request
	conn *conn     // nil if we cannot write to it directly
	sent io.Reader // the body as net/http gave it

	stream   *progress // the body of a stream, with its deadlines
	incoming arriving  // the body of other classes, while it is read

	address addressLimits
}

// serve checks a request in the order of docs/spec/scopes.md, so that a refusal reveals nothing that only a later check knows.
func (x *received) serve() {
	if x.api.o.Surface != usage.Backend {
		x.warnOfProxy()
	}
	rt, p := x.negotiate()
	var known *caller
	if p == nil && rt.snapshot.Rehearsing(rt.version.Number, x.at) {
		known, p = rt.rehearse()
	}
	if p != nil {
		rt.turnAway(p, known)
		return
	}
	found, values := rt.table.find(x.r)
	if found == nil && rt.isPageMissed() {
		found = rt.table.missing
		x.w.Header().Add("Vary", "Accept")
	}
	if found == nil {
		rt.noSuchRoute()
		return
	}
	rt.route = found
	found.setPathValues(x.r, values)
	if isFree(found) {
		if visits, over := rt.flooded(); over {
			rt.refuseFlood(&visits)
			return
		}
	}
	switch {
	case found.page != nil:
		rt.servePage()
	case found.op.CheckOrigin && !x.originAllowed():
		rt.turnAway(errOrigin, nil)
	default:
		rt.serveOperation(found.op)
	}
}

// reading reports whether the request asks for a representation.
func (x *received) reading() bool {
	return x.r.Method == http.MethodGet || x.r.Method == http.MethodHead
}

// chargeable reports whether requests for the path are charged: those under /api/ and /ai/ are (docs/spec/limits.md).
func (x *received) chargeable() bool {
	switch path := x.r.URL.Path; x.api.o.Surface {
	case usage.Primary:
		return strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/ai/")
	case usage.AI:
		return strings.HasPrefix(path, "/ai/")
	default:
		return false
	}
}

// agent is the header User-Agent.
func (x *received) agent() string {
	if sent := x.r.Header["User-Agent"]; len(sent) > 0 {
		return sent[0]
	}
	return ""
}

// link returns a link to a path: absolute if publicUrl is set. It never uses the Host header.
func (x *received) link(target string) string {
	if target != "" && target[0] == '/' {
		return x.api.o.PublicURL + target
	}
	return target
}

// baseURL returns the address of the API: publicUrl, or this machine with the listener's port. It never uses the Host
// header.
func (x *received) baseURL() string {
	if x.api.o.PublicURL != "" {
		return x.api.o.PublicURL
	}
	scheme, port := "http", 8080
	if x.r.TLS != nil {
		scheme = "https"
	}
	if at, ok := x.ctx.parent.Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
		port = at.Port
	}
	return scheme + "://localhost:" + strconv.Itoa(port)
}
