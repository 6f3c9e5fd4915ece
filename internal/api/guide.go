package api

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"

	"keepsake/internal/endpoint"
	"keepsake/internal/lifecycle"
)

// servePage serves a page that is not an operation. It is free, and its headers show the limits of a caller without a
// credential.
func (x *requestState) servePage(rt *route) {
	x.peekAddress()
	p, err := rt.page(x)
	if err != nil {
		x.fail(err)
		return
	}
	h := x.w.Header()
	if p.zipped != nil {
		h.Add("Vary", "Accept-Encoding")
		if takesGzip(x.r.Header["Accept-Encoding"]) {
			h["Content-Encoding"] = []string{"gzip"}
			p.body, p.etag = p.zipped, strings.TrimSuffix(p.etag, `"`)+`-gzip"`
		}
	}
	if p.etag != "" {
		h["ETag"] = []string{p.etag}
		if endpoint.Unchanged(strings.Join(x.r.Header["If-None-Match"], ", "), p.etag) {
			h.Del("Content-Encoding")
			x.send(http.StatusNotModified, nil, nil)
			return
		}
	}
	x.send(http.StatusOK, p.media, p.body)
}

// documentPage returns an API description. It depends only on the build and the settings, so it is compressed once.
func documentPage(text []byte) (page, error) {
	var zipped bytes.Buffer
	w, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(text)
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		return page{}, fmt.Errorf("compress the description: %w", err)
	}
	sum := sha256.Sum256(text)
	return page{media: mediaJSON, body: text, zipped: zipped.Bytes(), etag: `"` + hex.EncodeToString(sum[:16]) + `"`}, nil
}

// takesGzip reports whether an Accept-Encoding header accepts gzip (RFC 9110, 12.5.3).
func takesGzip(header []string) bool {
	any := false
	for coding := range strings.SplitSeq(strings.Join(header, ","), ",") {
		name, params, _ := strings.Cut(coding, ";")
		weight := strings.ReplaceAll(strings.ToLower(params), " ", "")
		taken := !strings.HasPrefix(weight, "q=") || strings.Trim(weight[len("q="):], "0.") != ""
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "gzip", "x-gzip":
			return taken
		case "*":
			any = taken
		}
	}
	return any
}

// guide renders the migration guide between two consecutive versions from the declared changes, if both versions are
// released.
func (x *requestState) guide() (page, error) {
	from, to, ok := guideOf(x.r.PathValue("guide"))
	if !ok || x.snapshot.Version(from) == nil || x.snapshot.Version(to) == nil {
		return page{}, errNotFound
	}
	body := guidePage(from, to, lifecycle.Between(x.api.o.Changes, from, to))
	return page{media: mediaHTML, body: body}, nil
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

// guidePage renders the guide as HTML. It does not use html/template, which calls methods by name, so that the linker keeps
// every exported method of the program.
func guidePage(from, to int, changes []lifecycle.Change) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>From version %[1]d to version %[2]d</title>
<h1>From version %[1]d to version %[2]d of the API</h1>
<p>Replace <code>/api/v%[1]d/</code> by <code>/api/v%[2]d/</code> in every path.
`, from, to)
	if len(changes) == 0 {
		b.WriteString("<p>Nothing else differs: every operation works as before.\n</html>\n")
		return b.Bytes()
	}
	fmt.Fprintf(&b, "<p>These operations differ; all others work as before.\n<table>\n<tr><th>Operation<th>Version %d<th>Version %d\n", from, to)
	for _, c := range changes {
		fmt.Fprintf(&b, "<tr><td><code>%s</code><td>%s<td>%s\n",
			html.EscapeString(c.Operation), html.EscapeString(c.Before), html.EscapeString(c.After))
	}
	b.WriteString("</table>\n</html>\n")
	return b.Bytes()
}
