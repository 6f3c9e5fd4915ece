package idempotency_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/idempotency"
	"keepsake/internal/store"
	"keepsake/internal/store/sqlite"
)

// bundle is a Service with a real store. Its effects are workspaces, which are easy to create and count.
type bundle struct {
	*idempotency.Service
	store *store.Store
	clock atomic.Int64
}

func setup(t *testing.T) *bundle {
	t.Helper()
	return setupIn(t, t.TempDir())
}

func setupIn(t *testing.T, dir string) *bundle {
	t.Helper()
	engine, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bundle{store: store.New(engine)}
	b.clock.Store(time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC).Unix())
	b.Service = idempotency.NewService(b.store.Idempotency, b.store, []byte("secret"), b.now)
	return b
}

func (b *bundle) now() time.Time { return time.Unix(b.clock.Load(), 0).UTC() }

func (b *bundle) workspaces(t *testing.T) int {
	t.Helper()
	list, err := b.store.Accounts.Workspaces(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// create creates a workspace and then returns status or err.
func (b *bundle) create(id string, end error) idempotency.Work {
	return idempotency.Work{
		Run: func(ctx context.Context) (idempotency.Outcome, error) {
			err := b.store.Accounts.CreateWorkspace(ctx, &account.Workspace{ID: id, Name: id, Tier: "free", CreatedAt: b.now()})
			if err == nil {
				err = end
			}
			return idempotency.Outcome{Status: 201, Location: "/" + id, ETag: `"1"`, Body: []byte(id)}, err
		},
		Refused: func(p *problem.Problem) idempotency.Outcome {
			status := map[problem.Kind]int{problem.Conflict: 409, problem.Unavailable: 503, problem.RateLimited: 429}[p.Kind]
			return idempotency.Outcome{Status: status, Body: []byte(p.Code)}
		},
	}
}

// hashed returns the hash of a body for Do.
func (b *bundle) hashed(body string) hash.Hash {
	h := b.BodyHash()
	io.WriteString(h, body)
	return h
}

var request = idempotency.Request{Credential: "key_1", Method: "POST", Path: "/things", Key: "a-key-of-a-client"}

// Answers are stored for a day, also across a program update, so the hash of a body must not change.
func TestBodyHashIsStable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.BodyHash()
	for _, piece := range []string{`{"a"`, "", `:1}`} {
		io.WriteString(h, piece)
	}
	const want = "c6d4ff665e1f49ebcd185a518f1f9dbd04cc28aaa5bd82e6bbc74108dae662d7"
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestEffectAndAnswerCommitTogether(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if kept, err := b.Do(t.Context(), request, b.hashed("body"), b.create("wsp_1", nil)); kept != nil || err != nil {
		t.Fatalf("the first request: %v, %v", kept, err)
	}
	kept, err := b.Do(t.Context(), request, b.hashed("body"), b.create("wsp_2", nil))
	if err != nil || kept == nil || kept.Status != 201 || string(kept.Body) != "wsp_1" || kept.Location != "/wsp_1" || kept.ETag != `"1"` {
		t.Fatalf("the retry: %+v, %v", kept, err)
	}
	if n := b.workspaces(t); n != 1 {
		t.Errorf("%d effects, want 1", n)
	}
	if _, err := b.Do(t.Context(), request, b.hashed("another"), b.create("wsp_3", nil)); !is(err, "validation_error") {
		t.Errorf("another body: %v, want it refused as reused", err)
	}
	// A request that differs in any part is another request.
	for i, other := range []idempotency.Request{
		{Credential: "key_2", Method: "POST", Path: "/things", Key: "a-key-of-a-client"},
		{Credential: "key_1", Method: "PUT", Path: "/things", Key: "a-key-of-a-client"},
		{Credential: "key_1", Method: "POST", Path: "/thing", Key: "sa-key-of-a-client"},
		{Credential: "key_1", Method: "POST", Path: "/things", Key: "b-key-of-a-client"},
	} {
		if kept, err := b.Do(t.Context(), other, b.hashed("body"), b.create(fmt.Sprintf("wsp_other%d", i), nil)); kept != nil || err != nil {
			t.Errorf("%v met the answer of another: %v, %v", other, kept, err)
		}
	}
}

func TestRefusalIsRolledBackAndStored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 2 {
		kept, err := b.Do(t.Context(), request, b.hashed(""), b.create("wsp_1", problem.Conflicts("no")))
		if kept == nil && !is(err, problem.CodeConflict) || kept != nil && (kept.Status != 409 || string(kept.Body) != problem.CodeConflict) {
			t.Fatalf("got %+v, %v, want the conflict", kept, err)
		}
	}
	if kept, err := b.Do(t.Context(), request, b.hashed(""), b.create("wsp_1", nil)); err != nil || kept == nil {
		t.Errorf("after a refusal: %v, %v, want the refusal", kept, err)
	}
	if n := b.workspaces(t); n != 0 {
		t.Errorf("%d effects of refused requests", n)
	}
}

func TestTemporaryFailureIsNotStored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, end := range []error{errors.New("defect"), problem.NotAvailable("later", time.Second), problem.New(problem.RateLimited, "x", "y")} {
		if _, err := b.Do(t.Context(), request, b.hashed(""), b.create("wsp_1", end)); !errors.Is(err, end) {
			t.Fatalf("got %v, want %v", err, end)
		}
	}
	if kept, err := b.Do(t.Context(), request, b.hashed(""), b.create("wsp_1", nil)); kept != nil || err != nil || b.workspaces(t) != 1 {
		t.Errorf("the retry: %v, %v, %d effects, want it to run", kept, err, b.workspaces(t))
	}
}

