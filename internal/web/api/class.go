package api

import (
	"io"
	"net/http"
	"os"
	"time"

	"keepsake/internal/web/endpoint"
)

// The limits of the classes (docs/architecture.md). Those of Small are the server's deadlines.
const (
	smallTime = 10 * time.Second
	batchTime = 60 * time.Second

	// A stream continues while it makes progress: its client can make the server wait for streamGrace, and another second
	// for each streamFloor bytes.
	streamGrace = 10 * time.Second
	streamFloor = 8 << 10
	streamStall = 30 * time.Second // the longest wait for one read

	// answerTime is for writing the response.
	answerTime = 15 * time.Second

	retrySoon = time.Second
)

// maxStream is the maximum body of a stream, in bytes.
const maxStream = 64 << 20

// allot sets the deadlines of the request's class, if the connection supports deadlines.
func (x *received) allot(class endpoint.Class) {
	switch class {
	case endpoint.Small:
		if shortest := x.api.o.MinTimeout; shortest > smallTime {
			x.ctx.timeout = shortest
			_ = http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(shortest + answerTime))
		}
	case endpoint.Batch:
		x.ctx.timeout = max(batchTime, x.api.o.MinTimeout)
		conn := http.NewResponseController(x.w)
		_ = conn.SetReadDeadline(time.Now().Add(x.ctx.timeout))
		_ = conn.SetWriteDeadline(time.Now().Add(x.ctx.timeout + answerTime))
	case endpoint.Stream:
		x.ctx.timeout = 0
		conn := http.NewResponseController(x.w)
		_ = conn.SetWriteDeadline(time.Time{})
		x.stream = &progress{ReadCloser: x.r.Body, conn: conn}
		// net/http responds at once if the body of a request with Expect: 100-continue was not read. It recognizes that by
		// its own body, which must not be replaced.
		x.r = x.r.WithContext(x.ctx.parent)
		x.r.Body = x.stream
	}
}

// progress is the body of a stream. What arrives extends its deadline. Only waits for the client count, not those for our
// disk.
type progress struct {
	io.ReadCloser
	conn   *http.ResponseController
	read   int64
	ended  bool // the end was read
	waited time.Duration
}

func (p *progress) Read(b []byte) (int, error) {
	left := streamGrace + time.Duration(p.read/streamFloor)*time.Second - p.waited
	if left <= 0 {
		return 0, os.ErrDeadlineExceeded
	}
	began := time.Now()
	_ = p.conn.SetReadDeadline(began.Add(min(left, streamStall)))
	n, err := p.ReadCloser.Read(b)
	p.read += int64(n)
	p.ended = p.ended || err == io.EOF
	p.waited += time.Since(began)
	return n, err
}
