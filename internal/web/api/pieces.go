package api

import (
	"iter"
	"log/slog"
	"net/http"
	"strconv"
	"time"
)

// chunkSize is how much of a response in pieces is written at a time.
const chunkSize = 32 << 10

// sendPieces writes a response while it is encoded. One of at most a chunk is sent like any other. An error before the first
// chunk gets an error response; after it the connection is aborted, so that the response does not look complete.
func (x *answered) sendPieces(status int, media []string, pieces iter.Seq2[[]byte, error]) {
	if x.r.Method == http.MethodHead {
		if x.stream == nil { // a stream is not encoded just for its length
			x.headOf(status, media, pieces)
		}
		x.head(status, media)
		return
	}
	chunk := x.exchange.buf[:0]
	for piece, err := range pieces {
		switch {
		case err != nil && x.status == 0:
			x.charged.fail(err)
			return
		case err != nil:
			x.api.o.Log.Error("an answer was cut off", slog.String("id", x.ctx.RequestID()), slog.String("route", x.routed().route.template), slog.String("error", err.Error()))
			panic(http.ErrAbortHandler)
		}
		chunk = append(chunk, piece...)
		if len(chunk) >= chunkSize {
			x.write(status, media, chunk)
			chunk = chunk[:0]
		}
	}
	x.exchange.buf = chunk
	if x.status == 0 {
		x.sendCompressed(status, media, chunk)
		return
	}
	x.write(status, media, chunk)
	x.endZip()
}

// headOf sets the length for a HEAD request, as for any other response.
func (x *answered) headOf(status int, media []string, pieces iter.Seq2[[]byte, error]) {
	size := 0
	for piece, err := range pieces {
		if err != nil || x.ctx.parent.Err() != nil {
			return
		}
		size += len(piece)
	}
	if x.compressible(status, media) && x.encodeBody(size) {
		return // the length is only known after compressing
	}
	x.w.Header()["Content-Length"] = []string{strconv.Itoa(size)}
}

// write sends a chunk, after the head if it is the first. A stream's deadline is renewed for each chunk; other classes have
// one deadline.
func (x *answered) write(status int, media []string, chunk []byte) {
	if x.status == 0 {
		if x.compressible(status, media) && x.encodeBody(chunkSize) {
			x.beginZip()
		}
		x.head(status, media)
	}
	if x.stream != nil {
		_ = x.stream.conn.SetWriteDeadline(time.Now().Add(answerTime))
	}
	err := x.writeChunk(chunk)
	if err != nil || x.ctx.parent.Err() != nil {
		panic(http.ErrAbortHandler) // the client disconnected
	}
}

// writeChunk writes a chunk. A compressed one is flushed, so that the client can use what it contains.
func (x *answered) writeChunk(chunk []byte) error {
	if x.zip == nil {
		n, err := x.w.Write(chunk)
		x.size += n
		return err
	}
	if _, err := x.zip.Write(chunk); err != nil {
		return err
	}
	if err := x.zip.Flush(); err != nil {
		return err
	}
	return http.NewResponseController(x.w).Flush()
}
