package embedding_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/memory/embedding"
)

// endpoint answers every request by a function.
type endpoint struct {
	mu       sync.Mutex
	answer   func(ctx context.Context, texts []string) ([][]float32, error)
	requests [][]string
}

func (e *endpoint) Encode(ctx context.Context, texts []string) ([][]float32, error) {
	e.mu.Lock()
	e.requests = append(e.requests, texts)
	answer := e.answer
	e.mu.Unlock()
	return answer(ctx, texts)
}

func (e *endpoint) respond(answer func(ctx context.Context, texts []string) ([][]float32, error)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer = answer
}

func (e *endpoint) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.requests)
}

func right(_ context.Context, texts []string) ([][]float32, error) {
	list := make([][]float32, len(texts))
	for i, text := range texts {
		list[i] = []float32{float32(len(text)), 1, -2}
	}
	return list, nil
}

func fails(reason embedding.Reason, after time.Duration) func(context.Context, []string) ([][]float32, error) {
	return func(context.Context, []string) ([][]float32, error) {
		return nil, &embedding.Error{Reason: reason, RetryAfter: after}
	}
}

func vector(v ...float32) func(context.Context, []string) ([][]float32, error) {
	return func(context.Context, []string) ([][]float32, error) { return [][]float32{v}, nil }
}

// bundle is a client with a clock that a test moves, and with an endpoint.
type bundle struct {
	*embedding.Client
	endpoint
	clock      atomic.Int64 // Unix milliseconds
	counted    map[int64]int64
	own        map[string]int64 // of the first day
	workspaces atomic.Int64
	after      chan time.Time // the patience of queries
}

func setup(t *testing.T, daily int64) *bundle {
	t.Helper()
	b := &bundle{counted: map[int64]int64{}, own: map[string]int64{}, after: make(chan time.Time)}
	b.answer = right
	b.clock.Store(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).UnixMilli())
	b.Client = embedding.NewClient(embedding.Options{
		Encoder: &b.endpoint, Model: "m", DailyTexts: daily,
		Count: func(_ context.Context, day int64, workspaceID string, grant func(texts, own int64) (int64, int64)) (int64, error) {
			granted, own := grant(b.counted[day], b.own[workspaceID])
			b.counted[day] += granted
			b.own[workspaceID] += own
			return granted, nil
		},
		Workspaces: func() int { return max(1, int(b.workspaces.Load())) },
		After:      func(time.Duration) <-chan time.Time { return b.after },
		Now:        func() time.Time { return time.UnixMilli(b.clock.Load()) }, Log: slog.New(slog.DiscardHandler),
	})
	return b
}

func (b *bundle) pass(d time.Duration) { b.clock.Add(d.Milliseconds()) }

func (b *bundle) ask(t *testing.T) embedding.Vector {
	t.Helper()
	return b.Query(t.Context(), "wsp_a", "question").Wait()
}

func reasonOf(err error) embedding.Reason {
	if e, ok := errors.AsType[*embedding.Error](err); ok {
		return e.Reason
	}
	return ""
}

func TestVectorsAreWholeNumbers(t *testing.T) {
	t.Parallel()
	b := setup(t, 1000)
	got, err := b.Memories(t.Context(), "wsp_a", []string{"abcd", "ab"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]embedding.Vector{{127, 32, -64}, {127, 64, -127}}, got); diff != "" {
		t.Error(diff)
	}
	if b.Model() != "m/3" {
		t.Errorf("the model is %q", b.Model())
	}
}

func TestLongVectorsAndTextsAreCut(t *testing.T) {
	t.Parallel()
	b := setup(t, 1000)
	long := make([]float32, 500)
	long[0], long[499] = 1, 9
	b.respond(vector(long...))
	got, err := b.Memories(t.Context(), "wsp_a", []string{strings.Repeat("ä", embedding.MaxText)})
	if err != nil || len(got[0]) != embedding.Dimensions || got[0][0] != 127 {
		t.Errorf("got %v, %v", got, err)
	}
	if sent := b.requests[0][0]; len(sent) != embedding.MaxText || strings.Trim(sent, "ä") != "" {
		t.Errorf("%d bytes were sent", len(sent))
	}
	if b.Model() != "m/500" {
		t.Errorf("the model is %q", b.Model())
	}
}

func TestInvalidVectorsAreRefused(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string][][]float32{
		"none": {}, "too many": {{1}, {1}}, "empty": {{}}, "NaN": {{float32(math.NaN()), 1}}, "infinite": {{1, float32(math.Inf(-1))}}, "no direction": {{0, 0}},
	} {
		b := setup(t, 1000)
		b.respond(func(context.Context, []string) ([][]float32, error) { return answer, nil })
		if got, err := b.Memories(t.Context(), "wsp_a", []string{"text"}); reasonOf(err) != embedding.Answer {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
		if b.Model() != "" {
			t.Errorf("%s: the model is %q", name, b.Model())
		}
	}
}

func TestVectorsOfAnotherLengthAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, 1000)
	if b.ask(t) == nil {
		t.Fatal("no vector")
	}
	b.respond(vector(1, 2))
	if b.ask(t) != nil || b.Model() != "m/3" {
		t.Errorf("a vector of another length was accepted; the model is %q", b.Model())
	}
	b.respond(func(context.Context, []string) ([][]float32, error) { return [][]float32{{1, 2, 3}, {1, 2}}, nil })
	if _, err := b.Memories(t.Context(), "wsp_a", []string{"a", "b"}); reasonOf(err) != embedding.Answer {
		t.Errorf("two lengths in a response: %v", err)
	}
}

func TestARecallWaitsAShortTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, 1000)
		canceled := make(chan struct{})
		b.respond(func(ctx context.Context, _ []string) ([][]float32, error) {
			<-ctx.Done()
			close(canceled)
			return nil, &embedding.Error{Reason: embedding.Timeout}
		})
		q := b.Query(t.Context(), "wsp_a", "question")
		synctest.Wait() // the endpoint is working on it
		go func() { b.after <- time.Time{} }()
		if q.Wait() != nil || !q.Sent() {
			t.Errorf("a vector, or sent: %v", q.Sent())
		}
		<-canceled
		synctest.Wait()
		if n := b.Stats(); n.Failures[embedding.Timeout] != 1 || n.Degraded != 1 || n.Queries != 1 {
			t.Errorf("the numbers are %+v", n)
		}
	})
}

func TestACallerThatGoesAwayIsNoFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, 1000)
		b.respond(func(ctx context.Context, _ []string) ([][]float32, error) {
			<-ctx.Done()
			return nil, &embedding.Error{Reason: embedding.Timeout}
		})
		for range 5 {
			ctx, cancel := context.WithCancel(t.Context())
			q := b.Query(ctx, "wsp_a", "question")
			synctest.Wait()
			cancel()
			if q.Wait() != nil {
				t.Error("a vector")
			}
			synctest.Wait()
		}
		if b.QueriesPaused() || len(b.Stats().Failures) != 0 {
			t.Errorf("paused, or failures: %+v", b.Stats())
		}
	})
}

func TestFailuresPauseQueries(t *testing.T) {
	t.Parallel()
	b := setup(t, 1000)
	b.respond(fails(embedding.Connection, 0))
	for range 10 {
		if b.ask(t) != nil {
			t.Fatal("a vector")
		}
	}
	if n := b.count(); n != 3 || !b.QueriesPaused() {
		t.Fatalf("%d requests were sent before a pause", n)
	}
	if q := b.Query(t.Context(), "wsp_a", "question"); q.Wait() != nil || q.Sent() {
		t.Error("a query was sent in a pause")
	}
	for i, pause := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} { // each with one attempt after it
		b.pass(pause*time.Second - time.Millisecond)
		b.ask(t)
		if n := b.count(); n != 3+i {
			t.Fatalf("%d requests after %d pauses, too early", n, i)
		}
		b.pass(time.Millisecond)
		b.ask(t)
		b.ask(t)
		if n := b.count(); n != 4+i {
			t.Fatalf("%d requests after %d pauses", n, i+1)
		}
	}
	b.respond(right)
	b.pass(time.Minute)
	for range 2 {
		if b.ask(t) == nil || b.QueriesPaused() {
			t.Error("the endpoint works, and it is not asked")
		}
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	b := setup(t, 1000)
	b.respond(fails(embedding.Throttled, 90*time.Second))
	b.ask(t)
	if _, err := b.Memories(t.Context(), "wsp_a", []string{"text"}); err == nil || b.MemoriesPause() != 90*time.Second {
		t.Errorf("%v, and a pause of %s", err, b.MemoriesPause())
	}
	b.pass(89 * time.Second)
	if !b.QueriesPaused() || b.MemoriesPause() != time.Second {
		t.Error("the pause is too short")
	}
	b.pass(time.Second)
	if b.QueriesPaused() || b.MemoriesPause() != 0 {
		t.Error("the pause is too long")
	}
	b.respond(fails(embedding.Throttled, 1000*time.Hour))
	b.ask(t)
	b.pass(time.Hour)
	if b.QueriesPaused() {
		t.Error("an endpoint can ask for any pause")
	}
}

