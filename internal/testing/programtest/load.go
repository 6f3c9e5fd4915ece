package programtest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/testing/await"
)

// LoadOptions configures a Load.
type LoadOptions struct {
	Clients int
	Key     string        // an API key that can read and write
	Target  func() string // returns the URL of the API for the next request
	// IdleTimeout is how long a connection can be idle; 0: as long as the server keeps it.
	IdleTimeout time.Duration
}

// Load is a number of clients that write and read documents. Each sends one request after the other, and none twice.
type Load struct {
	t        testing.TB
	opt      LoadOptions
	client   *http.Client
	stopping atomic.Bool
	clients  sync.WaitGroup
	done     atomic.Int64

	mu       sync.Mutex
	stored   []string // the documents that were acknowledged
	failures []string
}

// StartLoad starts the clients. The test ends them with End.
func StartLoad(t testing.TB, opt LoadOptions) *Load {
	l := &Load{t: t, opt: opt, client: &http.Client{
		Timeout:   clientTimeout,
		Transport: &http.Transport{MaxIdleConnsPerHost: opt.Clients, IdleConnTimeout: opt.IdleTimeout},
	}}
	for n := range opt.Clients {
		l.clients.Go(func() {
			for i := 0; !l.stopping.Load(); i++ {
				l.round(fmt.Sprintf("doc-%d-%d", n, i))
			}
		})
	}
	t.Cleanup(l.stop)
	return l
}

// round writes a document and reads it.
func (l *Load) round(id string) {
	l.want(http.StatusOK, http.MethodGet, "/api/v1/health", "")
	if !l.want(http.StatusCreated, http.MethodPost, "/api/v1/documents", `{"id":"`+id+`","collection":"load","title":"one of many"}`) {
		return
	}
	l.mu.Lock()
	l.stored = append(l.stored, id)
	l.mu.Unlock()
	l.want(http.StatusOK, http.MethodGet, "/api/v1/documents/"+id, "")
}

// want sends a request and reports whether the response is as wanted. If not, it records a failure.
func (l *Load) want(status int, method, path, body string) bool {
	got, text := l.send(method, path, body)
	l.done.Add(1)
	if got == status {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = append(l.failures, fmt.Sprintf("%s %s: %d %s", method, path, got, text))
	return false
}

// send returns the status and the body of a response, or 0 and the error.
func (l *Load) send(method, path, body string) (status int, text string) {
	req, err := http.NewRequest(method, l.opt.Target()+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	if body != "" {
		req.GetBody = nil // without it the transport does not send a body again
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("X-API-Key", l.opt.Key)
	res, err := l.client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(answer)
}

// Await waits until more requests have ended.
func (l *Load) Await(more int64) {
	l.t.Helper()
	from := l.done.Load()
	await.Until(l.t, "the clients send more requests", func() bool { return l.done.Load() >= from+more })
}

// End ends the clients. The test fails if a request has failed or a document that was acknowledged is gone.
func (l *Load) End() {
	l.t.Helper()
	l.stop()
	for _, failure := range l.failures {
		l.t.Errorf("a request failed: %s", failure)
	}
	for _, id := range l.stored {
		if status, text := l.send(http.MethodGet, "/api/v1/documents/"+id, ""); status != http.StatusOK {
			l.t.Errorf("document %s was acknowledged and is gone: %d %s", id, status, text)
		}
	}
	l.t.Logf("%d requests, %d documents acknowledged", l.done.Load(), len(l.stored))
}

func (l *Load) stop() {
	l.stopping.Store(true)
	l.clients.Wait()
}
