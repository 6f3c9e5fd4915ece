package outboxtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"keepsake/internal/govern/event"
)

// bulkPause is how long the event of a bulk waits for the next transaction.
const bulkPause = 10 * time.Minute

// said is what an event about many memories says.
type said struct {
	Count     int      `json:"count"`
	MemoryIDs []string `json:"memoryIds"`
	MemoryID  string   `json:"memoryId"`
	Revision  int64    `json:"revision"`
}

func saidBy(t testing.TB, d *event.Delivery) said {
	t.Helper()
	var body struct{ Data said }
	noError(t, json.Unmarshal([]byte(d.Payload), &body))
	return body.Data
}

func items(from, n int) (list []event.Item) {
	for i := range n {
		list = append(list, event.Item{ID: fmt.Sprint("mem_", from+i), Revision: 1})
	}
	return list
}

// due lists what could be sent now.
func (b *bundle) due(t testing.TB, webhookID string) []event.Delivery {
	t.Helper()
	return slices.DeleteFunc(b.deliveries(t, webhookID), func(d event.Delivery) bool { return d.DueAt == nil || d.DueAt.After(b.now()) })
}

func TestWhatSeveralTransactionsDoIsOneEvent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	hook, other := b.subscribe(t, "wsp_a", event.MemoryImported), b.subscribe(t, "wsp_a")
	noError(t, b.interests.Load(t.Context()))
	bulk := event.NewBulk(b, event.MemoryImported, "wsp_a")
	for i := range 5 {
		undo := errors.New("undo")
		err := b.store.Run(t.Context(), func(ctx context.Context) error {
			noError(t, bulk.Add(ctx, items(i*300, 150), false))
			noError(t, bulk.Add(ctx, items(i*300+150, 150), false))
			if i == 2 {
				return undo
			}
			return nil
		})
		if err != nil && !errors.Is(err, undo) {
			t.Fatal(err)
		}
		b.pass(bulkPause/2 - time.Second)
		if n := len(b.due(t, hook)); n != 0 {
			t.Fatalf("%d are sent before the end", n)
		}
	}
	bulk.End(t.Context())
	for _, id := range []string{hook, other} {
		list := b.due(t, id)
		if len(list) != 1 || list[0].Claim != "" {
			t.Fatalf("%d deliveries", len(list))
		}
		got := saidBy(t, &list[0])
		if got.Count != 1200 || len(got.MemoryIDs) != event.MaxIDs || got.MemoryIDs[600] != "mem_900" || got.MemoryID != "" {
			t.Errorf("got %d, %d IDs", got.Count, len(got.MemoryIDs))
		}
	}
}

func TestOneRecordHasItsIDAsAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	hook := b.subscribe(t, "wsp_a", event.MemoryImported)
	noError(t, b.interests.Load(t.Context()))
	bulk := event.NewBulk(b, event.MemoryImported, "wsp_a")
	noError(t, bulk.Add(t.Context(), items(7, 1), true))
	bulk.End(t.Context())
	list := b.due(t, hook)
	if len(list) != 1 {
		t.Fatalf("%d deliveries", len(list))
	}
	if diff := cmp.Diff(said{1, []string{"mem_7"}, "mem_7", 1}, saidBy(t, &list[0])); diff != "" {
		t.Error(diff)
	}
}

func TestWhatADeadProcessDidIsReportedLater(t *testing.T) {
	t.Parallel()
	b := setup(t)
	hook := b.subscribe(t, "wsp_a", event.MemoryImported)
	noError(t, b.interests.Load(t.Context()))
	bulk := event.NewBulk(b, event.MemoryImported, "wsp_a")
	noError(t, bulk.Add(t.Context(), items(0, 3), false))
	b.pass(bulkPause)
	list := b.due(t, hook)
	if len(list) != 1 || saidBy(t, &list[0]).Count != 3 {
		t.Fatalf("%d deliveries", len(list))
	}
}

// TestBulksReportEverythingOnce compares what receivers get with what was committed, whatever the order of transactions, pauses,
// rounds of delivery and the end.
func TestBulksReportEverythingOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		w, err := d.Create(context.Background(), of("wsp_a"), event.Draft{URL: "https://example.org", Types: []event.Type{event.MemoryImported}})
		noError2(t, err)
		bulk := event.NewBulk(d.Outbox, event.MemoryImported, "wsp_a")
		want, got, next := []string{}, []string{}, 0
		send := func() {
			_, list, err := d.store.Events.ClaimDeliveries(context.Background(), w.ID, fmt.Sprint(round), d.now(), d.now().Add(time.Hour), 100)
			noError2(t, err)
			for i := range list {
				var body struct{ Data said }
				noError2(t, json.Unmarshal([]byte(list[i].Payload), &body))
				if body.Data.Count != len(body.Data.MemoryIDs) {
					t.Fatalf("%d memories with %d IDs", body.Data.Count, len(body.Data.MemoryIDs))
				}
				got = append(got, body.Data.MemoryIDs...)
				list[i].State, list[i].DueAt = event.Delivered, nil
				_, err := d.store.Events.SaveDelivery(context.Background(), &list[i], fmt.Sprint(round))
				noError2(t, err)
			}
		}
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0, 1:
				n, fails := rapid.IntRange(0, 3).Draw(t, "items"), rapid.Bool().Draw(t, "fails")
				_ = d.store.Run(context.Background(), func(ctx context.Context) error {
					for range n {
						if err := bulk.Add(ctx, items(next, 1), false); err != nil {
							return err
						}
						if next++; !fails {
							want = append(want, fmt.Sprint("mem_", next-1))
						}
					}
					if fails {
						return errors.New("undo")
					}
					return nil
				})
			case 2:
				d.pass(time.Duration(rapid.IntRange(0, 11).Draw(t, "minutes")) * time.Minute)
			case 3:
				send()
			}
		}
		if rapid.Bool().Draw(t, "ends") {
			bulk.End(context.Background())
		} else {
			d.pass(bulkPause)
		}
		send()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("reported (-want +got):\n%s", diff)
		}
		noError2(t, d.Delete(context.Background(), of("wsp_a"), w.ID, nil))
	})
}

func noError2(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
