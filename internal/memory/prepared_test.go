package memory_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"

	"keepsake/internal/base/unit"
	"keepsake/internal/govern/audit"
	"keepsake/internal/memory"
)

// gate lets units begin when a test says so.
type gate struct {
	unit.Runner
	open chan struct{}
	fail error
}

func (g *gate) Run(ctx context.Context, fn func(ctx context.Context) error) error {
	<-g.open
	if g.fail != nil {
		return g.fail
	}
	return g.Runner.Run(ctx, fn)
}

// Writes that share a unit stay what each of them is by itself: its caller's in the log, and its own refusal.
func TestWritesThatShareAUnitAreTheirCallers(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		b.max.Store(30)
		g := &gate{Runner: b.store, open: make(chan struct{})}
		gated := b.with(func(o *memory.Options) { o.Units = g })
		const callers = 40
		var all sync.WaitGroup
		var mu sync.Mutex
		wrote, full := map[string]string{}, 0
		for i := range callers {
			source := audit.Source{RequestID: fmt.Sprint("req_", i)}
			if i%2 == 0 {
				source.Address = netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})
			}
			ctx := context.WithValue(t.Context(), audit.SourceKey, source)
			all.Go(func() {
				stored, err := gated.put(ctx, anna, memory.Memory{SubjectID: fmt.Sprint("s", i%5), Text: fmt.Sprint("text ", i)})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					wrote[stored.Memory.ID] = fmt.Sprint(source.RequestID, " ", source.Address)
				case codeOf(err) == "limit_reached":
					full++
				default:
					t.Errorf("write: %v", err)
				}
			})
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := gated.put(gone, anna, say("never")); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that had left was told %v", err)
		}
		close(g.open)
		all.Wait()
		if len(wrote) != 30 || full != 10 {
			t.Errorf("%d were written and %d refused", len(wrote), full)
		}
		for s := range 5 {
			rows, err := b.log.Accesses(t.Context(), audit.Accesses{WorkspaceID: "wsp_a", SubjectID: fmt.Sprint("s", s), Limit: 100})
			noError(t, err)
			for _, r := range rows {
				if r.Action != audit.MemoryCreated {
					continue
				}
				for id, source := range wrote {
					if r.Details == fmt.Sprintf(`{"memoryIds":%q}`, id) {
						delete(wrote, id)
						if got := fmt.Sprint(r.RequestID, " ", r.Address); got != source {
							t.Errorf("%s is logged as from %s, and came from %s", id, got, source)
						}
					}
				}
			}
		}
		if len(wrote) != 0 {
			t.Errorf("not in the log: %v", wrote)
		}
	})
}

// A store that fails, and a panic in the middle of a transaction, reach all waiting writers.
func TestAFailedUnitReachesAllWhoShareIt(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	g := &gate{Runner: b.store, open: make(chan struct{}), fail: errors.New("the disk is on fire")}
	gated := b.with(func(o *memory.Options) { o.Units = g })
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			if _, err := gated.put(t.Context(), anna, say(fmt.Sprint(i))); !errors.Is(err, g.fail) {
				t.Errorf("told %v", err)
			}
		})
	}
	close(g.open)
	all.Wait()
	g.fail = nil
	broken := b.with(func(o *memory.Options) { o.MaxMemories = func(string) *int64 { panic("a mistake") } })
	if _, err := broken.put(t.Context(), anna, say("x")); err == nil {
		t.Error("nobody was told of a panic")
	}
	if _, err := gated.put(t.Context(), anna, say("after")); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
