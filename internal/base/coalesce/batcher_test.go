package coalesce_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"keepsake/internal/base/coalesce"
)

// ground runs units of numbers: each takes until it is let go.
type ground struct {
	units [][]int
	mu    sync.Mutex
	gate  chan struct{} // nil: units take no time
	fails func(writes []int) error
}

var errAway = errors.New("the database is away")

func (g *ground) line(units int) *coalesce.Batcher[int] {
	return coalesce.New(coalesce.Options[int]{
		Runs: units, Calls: 4, Bytes: 100, Size: func(n int) int { return n },
		Shared: func(err error) bool { return errors.Is(err, errAway) },
		Run: func(_ context.Context, _ string, writes []int) error {
			g.mu.Lock()
			g.units = append(g.units, slices.Clone(writes))
			g.mu.Unlock()
			if g.gate != nil {
				<-g.gate
			}
			if g.fails != nil {
				return g.fails(writes)
			}
			return nil
		},
	})
}

// send has writes wait in their order, behind what is under way. The answers come in answers.
func send(ctx context.Context, l *coalesce.Batcher[int], name string, writes ...int) (answers chan error) {
	answers = make(chan error, len(writes))
	for _, w := range writes {
		go func() { answers <- l.Do(ctx, name, w) }()
		synctest.Wait()
	}
	return answers
}

func (g *ground) ran() string { return strings.Trim(fmt.Sprint(g.units), "[]") }

func TestWritesThatComeWhileAUnitIsUnderWayShareTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &ground{gate: make(chan struct{})}
		l := g.line(1)
		send(t.Context(), l, "a", 1, 2, 3, 4, 5, 6, 90, 20, 7)
		send(t.Context(), l, "b", 8)
		if n := l.Waiting("a"); n != 8 {
			t.Errorf("%d wait, want 8", n)
		}
		close(g.gate)
		synctest.Wait()
		// Four writes are the most, and a hundred bytes are enough.
		if got := g.ran(); got != "1] [8] [2 3 4 5] [6 90 20] [7" {
			t.Errorf("the units were %s", got)
		}
		if n := l.Waiting("a"); n != 0 {
			t.Errorf("%d wait in the end", n)
		}
	})
}

func TestSeveralUnitsOfAName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &ground{gate: make(chan struct{})}
		send(t.Context(), g.line(2), "a", 1, 2, 3, 4)
		if got := g.ran(); got != "1] [2" {
			t.Errorf("%s are under way, want two", got)
		}
		g.gate <- struct{}{}
		synctest.Wait()
		if got := g.ran(); got != "1] [2] [3 4" {
			t.Errorf("the units were %s", got)
		}
		close(g.gate)
	})
}

func TestWhoeverLeavesBeforeAUnitIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &ground{gate: make(chan struct{})}
		l := g.line(1)
		patient := send(t.Context(), l, "a", 1)
		ctx, cancel := context.WithCancel(t.Context())
		begun := send(ctx, l, "b", 2)
		leaves := send(ctx, l, "a", 3)
		stays := send(t.Context(), l, "a", 4)
		cancel()
		if err := <-leaves; !errors.Is(err, context.Canceled) {
			t.Errorf("whoever left was told %v", err)
		}
		select {
		case err := <-begun:
			t.Errorf("whose unit has begun was told %v before its end", err)
		default:
		}
		close(g.gate)
		for _, answers := range []chan error{patient, begun, stays} {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
		if got := g.ran(); got != "1] [2] [4" {
			t.Errorf("the units were %s", got)
		}
		if err := l.Do(ctx, "a", 5); !errors.Is(err, context.Canceled) || strings.Contains(g.ran(), "5") {
			t.Errorf("a caller who had left: %v", err)
		}
	})
}

func TestAWriteThatFailsFailsNobodyElse(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]func() error{
		"Error": func() error { return errors.New("three is bad") },
		"Panic": func() error { panic("three is bad") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &ground{gate: make(chan struct{}), fails: func(writes []int) error {
					if slices.Contains(writes, 3) {
						return bad()
					}
					return nil
				}}
				l := g.line(1)
				send(t.Context(), l, "a", 1)
				others, three := send(t.Context(), l, "a", 2), send(t.Context(), l, "a", 3)
				last := send(t.Context(), l, "a", 4)
				close(g.gate)
				if err := errors.Join(<-others, <-last); err != nil {
					t.Errorf("the others: %v", err)
				}
				if err := <-three; err == nil || !strings.Contains(err.Error(), "three is bad") {
					t.Errorf("the bad one: %v", err)
				}
				if got := g.ran(); got != "1] [2 3 4] [2] [3] [4" {
					t.Errorf("the units were %s", got)
				}
			})
		})
	}
}

func TestWhatIsEverybodysIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &ground{gate: make(chan struct{}), fails: func([]int) error { return errAway }}
		answers := send(t.Context(), g.line(1), "a", 1, 2, 3)
		close(g.gate)
		for range 3 {
			if err := <-answers; !errors.Is(err, errAway) {
				t.Error(err)
			}
		}
		if got := g.ran(); got != "1] [2 3" {
			t.Errorf("the units were %s", got)
		}
	})
}

func TestEveryWriteIsDoneOnce(t *testing.T) {
	t.Parallel()
	const writers, each = 64, 200
	var done [writers]atomic.Int64
	l := coalesce.New(coalesce.Options[int]{
		Runs: 3, Calls: 16, Bytes: 1 << 20, Size: func(int) int { return 1 }, Shared: func(error) bool { return false },
		Run: func(_ context.Context, _ string, writes []int) error {
			for _, w := range writes {
				done[w].Add(1)
			}
			return nil
		},
	})
	var left atomic.Int64
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				ctx, cancel := context.WithCancel(t.Context())
				if i%5 == 0 {
					go cancel()
				}
				if err := l.Do(ctx, fmt.Sprint(i%3), w); err != nil {
					left.Add(1)
				}
				cancel()
			}
		})
	}
	all.Wait()
	sum := left.Load()
	for w := range done {
		sum += done[w].Load()
	}
	if sum != writers*each {
		t.Errorf("%d writes done or left, want %d", sum, writers*each)
	}
}
