package api

import (
	"bytes"
	"fmt"
	"html"
	"mime"
	"slices"
	"strconv"
	"strings"
)

// homePath is the path of the start page of the primary surface.
const homePath = "/"

// refusesHTML reports whether an Accept header excludes text/html.
func refusesHTML(accept []string) bool {
	list := strings.Join(accept, ",")
	return strings.TrimSpace(list) != "" && weight(list, "text", "html") == 0
}

// homeOrSummary serves the start page, or what it says in JSON to a client that refuses HTML.
func homeOrSummary(start func(x *charged) (page, error)) func(x *charged) (page, error) {
	return func(x *charged) (p page, err error) {
		h := x.w.Header()
		if refusesHTML(x.r.Header["Accept"]) {
			p = x.summary()
			h["Vary"] = []string{"Accept"}
		} else if p, err = start(x); err != nil {
			return p, err
		}
		// For programs, which do not read the page (RFC 8631).
		h["Link"] = append(h["Link"], "<"+x.link("/openapi.json")+`>; rel="service-desc"`)
		if x.api.hasPage(docsPath) {
			h["Link"] = append(h["Link"], "<"+x.link(docsPath)+`>; rel="service-doc"`)
		}
		return p, nil
	}
}

// docsPath is the path of the documentation, if the program has it.
const docsPath = "/docs"

func (a *API) hasPage(path string) bool {
	return slices.ContainsFunc(a.o.Pages, func(p WebPage) bool { return p.Path == path })
}

// startSummary is the start page in JSON.
type startSummary struct {
	Name          string `json:"name"`
	Release       string `json:"release,omitzero"`
	Version       string `json:"version"` // of the API
	Description   string `json:"description"`
	Versions      string `json:"versions"`
	Documentation string `json:"documentation,omitzero"`
	Health        string `json:"health"`
	RequestID     string `json:"requestId"`
}

func (x *charged) summary() page {
	s := startSummary{
		Name: "Keepsake", Release: x.api.o.Release, Version: x.identified.routed.table.number, Description: x.link("/openapi.json"),
		Versions: x.link("/api/versions"), Health: x.link(x.identified.routed.table.prefix + "health"), RequestID: x.ctx.RequestID(),
	}
	if x.api.hasPage(docsPath) {
		s.Documentation = x.link(docsPath)
	}
	return page{media: mediaJSON, body: encode(s)}
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
func (x *charged) home() (page, error) {
	x.w.Header().Add("Vary", "Accept")
	return page{media: mediaHTML, body: x.homePage()}, nil
}

// homePage renders the start page without styles, because the policy of pages forbids them.
func (x *charged) homePage() []byte {
	var b bytes.Buffer
	versions := x.identified.routed.snapshot
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
	for _, v := range versions.All() {
		if versions.Version(v.Number+1) != nil {
			link(v.Guide(), fmt.Sprintf("Migration from version %d to version %d", v.Number, v.Number+1))
		}
	}
	b.WriteString("</ul>\n<p>Check that it works, store a document, and find it. <code>$KEEPSAKE_KEY</code> is your API key.\n")
	const key = `-H "X-API-Key: $KEEPSAKE_KEY"`
	base := x.baseURL() + "/api/v" + x.identified.routed.table.number
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
