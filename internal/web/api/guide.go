package api

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"
	"time"

	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/web/endpoint"
)

// servePage serves a page that is not an operation. It is free, and its headers show the limits of a caller without a
// credential.
func (x *routed) servePage() {
	c := x.as(noOperation, nil).peek()
	p, err := x.route.page(c)
	if err != nil {
		c.fail(err)
		return
	}
	a := c.answer()
	h := x.w.Header()
	if p.zipped != nil {
		h.Add("Vary", "Accept-Encoding")
		if takesGzip(x.r.Header["Accept-Encoding"]) {
			h["Content-Encoding"] = []string{"gzip"}
			p.body = p.zipped
		}
	}
	if p.etag != "" {
		h["ETag"] = []string{p.etag}
		if endpoint.Unchanged(strings.Join(x.r.Header["If-None-Match"], ", "), p.etag) {
			h.Del("Content-Encoding")
			a.send(http.StatusNotModified, nil, nil)
			return
		}
	}
	a.send(cmp.Or(p.status, http.StatusOK), p.media, p.body)
}

// documentPage returns an API description. It depends only on the build and the settings, so it is compressed once.
func documentPage(text []byte) page {
	sum := sha256.Sum256(text)
	return page{media: mediaJSON, body: text, zipped: Zip(text), etag: `"` + hex.EncodeToString(sum[:16]) + `"`}
}

// Zip compresses the body of a response that is sent often.
func Zip(body []byte) []byte {
	var zipped bytes.Buffer
	w, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		panic(err) // the level exists
	}
	_, _ = w.Write(body) // a buffer takes everything
	_ = w.Close()
	return zipped.Bytes()
}

// takesGzip reports whether an Accept-Encoding header accepts gzip (RFC 9110, 12.5.3).
func takesGzip(header []string) bool {
	any := false
	for coding := range strings.SplitSeq(strings.Join(header, ","), ",") {
		name, params, _ := strings.Cut(coding, ";")
		taken := positive(params)
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "gzip", "x-gzip":
			return taken
		case "*":
			any = taken
		}
	}
	return any
}

// guide renders the migration guide between two consecutive versions from the declared steps, if both versions are released.
func (x *charged) guide() (page, error) {
	versions := x.identified.routed.snapshot
	from, to, ok := guideOf(x.r.PathValue("guide"))
	if !ok || versions.Version(from) == nil || versions.Version(to) == nil {
		return page{}, errNotFound
	}
	body := guidePage(versions, from, lifecycle.Between(x.api.o.Steps, from, to), x.at)
	return page{media: mediaHTML, body: x.api.base.HTML(body)}, nil
}

// guideOf parses `v1-to-v2`.
func guideOf(name string) (from, to int, ok bool) {
	left, right, ok := strings.Cut(strings.TrimPrefix(name, "v"), "-to-v")
	if !ok {
		return 0, 0, false
	}
	from, err := strconv.Atoi(left)
	if err != nil || name != fmt.Sprintf("v%d-to-v%d", from, from+1) {
		return 0, 0, false
	}
	return from, from + 1, right == strconv.Itoa(from+1)
}

// guidePage renders the guide as a page of its own.
func guidePage(s *lifecycle.Snapshot, from int, steps []lifecycle.Step, now time.Time) []byte {
	title, body := migrationGuide(s, from, steps, now)
	return fmt.Appendf(nil, `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>%s</title>
%s</html>
`, title, body)
}

// migrationGuide renders the title and the content of the guide as HTML. It does not use html/template, which calls methods by
// name, so that the linker keeps every exported method of the program.
func migrationGuide(s *lifecycle.Snapshot, from int, steps []lifecycle.Step, now time.Time) (title string, body []byte) {
	var b bytes.Buffer
	title = fmt.Sprintf("From version %d to version %d", from, from+1)
	fmt.Fprintf(&b, "<h1>%s of the API</h1>\n", title)
	datesTable(&b, s, from, now)
	fmt.Fprintf(&b, "<h2>What to change</h2>\n<p>Replace <code>/api/v%d/</code> by <code>/api/v%d/</code> in every path.\n", from, from+1)
	if len(steps) == 0 {
		b.WriteString("<p>Nothing else differs: every operation works as before.\n")
		return title, b.Bytes()
	}
	b.WriteString("<p>Then take these steps. Operations that no step names work as before.\n<ol>\n")
	for i := range steps {
		step := &steps[i]
		fmt.Fprintf(&b, "<li id=\"%s\"><p>%s\n<p>", html.EscapeString(step.ID), html.EscapeString(step.Summary))
		for j, route := range step.Routes {
			if j > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "<code>%s</code>", html.EscapeString(route))
		}
		b.WriteString("\n")
		example(&b, from, step.Before)
		example(&b, from+1, step.After)
	}
	b.WriteString("</ol>\n")
	return title, b.Bytes()
}

// datesTable writes the dates of a version's end.
func datesTable(b *bytes.Buffer, s *lifecycle.Snapshot, from int, now time.Time) {
	v := s.Version(from)
	fmt.Fprintf(b, "<h2>Dates</h2>\n<table>\n<tr><th>Version %d<th>Date (UTC)<th>What happens\n", from)
	row := func(name string, at time.Time, what string) {
		if !at.IsZero() {
			fmt.Fprintf(b, "<tr><td>%s<td><time datetime=\"%s\">%s</time><td>%s\n",
				name, at.UTC().Format(time.RFC3339), at.UTC().Format("2 January 2006, 15:04"), what)
		}
	}
	row("Released", v.Since, "It became the current version.")
	row("Deprecated", v.AnnouncedAt, "It works as before. Its responses have the headers <code>Deprecation</code> and <code>Sunset</code>.")
	if !v.SunsetAt.IsZero() {
		row("Traffic check", v.NextCheck(now), "If many requests still use the version, the sunset moves three months later.")
		row("Sunset", v.SunsetAt, "From here on, requests are answered with 410 and the address of this page.")
		row("Retired", v.Retires(), "Its paths no longer exist.")
	}
	fmt.Fprintf(b, "</table>\n<p>Version %d is %s now.", from, v.At(now))
	if next := s.Replacement(from, now); next != nil {
		fmt.Fprintf(b, " Its replacement is version %d.", next.Number)
	}
	b.WriteString("\n")
}

// example writes an example of a version; nothing if there is none.
func example(b *bytes.Buffer, version int, text string) {
	if text != "" {
		fmt.Fprintf(b, "<p>Version %d:\n<pre>%s</pre>\n", version, html.EscapeString(text))
	}
}
