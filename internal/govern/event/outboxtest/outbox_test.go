package outboxtest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/govern/event"
)

func created(workspaceID string) event.Event {
	return event.Event{Type: event.APIKeyCreated, WorkspaceID: workspaceID, Data: map[string]any{"keyId": "key_1", "at": noon, "none": nil}}
}

func TestEventIsStoredWithItsTransaction(t *testing.T) {
	t.Parallel()
	b := setup(t)
	hook := b.subscribe(t, "wsp_a", event.APIKeyCreated)
	noError(t, b.interests.Load(t.Context()))
	undo := errors.New("undo")
	err := b.store.Run(t.Context(), func(ctx context.Context) error {
		noError(t, b.Record(ctx, created("wsp_a")))
		return undo
	})
	if !errors.Is(err, undo) || len(b.deliveries(t, hook)) != 0 || b.added != 0 {
		t.Fatalf("after a transaction that failed: %v, %d deliveries", err, len(b.deliveries(t, hook)))
	}
	noError(t, b.store.Run(t.Context(), func(ctx context.Context) error { return b.Record(ctx, created("wsp_a")) }))
	noError(t, b.Record(t.Context(), created("wsp_a"))) // in a transaction of its own
	list := b.deliveries(t, hook)
	if len(list) != 2 || b.added != 2 {
		t.Fatalf("%d deliveries, %d notices", len(list), b.added)
	}
	d := list[0]
	var body map[string]any
	noError(t, json.Unmarshal([]byte(d.Payload), &body))
	want := map[string]any{
		"id": d.EventID, "type": "api_key.created", "timestamp": "2026-11-21T12:00:00.000Z", "workspaceId": "wsp_a",
		"data": map[string]any{"keyId": "key_1", "at": "2026-11-21T12:00:00.000Z", "none": nil},
	}
	if diff := cmp.Diff(want, body); diff != "" {
		t.Error(diff)
	}
	if d.State != event.Pending || !d.DueAt.Equal(noon) || d.EventID == list[1].EventID {
		t.Errorf("got %+v", d)
	}
}

func TestEventReachesWebhooksThatWantIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	all := b.subscribe(t, "wsp_a")
	some := b.subscribe(t, "wsp_a", event.VersionSunset)
	other := b.subscribe(t, "wsp_b", event.VersionSunset, event.APIKeyCreated)
	noError(t, b.store.Run(t.Context(), func(ctx context.Context) error { return b.store.Events.SetInterest(ctx, "wsp_a", event.AllTypes, noon) }))
	noError(t, b.interests.Load(t.Context()))
	noError(t, b.Record(t.Context(), created("wsp_a")))
	noError(t, b.Record(t.Context(), event.Event{Type: event.VersionSunset, Data: map[string]any{"version": "1"}}))
	for hook, want := range map[string]int{all: 2, some: 1, other: 1} {
		if got := len(b.deliveries(t, hook)); got != want {
			t.Errorf("%s has %d deliveries, want %d", hook, got, want)
		}
	}
}

// The test is not parallel, because AllocsPerRun counts what other tests allocate.
func TestUnwantedEventCostsNoStatement(t *testing.T) {
	b := setup(t)
	b.subscribe(t, "wsp_b", event.APIKeyCreated)
	noError(t, b.interests.Load(t.Context()))
	outbox := event.NewOutbox(event.OutboxOptions{Interests: b.interests, Random: rand.Reader, Now: b.now}) // a store would be a nil pointer
	noError(t, outbox.Record(t.Context(), created("wsp_a")))
	noError(t, outbox.Record(t.Context(), event.Event{Type: event.MemoryCreated, WorkspaceID: "wsp_b"}))
	ctx := t.Context()
	allocations := testing.AllocsPerRun(100, func() {
		_ = outbox.Record(ctx, event.Event{Type: event.MemoryCreated, WorkspaceID: "wsp_b"})
	})
	if allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}

func TestStaleProcessAsksTheDatabase(t *testing.T) {
	t.Parallel()
	b := setup(t)
	fresh := true
	interests := event.NewInterests(b.store.Events.Interests, func() bool { return fresh })
	noError(t, interests.Load(t.Context()))
	outbox := event.NewOutbox(event.OutboxOptions{Store: b.store.Events, Units: b.store, Interests: interests, Random: rand.Reader, Now: b.now})
	hook := b.subscribe(t, "wsp_a", event.APIKeyCreated)
	for want, now := range []bool{true, false} { // nothing while fresh, because nothing has told this process
		fresh = now
		noError(t, outbox.Record(t.Context(), created("wsp_a")))
		if got := len(b.deliveries(t, hook)); got != want {
			t.Errorf("fresh %v: %d deliveries, want %d", now, got, want)
		}
	}
	fresh = true
	noError(t, interests.Reload(t.Context(), "wsp_a"))
	noError(t, outbox.Record(t.Context(), created("wsp_a")))
	if got := len(b.deliveries(t, hook)); got != 2 {
		t.Errorf("after a reload: %d deliveries", got)
	}
}

func TestNamedEventIsStoredOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	hook := b.subscribe(t, "wsp_a")
	named := created("wsp_a")
	named.Once = "first"
	noError(t, b.Record(t.Context(), named)) // before the webhook is known
	noError(t, b.interests.Load(t.Context()))
	noError(t, b.Record(t.Context(), named))
	named.Once = "second"
	noError(t, b.store.Run(t.Context(), func(ctx context.Context) error {
		noError(t, b.Record(ctx, named))
		noError(t, b.Record(ctx, created("wsp_a")))
		return b.Record(ctx, named)
	}))
	if got := len(b.deliveries(t, hook)); got != 2 {
		t.Errorf("%d deliveries, want the second name once and one without a name", got)
	}
	b.pass(time.Hour)
	noError(t, b.Record(t.Context(), named))
	if got := len(b.deliveries(t, hook)); got != 2 {
		t.Errorf("%d deliveries", got)
	}
}

func TestTypesAreStoredAsBits(t *testing.T) {
	t.Parallel()
	if len(event.Types) != 22 || event.SetOf(event.APIKeyCreated) != 1 || event.SetOf(event.SubjectErased) != 1<<17 ||
		event.SetOf(event.WebhookDisabled) != 1<<21 {
		t.Error("the stored bits of types have changed; add types at the end")
	}
	if diff := cmp.Diff(event.Types, event.AllTypes.List()); diff != "" {
		t.Error(diff)
	}
	if event.AllTypes.Has("no.such") || event.AllTypes.Has(event.Ping) {
		t.Error("an unknown type is in the set")
	}
}
