package api

import (
	"bytes"
	"fmt"
	"html"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"

	"keepsake/internal/usage"
)

// homeRoute is the start page of a surface without one of its own. It is in no table, because `/` is 404 for clients that are not browsers.
var homeRoute = route{template: "/", name: "GET /", method: http.MethodGet, page: (*requestState).home}

// wantsHome reports whether a browser requests the start page.
func (x *requestState) wantsHome() bool {
	return x.api.o.Surface == usage.Primary && x.reading() && x.r.URL.EscapedPath() == "/" && prefersHTML(x.r.Header["Accept"])
}

// prefersHTML reports whether an Accept header ranks text/html above application/json.
func prefersHTML(accept []string) bool {
	list := strings.Join(accept, ",")
	return weight(list, "text", "html") > weight(list, "application", "json")
}

// weight returns the quality of a media type in an Accept header: that of the most specific range (RFC 9110, 12.5.1).
func weight(accept, kind, subtype string) float64 {
	ranges := []string{"*/*", kind + "/*", kind + "/" + subtype} // from general to specific
	best, found := 0.0, -1
	for item := range strings.SplitSeq(accept, ",") {
		media, params, err := mime.ParseMediaType(item)
		if err != nil {
			continue
		}
		for i := max(found, 0); i < len(ranges); i++ {
			if media != ranges[i] {
				continue
			}
			q, err := strconv.ParseFloat(params["q"], 64)
			if err != nil { // no quality
				q = 1
			}
			best, found = q, i
		}
	}
	return best
}

// home is the start page: what is running and how to call it.
func (x *requestState) home() (page, error) {
	x.w.Header().Add("Vary", "Accept")
	return page{media: mediaHTML, body: x.homePage()}, nil
}

// homePage renders the start page without styles, because the policy of pages forbids them.
func (x *requestState) homePage() []byte {
	var b bytes.Buffer
	b.WriteString(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Keepsake</title>
<h1>Keepsake</h1>
`)
	version := ""
	if x.api.o.Release != "" {
		version = ", version " + html.EscapeString(x.api.o.Release)
	}
	fmt.Fprintf(&b, "<p>This is Keepsake%s: search and long-term memory behind one API.\n<ul>\n", version)
	link := func(path, text string) {
		fmt.Fprintf(&b, "<li><a href=\"%s\">%s</a>\n", html.EscapeString(x.link(path)), text)
	}
	link("/openapi.json", "Description of the API (OpenAPI)")
	link("/api/versions", "Versions of the API")
	for _, v := range x.snapshot.All() {
		if x.snapshot.Version(v.Number+1) != nil {
			link(v.Guide(), fmt.Sprintf("Migration from version %d to version %d", v.Number, v.Number+1))
		}
	}
	b.WriteString("</ul>\n<p>Check that it works, store a document, and find it. <code>$KEEPSAKE_KEY</code> is your API key.\n")
	const key = `-H "X-API-Key: $KEEPSAKE_KEY"`
	base := x.baseURL() + "/api/v" + x.table.number
	for _, line := range []string{
		`curl ` + key + ` ` + base + `/health`,
		`curl -X PUT ` + key + ` -H "Content-Type: application/json" -d '{"title":"Boiler","text":"Bleed the radiators."}' ` + base + `/documents/boiler`,
		`curl ` + key + ` "` + base + `/search?q=radiators"`,
	} {
		fmt.Fprintf(&b, "<p><code>%s</code>\n", html.EscapeString(line))
	}
	b.WriteString("</html>\n")
	return b.Bytes()
}

// baseURL returns the address of the API: publicUrl, or this machine with the listener's port. It never uses the Host
// header.
func (x *requestState) baseURL() string {
	if x.api.o.PublicURL != "" {
		return x.api.o.PublicURL
	}
	scheme, port := "http", 8080
	if x.r.TLS != nil {
		scheme = "https"
	}
	if at, ok := x.parent.Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
		port = at.Port
	}
	return scheme + "://localhost:" + strconv.Itoa(port)
}
