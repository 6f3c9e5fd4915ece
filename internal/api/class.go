package api

import (
	"io"
	"net/http"
	"os"
	"time"

	"keepsake/internal/endpoint"
)

// What each class of operation may take (docs/architecture.md). Small is what the server's own deadlines allow.
const (
	smallTime = 10 * time.Second
	batchTime = 60 * time.Second

	// A stream lives for as long as it makes progress: its client may keep us waiting for streamGrace, and after that
	// for a second more with every streamFloor bytes.
	streamGrace = 10 * time.Second
	streamFloor = 8 << 10
	streamStall = 30 * time.Second // the longest wait for one read, however much came before

	// answerTime is for writing an answer after the work.
	answerTime = 15 * time.Second

	retrySoon = time.Second
)

// maxStream is the largest body of a stream, in bytes.
const maxStream = 64 << 20

// allot gives the request the time of its class. Connections that have no deadlines to set keep what they have.
func (x *requestState) allot(class endpoint.Class) {
	switch class {
	case endpoint.Small:
	case endpoint.Batch:
		x.timeout = batchTime
		conn := http.NewResponseController(x.w)
		_ = conn.SetReadDeadline(time.Now().Add(batchTime))
		_ = conn.SetWriteDeadline(time.Now().Add(batchTime + answerTime))
	case endpoint.Stream:
		x.timeout = 0
		conn := http.NewResponseController(x.w)
		_ = conn.SetWriteDeadline(time.Time{})
		x.body = &progress{ReadCloser: x.r.Body, conn: conn}
		// net/http answers at once if the body it was asked to wait for (Expect: 100-continue) was not read. It sees that by
		// the body of its own request, so that one stays as it is.
		x.r = x.r.WithContext(x.parent)
		x.r.Body = x.body
	}
}

// progress is the body of a stream whose deadline is renewed by what arrives. Only the time spent waiting for the client
// counts, so that a slow disk of ours is not held against it.
type progress struct {
	io.ReadCloser
	conn   *http.ResponseController
	read   int64
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
	p.waited += time.Since(began)
	return n, err
}
