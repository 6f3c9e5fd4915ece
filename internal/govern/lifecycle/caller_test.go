package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"keepsake/internal/base/id"
	"keepsake/internal/govern/auth"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// shelf is a CallerStore in memory that can be made to fail.
type shelf struct {
	mu    sync.Mutex
	fails bool
	adds  int
	seen  map[Caller]time.Time // the caller without LastAt
}

func (s *shelf) AddCallers(_ context.Context, callers []Caller, _ int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails {
		return errors.New("the disk is full")
	}
	s.adds++
	for _, c := range callers {
		at := c.LastAt
		c.LastAt = time.Time{}
		s.seen[c] = at
	}
	return nil
}

func (s *shelf) Callers(context.Context, CallerQuery) ([]Caller, error) { panic("not asked here") }
func (s *shelf) PruneCallers(context.Context, time.Time) error          { return nil }

func setupCallers() (*shelf, *Callers) {
	s := &shelf{seen: map[Caller]time.Time{}}
	return s, NewCallers(s, func() time.Time { return noon }, slog.New(slog.DiscardHandler))
}

func byKey(workspace string) *auth.Principal {
	return &auth.Principal{Kind: auth.APIKey, WorkspaceID: workspace, Key: id.RequestAt(noon)}
}

func TestCallersAreStoredWithTheirLastMoment(t *testing.T) {
	t.Parallel()
	s, c := setupCallers()
	key, user := byKey("wsp_a"), &auth.Principal{Kind: auth.User, WorkspaceID: "wsp_a", UserID: "usr_a"}
	c.Note(1, key, "GET /a", "curl/8.5.0 (x)", noon)
	c.Note(1, key, "GET /a", "curl/8.5.0", noon.Add(time.Minute))
	c.Note(1, key, "GET /a", "curl/8.5.0", noon.Add(30*time.Second)) // overtaken
	c.Note(1, user, "", "", noon)
	c.Note(1, &auth.Principal{Kind: auth.Local, WorkspaceID: "wsp_a"}, "GET /a", "curl/8.5.0", noon)
	c.Note(1, &auth.Principal{}, "GET /a", "curl/8.5.0", noon)
	for range 2 { // the second one has nothing to do
		if err := c.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want := map[Caller]time.Time{
		{Version: 1, WorkspaceID: "wsp_a", CallerID: key.KeyID(), Route: "GET /a", Client: "curl/8.5.0"}: noon.Add(time.Minute),
		{Version: 1, WorkspaceID: "wsp_a", CallerID: "usr_a"}:                                            noon,
	}
	if len(s.seen) != len(want) || s.adds != 1 {
		t.Errorf("got %v in %d writes, want %v in one", s.seen, s.adds, want)
	}
	for caller, at := range want {
		if !s.seen[caller].Equal(at) {
			t.Errorf("%+v was last seen at %v, want %v", caller, s.seen[caller], at)
		}
	}
}

func TestCallersOutliveAFlushThatFails(t *testing.T) {
	t.Parallel()
	s, c := setupCallers()
	key := byKey("wsp_a")
	c.Note(1, key, "GET /a", "", noon)
	s.fails = true
	if c.Flush(t.Context()) == nil {
		t.Fatal("a failed flush says nothing")
	}
	s.fails = false
	c.Note(1, key, "GET /b", "", noon)
	if err := c.Flush(t.Context()); err != nil || len(s.seen) != 2 {
		t.Errorf("got %v and %d callers, want 2", err, len(s.seen))
	}
}

func TestCallersNeedOnlySoMuchRoom(t *testing.T) {
	t.Parallel()
	s, c := setupCallers()
	key := byKey("wsp_a")
	for i := range maxCallers + 100 {
		c.Note(1, key, fmt.Sprintf("GET /%d", i), "", noon)
	}
	if err := c.Flush(t.Context()); err != nil || len(s.seen) != maxCallers {
		t.Errorf("got %v and %d callers, want %d", err, len(s.seen), maxCallers)
	}
	c.Note(1, key, "GET /late", "", noon) // there is room again
	if err := c.Flush(t.Context()); err != nil || len(s.seen) != maxCallers+1 {
		t.Errorf("got %v and %d callers, want one more", err, len(s.seen))
	}
}

func TestCallersOfAllGoroutinesAreFound(t *testing.T) {
	t.Parallel()
	s, c := setupCallers()
	key := byKey("wsp_a")
	var running sync.WaitGroup
	for g := range 8 {
		running.Go(func() {
			for i := range 200 {
				c.Note(1, key, fmt.Sprintf("GET /%d", i), fmt.Sprintf("client/%d", g%2), noon)
				if i%50 == g {
					_ = c.Flush(t.Context())
				}
			}
		})
	}
	running.Wait()
	if err := c.Flush(t.Context()); err != nil || len(s.seen) != 400 {
		t.Errorf("got %v and %d callers, want 400", err, len(s.seen))
	}
}

func TestOnlyTheFirstProductOfAUserAgentIsKept(t *testing.T) {
	t.Parallel()
	for agent, want := range map[string]string{
		"curl/8.5.0": "curl/8.5.0", "Mozilla/5.0 (X11; of Ada Lovelace)": "Mozilla/5.0", "keepsake/0.1+dirty x": "keepsake/0.1+dirty",
		"": "", " curl": "", "(nothing)": "", "a\"b": "", "ada@example.org": "", "é/1": "", strings.Repeat("x", 65): "",
	} {
		if got := Product(agent); got != want {
			t.Errorf("%q: got %q, want %q", agent, got, want)
		}
	}
}

// TestNotingAKnownCallerAllocatesNothing is not parallel, because it counts allocations.
func TestNotingAKnownCallerAllocatesNothing(t *testing.T) {
	_, c := setupCallers()
	key := byKey("wsp_a")
	at := noon
	c.Note(1, key, "GET /a", "curl/8.5.0 (x)", at)
	if err := c.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		at = at.Add(time.Second)
		c.Note(1, key, "GET /a", "curl/8.5.0 (x)", at)
	}); n != 0 {
		t.Errorf("got %v allocations", n)
	}
}

func BenchmarkNote(b *testing.B) {
	_, c := setupCallers()
	key := byKey("wsp_01kakakakafkhvayayayayayay")
	c.Note(1, key, "GET /api/v1/search", "curl/8.5.0", noon)
	if err := c.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c.Note(1, key, "GET /api/v1/search", "curl/8.5.0", noon)
		}
	})
}
