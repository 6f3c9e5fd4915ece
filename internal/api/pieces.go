package api

import (
	"iter"
	"log/slog"
	"net/http"
	"strconv"
	"time"
)

// chunkSize is how much of an answer in pieces is written at a time.
const chunkSize = 32 << 10

// sendPieces writes an answer in pieces as it is made; one that is no more than a chunk is like any other. What fails
// before the first chunk is out is answered as ever; after that the connection is cut, so that half an answer is not taken
// for the whole.
func (x *requestState) sendPieces(status int, media []string, pieces iter.Seq2[[]byte, error]) {
	if x.r.Method == http.MethodHead {
		if x.body == nil { // a stream is not made to find out how long it is
			x.headOf(pieces)
		}
		x.head(status, media)
		return
	}
	chunk := x.buf[:0]
	for piece, err := range pieces {
		switch {
		case err != nil && x.status == 0:
			x.fail(err)
			return
		case err != nil:
			x.api.o.Log.Error("an answer was cut off", slog.String("id", x.RequestID()), slog.String("route", x.route.template), slog.String("error", err.Error()))
			panic(http.ErrAbortHandler)
		}
		chunk = append(chunk, piece...)
		if len(chunk) >= chunkSize {
			x.write(status, media, chunk)
			chunk = chunk[:0]
		}
	}
	x.buf = chunk
	if x.status == 0 {
		x.send(status, media, chunk)
		return
	}
	x.write(status, media, chunk)
}

// headOf sets the length of an answer in pieces, as that of any other answer to a HEAD.
func (x *requestState) headOf(pieces iter.Seq2[[]byte, error]) {
	size := 0
	for piece, err := range pieces {
		if err != nil || x.parent.Err() != nil {
			return
		}
		size += len(piece)
	}
	x.w.Header()["Content-Length"] = []string{strconv.Itoa(size)}
}

// write sends a part of an answer in pieces, the head before the first. A stream has its time anew for each; other classes
// have theirs for the whole.
func (x *requestState) write(status int, media []string, chunk []byte) {
	if x.status == 0 {
		x.head(status, media)
	}
	if x.body != nil {
		_ = x.body.conn.SetWriteDeadline(time.Now().Add(answerTime))
	}
	n, err := x.w.Write(chunk)
	x.size += n
	if err != nil || x.parent.Err() != nil {
		panic(http.ErrAbortHandler) // the client went away
	}
}
