package outboxtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"testing"
	"time"

	"keepsake/internal/govern/account"
	"keepsake/internal/govern/event"
	"keepsake/internal/store"
	"keepsake/internal/store/sqlite"
	"keepsake/internal/store/sqlite/sqlitetest"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// bundle is an outbox over a real store, with a clock that a test moves.
type bundle struct {
	*event.Outbox
	store     *store.Store
	interests *event.Interests
	added     int

	mu sync.Mutex
	at time.Time
}

func (b *bundle) now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.at
}

func (b *bundle) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at = b.at.Add(d)
}

func setup(t testing.TB) *bundle {
	t.Helper()
	engine, err := sqlite.Open(t.Context(), sqlite.Options{Dir: sqlitetest.Dir(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	b := &bundle{store: store.New(engine), at: noon}
	b.interests = event.NewInterests(b.store.Events.Interests, nil)
	b.Outbox = event.NewOutbox(event.OutboxOptions{
		Store: b.store.Events, Units: b.store, Interests: b.interests, Added: func() { b.added++ }, Random: rand.Reader, Now: b.now,
	})
	for _, id := range []string{"wsp_a", "wsp_b"} {
		err := b.store.Accounts.CreateWorkspace(t.Context(), &account.Workspace{ID: id, Name: id, Tier: "free", CreatedAt: noon, Revision: 1})
		noError(t, err)
	}
	return b
}

// subscribe adds a webhook, as another process does.
func (b *bundle) subscribe(t testing.TB, workspaceID string, types ...event.Type) (id string) {
	t.Helper()
	id = fmt.Sprintf("whk_%s_%d", workspaceID, len(types))
	noError(t, b.store.Run(t.Context(), func(ctx context.Context) error {
		err := b.store.Events.CreateWebhook(ctx, &event.Webhook{
			ID: id, WorkspaceID: workspaceID, Types: types, Sealed: []byte{}, CreatedAt: noon, UpdatedAt: noon, Revision: 1,
		}, 10)
		if err != nil {
			return err
		}
		interest := event.SetOf(types...)
		if len(types) == 0 {
			interest = event.AllTypes
		}
		if _, _, err := b.store.Events.HoldInterest(ctx, workspaceID); err != nil {
			return err
		}
		return b.store.Events.SetInterest(ctx, workspaceID, interest, noon)
	}))
	return id
}

func (b *bundle) deliveries(t testing.TB, webhookID string) []event.Delivery {
	t.Helper()
	list, err := b.store.Events.ListDeliveries(t.Context(), webhookID, event.DeliveryFilter{Limit: 100})
	noError(t, err)
	return list
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
