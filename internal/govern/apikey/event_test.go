package apikey_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/event"
)

// eventLog remembers the types of events. Like the outbox, it stores an event with a name once.
type eventLog struct {
	types []event.Type
	names map[string]bool
}

func (l *eventLog) Record(_ context.Context, e event.Event) error {
	if e.Once != "" && l.names[e.Once] {
		return nil
	}
	l.names[e.Once] = true
	l.types = append(l.types, e.Type)
	return nil
}

func TestKeyThatExpiresSoonIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	b, events := setup(t), &eventLog{names: map[string]bool{}}
	b.set(func(o *apikey.Options) { o.Events = events })
	want := func(when string, types ...event.Type) {
		t.Helper()
		if !slices.Equal(events.types, types) {
			t.Errorf("%s: got %v, want %v", when, events.types, types)
		}
		events.types = nil
	}
	b.newKey(t, apikey.Draft{ExpiresAt: b.in(time.Second)})
	want("a key that lives a second", event.APIKeyCreated, event.APIKeyExpiring)
	k := b.newKey(t, apikey.Draft{ExpiresAt: b.in(15 * 24 * time.Hour)})
	want("a key that lives longer than two weeks", event.APIKeyCreated)
	for _, life := range []time.Duration{20 * 24 * time.Hour, time.Hour} {
		if _, err := b.Change(t.Context(), b.manager(auth.All), k.ID, nil, apikey.Change{Expiry: &apikey.Expiry{At: b.in(life)}}); err != nil {
			t.Fatal(err)
		}
	}
	want("an expiry that was moved to the next hour", event.APIKeyExpiring)
	b.Notice(t.Context())
	want("the next look at the clock")
	b.pass(2 * time.Second)
	b.Notice(t.Context())
	want("after the second", event.APIKeyExpired)
}