func TestAnswerIsStoredForADay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	do := func(id string) *idempotency.Answer {
		t.Helper()
		kept, err := b.Do(t.Context(), request, b.hashed(""), b.create(id, nil))
		if err != nil {
			t.Fatal(err)
		}
		return kept
	}
	do("wsp_1")
	b.clock.Add(24*60*60 - 1)
	if do("wsp_2") == nil {
		t.Error("a second before the day is over the answer is gone")
	}
	b.clock.Add(1)
	if do("wsp_3") != nil {
		t.Error("after a day the answer is still there")
	}
	if do("wsp_4") == nil {
		t.Error("the second day's answer is not kept")
	}
}

func TestLargeBodyIsStoredUnlessItCanBeRebuilt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for location, keptWhole := range map[string]bool{"/somewhere": false, "": true} {
		r := request
		r.Path += location
		work := idempotency.Work{Run: func(context.Context) (idempotency.Outcome, error) {
			return idempotency.Outcome{Status: 201, Location: location, Body: make([]byte, idempotency.MaxBody+1)}, nil
		}}
		if _, err := b.Do(t.Context(), r, b.hashed(""), work); err != nil {
			t.Fatal(err)
		}
		kept, err := b.Do(t.Context(), r, b.hashed(""), work)
		if err != nil || (kept.Body != nil) != keptWhole {
			t.Errorf("location %q: body of %d bytes, %v; kept whole must be %v", location, len(kept.Body), err, keptWhole)
		}
	}
}

func TestConcurrentRetriesHaveOneEffect(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var ran, replayed, told atomic.Int64
	var running sync.WaitGroup
	for range 64 {
		running.Go(func() {
			kept, err := b.Do(context.Background(), request, b.hashed(""), b.create("wsp_1", nil))
			switch {
			case is(err, problem.CodeIdempotencyRunning):
				told.Add(1)
			case err == nil && kept != nil:
				replayed.Add(1)
			case err == nil:
				ran.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	running.Wait()
	if ran.Load() != 1 || ran.Load()+replayed.Load()+told.Load() != 64 {
		t.Errorf("ran %d, replayed %d, told to wait %d", ran.Load(), replayed.Load(), told.Load())
	}
}

func TestPanicReleasesTheClaim(t *testing.T) {
	t.Parallel()
	b := setup(t)
	func() {
		defer func() { _ = recover() }()
		_, _ = b.DoStream(t.Context(), request, strings.NewReader("body"), func(context.Context, io.Reader) (idempotency.Outcome, error) {
			panic("defect")
		}, nil)
	}()
	if kept, err := b.Do(t.Context(), request, b.hashed(""), b.create("wsp_1", nil)); kept != nil || err != nil {
		t.Errorf("after a panic: %v, %v, want the request to run", kept, err)
	}
}

func TestStreamIsHashedWhileItIsRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ran := 0
	load := func(body io.Reader, read int64, end error) (*idempotency.Answer, error) {
		return b.DoStream(t.Context(), request, body, func(_ context.Context, body io.Reader) (idempotency.Outcome, error) {
			ran++
			_, _ = io.CopyN(io.Discard, body, read)
			return idempotency.Outcome{Status: 200, Body: []byte("done")}, end
		}, b.create("", nil).Refused)
	}
	long := strings.Repeat("line\n", 10_000)
	cut := errors.New("cut")
	if _, err := load(io.MultiReader(strings.NewReader(long), failing{cut}), 10, nil); !errors.Is(err, cut) {
		t.Fatalf("a body that breaks off: %v", err)
	}
	if kept, err := load(strings.NewReader(long), 10, nil); kept != nil || err != nil {
		t.Fatalf("the first whole one: %v, %v", kept, err)
	}
	kept, err := load(strings.NewReader(long), 0, nil)
	if err != nil || kept == nil || string(kept.Body) != "done" || ran != 2 {
		t.Errorf("the retry: %v, %v, ran %d", kept, err, ran)
	}
	if _, err := load(strings.NewReader(long+"more"), 0, nil); !is(err, "validation_error") {
		t.Errorf("another body: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func is(err error, code string) bool {
	p, ok := problem.As(err)
	return ok && p.Code == code
}
