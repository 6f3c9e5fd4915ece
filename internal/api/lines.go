package api

import (
	"iter"
	"log/slog"
	"net/http"
	"time"
)

// linesChunk is how much of an answer in lines is written at a time.
const linesChunk = 32 << 10

// sendLines writes an answer in lines as it is made. What fails before the first chunk is out is answered as ever; after
// that the connection is cut, so that half a list is not taken for the whole.
func (x *exchange) sendLines(lines iter.Seq2[[]byte, error]) {
	if x.r.Method == http.MethodHead {
		x.head(http.StatusOK, mediaLines)
		return
	}
	chunk := x.buf[:0]
	for line, err := range lines {
		switch {
		case err != nil && x.status == 0:
			x.fail(err)
			return
		case err != nil:
			x.api.o.Log.Error("an answer was cut off", slog.String("id", x.RequestID()), slog.String("route", x.route.template), slog.String("error", err.Error()))
			panic(http.ErrAbortHandler)
		}
		chunk = append(chunk, line...)
		if len(chunk) >= linesChunk {
			x.write(chunk)
			chunk = chunk[:0]
		}
	}
	x.write(chunk)
	x.buf = chunk
}

// write sends a part of an answer in lines, the head before the first.
func (x *exchange) write(chunk []byte) {
	if x.status == 0 {
		x.head(http.StatusOK, mediaLines)
	}
	_ = x.body.conn.SetWriteDeadline(time.Now().Add(answerTime))
	n, err := x.w.Write(chunk)
	x.size += n
	if err != nil {
		panic(http.ErrAbortHandler) // the client went away
	}
}
