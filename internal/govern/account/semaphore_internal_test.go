package account

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"keepsake/internal/testing/await"
)

func TestHashesOfAddressesTakeTurns(t *testing.T) {
	t.Parallel()
	g := newHashSemaphore(1, PasswordCost{})
	if err := g.enter(t.Context(), address(0)); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var order []int
	var running sync.WaitGroup
	join := func(who, from int) {
		before := g.waits()
		running.Go(func() {
			if err := g.enter(context.Background(), address(from)); err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			order = append(order, who)
			mu.Unlock()
			g.leave()
		})
		await.Until(t, "one more waits", func() bool { return g.waits() > before })
	}
	for i := range 5 {
		join(i, 1)
	}
	join(10, 2)
	join(11, 2)
	join(20, 3)
	g.leave()
	running.Wait()
	if got, want := fmt.Sprint(order), "[0 10 20 1 11 2 3 4]"; got != want {
		t.Errorf("turns came %s, want %s", got, want)
	}
	if g.free != 1 || g.waiting != 0 || len(g.queues) != 0 || g.first != nil {
		t.Errorf("when all have left: %d free, %d waiting, %d queues", g.free, g.waiting, len(g.queues))
	}
}

func (g *hashSemaphore) waits() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting
}

func TestFullQueueAdmitsOtherAddresses(t *testing.T) {
	t.Parallel()
	g := newHashSemaphore(1, PasswordCost{})
	if err := g.enter(t.Context(), address(0)); err != nil {
		t.Fatal(err)
	}
	var refused, entered atomic.Int64
	var running sync.WaitGroup
	join := func(from int) {
		running.Go(func() {
			switch err := g.enter(context.Background(), address(from)); {
			case err == nil:
				entered.Add(1)
				g.leave()
			case errors.Is(err, errTooManyHashes):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	for range g.maxWaiting + 10 {
		join(1)
	}
	await.Until(t, "ten of one address are refused", func() bool { return refused.Load() == 10 })
	join(2)
	await.Until(t, "one of the many makes room", func() bool { return refused.Load() == 11 && g.waits() == g.maxWaiting })

	ctx, cancel := context.WithCancel(context.Background())
	gone := make(chan error)
	go func() { gone <- g.enter(ctx, address(3)) }()
	await.Until(t, "another one makes room", func() bool { return refused.Load() == 12 && g.waits() == g.maxWaiting })
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) || g.waits() != g.maxWaiting-1 {
		t.Errorf("who goes away: %v, %d wait", err, g.waits())
	}
	g.leave()
	running.Wait()
	if entered.Load() != int64(g.maxWaiting-1) || g.free != 1 || g.first != nil {
		t.Errorf("%d of %d entered, %d free", entered.Load(), g.maxWaiting-1, g.free)
	}
}
