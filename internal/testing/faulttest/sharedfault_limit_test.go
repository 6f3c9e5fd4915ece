package faulttest

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"keepsake/internal/testing/await"
)

// hammered is a key with a small limit that clients use at both processes as if it had none.
type hammered struct {
	f     *fleet
	what  string
	limit int64
	text  string
	id    string
	kills bool

	mu        sync.Mutex
	admitted  map[string]int64 // by window
	undecided int64            // no answer
	samples   []sample
	wrong     []string
}

// perMinute makes a key with so many requests a minute. Its minute has just begun, as far as a test can wait for that.
func perMinute(f *fleet, name string, limit int64) *hammered {
	f.t.Helper()
	for try := 0; ; try++ {
		h := newHammered(f, name, "requests a minute", limit, map[string]any{"rateLimit": map[string]any{"requestsPerMinute": limit}})
		a := h.send(0)
		reset, err := strconv.ParseInt(a.header.Get("X-RateLimit-Reset"), 10, 64)
		if err != nil {
			f.t.Fatalf("%d %v %s", a.status, a.header, a.text)
		}
		if rest := time.Until(time.Unix(reset, 0)); rest > 25*time.Second || try == 30 {
			return h
		}
	}
}

// perDay makes a key with so many requests a day.
func perDay(f *fleet, name string, limit int64) *hammered {
	f.t.Helper()
	return newHammered(f, name, "requests a day", limit, map[string]any{"quota": map[string]any{"daily": limit}})
}

func newHammered(f *fleet, name, what string, limit int64, more map[string]any) *hammered {
	f.t.Helper()
	body := map[string]any{"name": name, "scopes": []string{"read"}}
	maps.Copy(body, more)
	made := f.member(0).Must(http.StatusCreated, http.MethodPost, "/api/v1/developer/api-keys", body)
	h := &hammered{f: f, what: what, limit: limit, admitted: map[string]int64{}}
	h.text, _ = made["key"].(string)
	h.id, _ = made["id"].(string)
	h.send(0)
	h.send(1) // both know of it from now on
	return h
}

// bound is how many may be admitted in a window when so many processes count.
func (h *hammered) bound() int64 { return h.limit + max(h.limit/10, 2) }

// send sends a request that needs memory alone. It is admitted, and then refused because the key may not do it: so that it
// costs what any request costs, and does not hang on the database.
func (h *hammered) send(member int) *answer {
	began, day := time.Now(), time.Now().UTC().Format(time.DateOnly)
	a := h.f.member(member).ask(context.Background(), h.text, http.MethodGet, "/api/v1/developer/api-keys", nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.samples = append(h.samples, sample{began, a.took, member, a.status})
	switch a.status {
	case http.StatusForbidden:
		window := a.header.Get("X-RateLimit-Reset")
		if h.what == "requests a day" {
			window = day
		}
		h.admitted[window]++
	case http.StatusTooManyRequests:
		if n, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || n < 1 {
			h.note("a 429 with Retry-After %q", a.header.Get("Retry-After"))
		}
	case http.StatusServiceUnavailable: // it cannot know any more what was revoked
	case 0:
		h.undecided++
		if !h.kills {
			h.note("no answer within %s", a.took)
		}
	default:
		h.note("%d %s", a.status, a.text)
	}
	return a
}

func (h *hammered) note(format string, args ...any) {
	if len(h.wrong) < 5 {
		h.wrong = append(h.wrong, fmt.Sprintf(format, args...))
	}
}

// run sends requests to both processes, each from two clients, until ctx ends.
func (h *hammered) run(ctx context.Context, pause time.Duration) {
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				h.send(i % 2)
				rest(ctx, pause)
			}
		})
	}
	all.Wait()
}

// total is all that was admitted.
func (h *hammered) total() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	sum := int64(0)
	for _, n := range h.admitted {
		sum += n
	}
	return sum
}

// admittedBefore is how many of the requests that began before a moment were admitted.
func (h *hammered) admittedBefore(end time.Time) int64 {
	n := int64(0)
	for _, s := range h.samples {
		if s.status == http.StatusForbidden && s.began.Before(end) {
			n++
		}
	}
	return n
}

// check compares the fullest window with the limit's bound, of which uncounted requests can pass in addition. It returns by how
// much that window exceeded the limit; less than 0 if it was not full.
func (h *hammered) check(t *testing.T, uncounted int64) (over int64) {
	t.Helper()
	for _, wrong := range h.wrong {
		t.Errorf("the key with %d %s: %s", h.limit, h.what, wrong)
	}
	most := slices.Max(append(slices.Collect(maps.Values(h.admitted)), 0))
	if bound := h.bound() + uncounted; most > bound {
		t.Errorf("%d %s: %v were admitted, want at most %d", h.limit, h.what, h.admitted, bound)
	}
	return most - h.limit
}

// checkCounted compares the stored use of the key with the admitted requests. A killed process can have lost up to lost of
// them, and a request without a response can count or not.
func (h *hammered) checkCounted(t *testing.T, lost int64) {
	t.Helper()
	var counted int64
	admitted := h.total()
	right := func() bool { return counted >= admitted-lost && counted <= admitted+h.undecided }
	defer func() {
		if t.Failed() {
			t.Logf("%d %s: %d were admitted and %d undecided, %d are counted, and %d may be lost", h.limit, h.what, admitted, h.undecided, counted, lost)
		}
	}()
	await.Until(t, "what is counted is what was admitted", func() bool {
		counted = h.f.member(1).charged(h.id)
		return right()
	})
	if h.what != "requests a day" || h.admitted[time.Now().UTC().Format(time.DateOnly)] != admitted {
		return // or the day has turned meanwhile
	}
	// What is counted is what both refuse by.
	for i, s := range h.f.both() {
		await.Until(t, fmt.Sprintf("process %d knows of %d used of the day", i, counted), func() bool {
			limits := s.Must(http.StatusOK, http.MethodGet, "/api/v1/developer/api-keys/"+h.id+"/limits", nil)
			quota, _ := limits["quota"].(map[string]any)
			daily, _ := quota["daily"].(map[string]any)
			used, _ := daily["used"].(float64)
			return int64(used) >= min(counted, h.limit)
		})
	}
}
