package api

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// drip gives so many bytes each time it is read, after a while.
type drip struct {
	bytes int
	every time.Duration
}

func (d drip) Read(p []byte) (int, error) {
	time.Sleep(d.every)
	return min(d.bytes, len(p)), nil
}

func (drip) Close() error { return nil }

func TestAStreamLivesForAsLongAsItMakesProgress(t *testing.T) {
	t.Parallel()
	read := func(d drip, most int) (int, time.Duration, error) {
		p := &progress{ReadCloser: d, conn: http.NewResponseController(httptest.NewRecorder())}
		began := time.Now()
		n, err := io.CopyN(io.Discard, p, int64(most))
		return int(n), time.Since(began), err
	}
	synctest.Test(t, func(t *testing.T) {
		if _, _, err := read(drip{bytes: 16 << 10, every: time.Second}, 4<<20); err != nil {
			t.Errorf("twice the floor is cut: %v", err)
		}
		_, after, err := read(drip{bytes: 1 << 10, every: time.Second}, 4<<20)
		if !errors.Is(err, os.ErrDeadlineExceeded) || after < 10*time.Second || after > 13*time.Second {
			t.Errorf("an eighth of the floor ended after %s with %v, want to be cut soon after 10 s", after, err)
		}
	})
}
