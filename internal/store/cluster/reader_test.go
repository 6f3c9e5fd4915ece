package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"keepsake/internal/store/cluster"
	"keepsake/internal/testing/testtier"
)

// board is the event source. It counts how often each subject was changed.
type board struct {
	mu    sync.Mutex
	head  int64
	news  []cluster.Event
	state map[string]int
	away  error
}

func newBoard() *board { return &board{state: map[string]int{}} }

// change changes a subject. If quietly, it takes a number without an event.
func (b *board) change(subject string, quietly bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.head++
	b.state[subject]++
	if !quietly {
		b.news = append(b.news, cluster.Event{Number: b.head, Kind: cluster.APIKey, Subject: subject, At: time.Now()})
	}
}

func (b *board) From(_ context.Context, number int64, limit int) (*cluster.Batch, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away != nil {
		return nil, b.away
	}
	p := &cluster.Batch{Head: b.head}
	for _, n := range b.news {
		if n.Number >= number && len(p.Events) < limit {
			p.Events = append(p.Events, n)
		}
	}
	return p, nil
}

func (b *board) Prune(_ context.Context, keep time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.news) > 0 && time.Since(b.news[0].At) > keep {
		b.news = b.news[1:]
	}
	return b.away
}

func (b *board) set(away error) { b.mu.Lock(); b.away = away; b.mu.Unlock() }

// memory is what a process knows of a board.
type memory struct {
	board    *board
	mu       sync.Mutex
	state    map[string]int
	told     int
	reloads  int
	failures int // how many of the next applies fail
}

func (m *memory) Apply(_ context.Context, news []cluster.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failures > 0 {
		m.failures--
		return errors.New("the store does not answer")
	}
	m.board.mu.Lock()
	defer m.board.mu.Unlock()
	for _, n := range news {
		m.told++
		m.state[n.Subject] = m.board.state[n.Subject]
	}
	return nil
}

func (m *memory) ApplyAll(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.board.mu.Lock()
	defer m.board.mu.Unlock()
	m.reloads++
	for subject, n := range m.board.state {
		m.state[subject] = n
	}
	return nil
}

func (m *memory) wantSame(t *testing.T) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.board.mu.Lock()
	defer m.board.mu.Unlock()
	if got, want := fmt.Sprint(m.state), fmt.Sprint(m.board.state); got != want {
		t.Errorf("heard %s, want %s", got, want)
	}
}

func reader(t *testing.T, b *board) (*cluster.Reader, *memory) {
	t.Helper()
	m := &memory{board: b, state: map[string]int{}}
	r := cluster.NewReader(cluster.ReaderOptions{
		Source: b, Applier: m, MaxStaleness: 10 * time.Second, Log: slog.New(slog.DiscardHandler),
	})
	if err := r.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := m.ApplyAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.reloads = 0
	return r, m
}