func TestOneRejectedTextDoesNotStopOthers(t *testing.T) {
	t.Parallel()
	b := setup(t, 1000)
	b.respond(func(ctx context.Context, texts []string) ([][]float32, error) {
		for _, text := range texts {
			if strings.Contains(text, "bad") {
				return nil, &embedding.Error{Reason: embedding.Rejected}
			}
		}
		return right(ctx, texts)
	})
	got, err := b.Memories(t.Context(), "wsp_a", []string{"one", "two", "bad", "four", "five"})
	if err != nil || len(got) != 5 {
		t.Fatalf("%d vectors, %v", len(got), err)
	}
	for i, v := range got {
		if (v == nil) != (i == 2) {
			t.Errorf("vector %d: %v", i, v)
		}
	}
	if b.MemoriesPaused() {
		t.Error("it is paused")
	}
}

func TestAnEndpointThatRejectsEverythingIsPaused(t *testing.T) {
	t.Parallel()
	b := setup(t, 1000)
	b.respond(fails(embedding.Rejected, 0))
	texts := make([]string, embedding.MaxBatch)
	for i := range texts {
		texts[i] = "text"
	}
	if _, err := b.Memories(t.Context(), "wsp_a", texts); err == nil {
		t.Fatal("no error")
	}
	if n := b.count(); n != 8 || !b.MemoriesPaused() {
		t.Errorf("%d requests, %v", n, b.MemoriesPaused())
	}
}

func TestTextsOfADayAreLimited(t *testing.T) {
	t.Parallel()
	b := setup(t, 70)
	texts := make([]string, 60)
	if _, err := b.Memories(t.Context(), "wsp_a", texts); err != nil {
		t.Fatal(err)
	}
	if n, err := b.Reserve(t.Context(), "wsp_a", 60); n != 3 || err != nil || b.Exhausted("wsp_a") {
		t.Fatalf("%d more fit, %v", n, err)
	}
	if _, err := b.Memories(t.Context(), "wsp_a", texts[:3]); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Memories(t.Context(), "wsp_a", texts[:1]); !errors.Is(err, embedding.ErrLimit) || !b.Exhausted("wsp_a") || !b.Limited() {
		t.Fatalf("beyond the limit: %v", err)
	}
	for i := range 20 { // queries have a reserve
		if got := b.ask(t) != nil; got != (i < 7) {
			t.Errorf("query %d got a vector: %v", i+1, got)
		}
	}
	if n := b.Stats(); n.Memories+n.Queries != 70 || b.QueriesPaused() {
		t.Errorf("the numbers are %+v", n)
	}
	b.pass(12 * time.Hour)
	if b.ask(t) == nil || b.MemoriesPaused() || b.Exhausted("wsp_a") || b.Limited() {
		t.Error("the next day has no texts")
	}
}

func TestAWorkspaceLeavesOthersTheirShare(t *testing.T) {
	t.Parallel()
	b := setup(t, 100)
	b.workspaces.Store(2)
	send := func(workspaceID string) (sent int) {
		for {
			n, err := b.Reserve(t.Context(), workspaceID, embedding.MaxBatch)
			if errors.Is(err, embedding.ErrLimit) {
				return sent
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.Memories(t.Context(), workspaceID, make([]string, n)); err != nil {
				t.Fatal(err)
			}
			sent += n
		}
	}
	if first, second := send("wsp_a"), send("wsp_b"); first != 70 || second != 20 {
		t.Errorf("the first workspace sent %d texts, the second %d", first, second)
	}
	if !b.Exhausted("wsp_a") || !b.Exhausted("wsp_b") {
		t.Error("a workspace has more")
	}
	for _, workspaceID := range []string{"wsp_a", "wsp_b"} {
		if b.Query(t.Context(), workspaceID, "question").Wait() == nil {
			t.Errorf("a query of %s got no vector", workspaceID)
		}
	}
	b.workspaces.Store(1)
	if b.Exhausted("wsp_a") {
		t.Error("the share did not grow with the number of workspaces")
	}
}

func TestSentencesOfTheProgramDoNotCount(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	if err := b.Try(t.Context()); err != nil || b.Baseline() == nil {
		t.Fatalf("%v, %v", b.Baseline(), err)
	}
	if b.ask(t) == nil {
		t.Error("the program's own sentences used the limit")
	}
	if n := b.Stats(); n.Memories != 0 || n.Queries != 1 {
		t.Errorf("the numbers are %+v", n)
	}
}

func TestQueriesAreFewAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, 1000)
		release := make(chan struct{})
		b.respond(func(ctx context.Context, texts []string) ([][]float32, error) {
			<-release
			return right(ctx, texts)
		})
		var queries []*embedding.Query
		for range 40 {
			queries = append(queries, b.Query(t.Context(), "wsp_a", "question"))
		}
		synctest.Wait()
		if n := b.count(); n != 16 {
			t.Errorf("%d requests run at once", n)
		}
		close(release)
		for _, q := range queries {
			if q.Wait() == nil {
				t.Error("a query that waited got no vector")
			}
		}
	})
}
