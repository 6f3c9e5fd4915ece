package api

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"sync"

	"keepsake/internal/govern/usage"
)

// compressFrom is the size above which a response is compressed.
const compressFrom = 1 << 10

var (
	varyEncoding = []string{"Accept-Encoding"}
	gzipEncoding = []string{"gzip"}
)

var zippers = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level exists
	}
	return w
}}

var zipBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// compressible reports whether a response of the request's operation can be compressed. A response to a cookie never is: with
// what a page of another site can add to it, its length would tell what it contains.
func (x *answered) compressible(status int, media []string) bool {
	op := x.routed().route.op
	if op == nil || status != http.StatusOK || len(media) == 0 || x.api.o.Surface == usage.Backend || !op.Compressible() || x.r.Header["Cookie"] != nil {
		return false
	}
	return strings.HasPrefix(media[0], "application/json") || strings.HasPrefix(media[0], "application/x-ndjson") ||
		strings.HasPrefix(media[0], "text/") && !strings.HasPrefix(media[0], "text/event-stream")
}

// encodeBody sets the headers of a response that can be compressed, and reports whether it must be. Both forms have the same
// entity tag: it names a revision.
func (x *answered) encodeBody(size int) bool {
	accepted := x.r.Header["Accept-Encoding"]
	if size <= compressFrom && (accepted == nil || !refusesIdentity(accepted)) {
		return false
	}
	h := x.w.Header()
	if h["Vary"] == nil {
		h["Vary"] = varyEncoding
	} else {
		h.Add("Vary", varyEncoding[0])
	}
	if accepted == nil || !takesGzip(accepted) {
		return false
	}
	h["Content-Encoding"] = gzipEncoding
	return true
}

// sendCompressed is send for a response that is compressed if the client accepts it.
func (x *answered) sendCompressed(status int, media []string, body []byte) {
	if !x.compressible(status, media) || !x.encodeBody(len(body)) {
		x.send(status, media, body)
		return
	}
	zipped := zipBuffers.Get().(*bytes.Buffer)
	zipped.Reset()
	w := zippers.Get().(*gzip.Writer)
	w.Reset(zipped)
	_, _ = w.Write(body) // a buffer takes everything
	_ = w.Close()
	zippers.Put(w)
	x.send(status, media, zipped.Bytes())
	if zipped.Cap() <= maxBuffer {
		zipBuffers.Put(zipped)
	}
}

// beginZip compresses what write sends from now on.
func (x *answered) beginZip() {
	x.zip = zippers.Get().(*gzip.Writer)
	x.zip.Reset(sentBytes{x})
}

// endZip ends the compressed response.
func (x *answered) endZip() {
	if x.zip == nil {
		return
	}
	_ = x.zip.Close() // the client can have disconnected
	zippers.Put(x.zip)
	x.zip = nil
}

// sentBytes sends and counts what was compressed.
type sentBytes struct{ x *answered }

func (s sentBytes) Write(p []byte) (int, error) {
	n, err := s.x.w.Write(p)
	s.x.size += n
	return n, err
}

// refusesIdentity reports whether an Accept-Encoding header excludes a response that is not compressed.
func refusesIdentity(header []string) bool {
	refused := false
	for coding := range strings.SplitSeq(strings.Join(header, ","), ",") {
		name, params, _ := strings.Cut(coding, ";")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "identity":
			return !positive(params)
		case "*":
			refused = !positive(params)
		}
	}
	return refused
}

// positive reports whether the parameters of a coding give it a weight above 0.
func positive(params string) bool {
	weight := strings.TrimSpace(strings.ReplaceAll(strings.ToLower(params), " ", ""))
	return !strings.HasPrefix(weight, "q=") || strings.Trim(weight[len("q="):], "0.") != ""
}