func TestReader(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(t *testing.T){
		"EventIsAppliedWithinAPoll": func(t *testing.T) {
			b := newBoard()
			b.change("before", false)
			r, m := reader(t, b)
			go r.Run(t.Context())
			time.Sleep(time.Second)
			b.change("key", false)
			time.Sleep(cluster.PollEvery + time.Millisecond)
			m.wantSame(t)
			if m.reloads != 0 || m.told != 1 {
				t.Errorf("told %d, reloads %d, want one and none", m.told, m.reloads)
			}
		},
		"MissedEventReloadsEverything": func(t *testing.T) {
			b := newBoard()
			r, m := reader(t, b)
			b.change("a", false)
			b.change("b", true)
			b.change("c", false)
			if err := r.Poll(t.Context()); err != nil {
				t.Fatal(err)
			}
			m.wantSame(t)
			b.change("d", true) // the last event is missing
			if err := r.Poll(t.Context()); err != nil {
				t.Fatal(err)
			}
			m.wantSame(t)
			if m.reloads != 2 {
				t.Errorf("%d reloads, want 2", m.reloads)
			}
		},
		"PrunedEventsReloadEverything": func(t *testing.T) {
			b := newBoard()
			r, m := reader(t, b)
			for i := range 20 {
				b.change(fmt.Sprint("k", i), false)
			}
			b.news = b.news[10:]
			if err := r.Poll(t.Context()); err != nil {
				t.Fatal(err)
			}
			m.wantSame(t)
			b.news = nil // pruned after they were read
			if err := r.Poll(t.Context()); err != nil {
				t.Fatal(err)
			}
			if m.reloads != 1 {
				t.Errorf("%d reloads, want 1", m.reloads)
			}
		},
		"OtherEventsWithTheSameNumbersAreFound": func(t *testing.T) {
			b := newBoard()
			r, m := reader(t, b)
			b.change("a", false)
			b.change("b", false)
			if err := r.Poll(t.Context()); err != nil {
				t.Fatal(err)
			}
			// A standby took over that lacked the last event, and changes continued there.
			b.head, b.news, b.state = 1, b.news[:1], map[string]int{"a": 1, "b": 0}
			time.Sleep(time.Millisecond)
			b.change("c", false)
			b.change("d", false)
			if err := r.Poll(t.Context()); err != nil {
				t.Fatal(err)
			}
			m.wantSame(t)
			b.head, b.news = 1, b.news[:1] // and a standby that lags
			if err := r.Poll(t.Context()); err != nil {
				t.Fatal(err)
			}
			if m.reloads != 2 {
				t.Errorf("%d reloads, want 2", m.reloads)
			}
		},
		"FailedEventIsAppliedAgain": func(t *testing.T) {
			b := newBoard()
			r, m := reader(t, b)
			go r.Run(t.Context())
			m.mu.Lock()
			m.failures = 3
			m.mu.Unlock()
			b.change("key", false)
			time.Sleep(2 * time.Second)
			m.wantSame(t)
		},
		"LongListIsAppliedInOnePoll": func(t *testing.T) {
			b := newBoard()
			r, m := reader(t, b)
			for i := range 1700 {
				b.change(fmt.Sprint("k", i%900), false)
			}
			if err := r.Poll(t.Context()); err != nil {
				t.Fatal(err)
			}
			m.wantSame(t)
			if m.reloads != 0 {
				t.Errorf("%d reloads", m.reloads)
			}
		},
		"EventsAreKeptForAnHour": func(t *testing.T) {
			b := newBoard()
			r, m := reader(t, b)
			go r.Run(t.Context())
			b.change("key", false)
			time.Sleep(50 * time.Minute)
			b.change("other", false)
			time.Sleep(21 * time.Minute)
			b.mu.Lock()
			left := len(b.news)
			b.mu.Unlock()
			if left != 1 || m.reloads != 0 {
				t.Errorf("%d news are left, want 1; %d reloads", left, m.reloads)
			}
		},
		"CutOffReaderIsStaleAfterMaxStaleness": func(t *testing.T) {
			b := newBoard()
			r, m := reader(t, b)
			go r.Run(t.Context())
			time.Sleep(time.Minute)
			if !r.Current() {
				t.Fatal("not current though it hears")
			}
			b.set(errCut)
			time.Sleep(9700 * time.Millisecond)
			if !r.Current() {
				t.Error("lost its patience early")
			}
			time.Sleep(400 * time.Millisecond)
			if r.Current() {
				t.Error("current, cut off for more than ten seconds")
			}
			b.set(nil)
			time.Sleep(cluster.PollEvery + time.Millisecond)
			if !r.Current() {
				t.Error("not current again")
			}
			m.mu.Lock()
			m.failures = 1 << 30 // it reads events, but cannot apply them
			m.mu.Unlock()
			b.change("key", false)
			time.Sleep(10100 * time.Millisecond)
			if r.Current() {
				t.Error("current, though it could not take in what it heard")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, test)
		})
	}
}

// Whatever is changed, missed, pruned, delayed or failing: when a reader is current again, it knows all earlier
// changes.
func TestCurrentReaderKnowsEverything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(testtier.Rounds(60, 300)) {
			random := rand.New(rand.NewPCG(seed, 1))
			b := newBoard()
			r, m := reader(t, b)
			for range 40 {
				for range random.IntN(4) {
					b.change(fmt.Sprint("k", random.IntN(6)), random.IntN(8) == 0)
				}
				switch random.IntN(6) {
				case 0:
					b.news = b.news[random.IntN(len(b.news)+1):]
				case 1:
					m.failures = random.IntN(3)
				case 2:
					b.set(errCut)
				}
				time.Sleep(time.Millisecond)
				err := r.Poll(t.Context())
				b.set(nil)
				if err == nil && m.failures == 0 {
					m.wantSame(t)
				}
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	})
}

// silent is a source and a table whose database does not answer.
type silent struct {
	cluster.Source
	cluster.Table
}

func (silent) From(ctx context.Context, _ int64, _ int) (*cluster.Batch, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (silent) Join(ctx context.Context, _ *cluster.Member, _ bool) (int64, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

func TestStartWaitsForStartTimeout(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(ctx context.Context, timeout time.Duration) error{
		"Begin": func(ctx context.Context, timeout time.Duration) error {
			r := cluster.NewReader(cluster.ReaderOptions{Source: silent{}, StartTimeout: timeout})
			return r.Begin(ctx)
		},
		"Join": func(ctx context.Context, timeout time.Duration) error {
			m := cluster.NewMembers(cluster.MembersOptions{Table: silent{}, StartTimeout: timeout})
			return m.Join(ctx)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			for _, timeout := range []time.Duration{time.Second, time.Hour} {
				began := time.Now() // on the fake clock
				err := start(t.Context(), timeout)
				if waited := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || waited != timeout {
					t.Errorf("%s ended after %s with %v, want the end of %s", name, waited, err, timeout)
				}
			}
		})
	}
}
