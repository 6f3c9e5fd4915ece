package outboxtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/audit/audittest"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/event"
	"keepsake/internal/memory/seal"
)

// desk is a service and what it records.
type desk struct {
	*event.Service
	*bundle
	log    audittest.Recorder
	sealer *seal.DataKey
	waits  []time.Duration
}

func newDesk(t *testing.T, shared bool) *desk {
	t.Helper()
	sealer, err := seal.InstanceKey(make([]byte, 32))
	noError(t, err)
	d := &desk{bundle: setup(t), sealer: sealer}
	d.Service = event.NewService(event.Options{
		Store: d.store.Events, Units: d.store, Interests: d.interests, Audit: &d.log, Events: d.Outbox, Sealer: sealer, Shared: shared,
		Wait:   func(_ context.Context, w time.Duration) error { d.waits = append(d.waits, w); return nil },
		Random: rand.Reader, Now: d.now,
	})
	return d
}

func of(workspaceID string) *auth.Principal {
	return &auth.Principal{Kind: auth.Local, WorkspaceID: workspaceID}
}

func (d *desk) create(t *testing.T, draft event.Draft) *event.Created {
	t.Helper()
	w, err := d.Create(t.Context(), of("wsp_a"), draft)
	noError(t, err)
	return w
}

var hook = event.Draft{URL: "https://example.org/hook?token=canary", Types: []event.Type{event.APIKeyCreated}}

func codeOf(err error) string {
	p, ok := problem.As(err)
	if !ok {
		return ""
	}
	return p.Code
}

func TestNewWebhookGetsTheNextEvent(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	noError(t, d.Record(t.Context(), created("wsp_a")))
	w := d.create(t, hook)
	noError(t, d.Record(t.Context(), created("wsp_a")))
	noError(t, d.Record(t.Context(), created("wsp_b")))
	if list := d.deliveries(t, w.ID); len(list) != 1 {
		t.Errorf("%d deliveries", len(list))
	}
}

func TestTargetIsEncryptedAtRest(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	w := d.create(t, hook)
	stored, err := d.store.Events.Webhook(t.Context(), "wsp_a", w.ID)
	noError(t, err)
	for _, text := range []string{"canary", "whsec_", w.Secret} {
		if bytes.Contains(stored.Sealed, []byte(text)) {
			t.Errorf("the row contains %s", text)
		}
	}
	read, err := d.Webhook(t.Context(), of("wsp_a"), w.ID)
	noError(t, err)
	if read.URL != hook.URL || len(read.Secrets) != 1 || w.Secret != read.Secrets[0].Text || read.Secrets[0].Hint() != w.Secret[:10] {
		t.Errorf("got %+v", read)
	}
}

func TestWebhooksOfOtherWorkspacesAreMissing(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	w := d.create(t, hook)
	ping, err := d.Ping(t.Context(), of("wsp_a"), w.ID)
	noError(t, err)
	stranger, ctx := of("wsp_b"), t.Context()
	for name, call := range map[string]func() error{
		"get":    func() error { _, err := d.Webhook(ctx, stranger, w.ID); return err },
		"change": func() error { _, err := d.Change(ctx, stranger, w.ID, nil, event.Change{}); return err },
		"delete": func() error { return d.Delete(ctx, stranger, w.ID, nil) },
		"rotate": func() error {
			_, err := d.Rotate(ctx, stranger, w.ID, nil, event.Rotation{})
			return err
		},
		"ping":       func() error { _, err := d.Ping(ctx, stranger, w.ID); return err },
		"deliveries": func() error { _, err := d.Deliveries(ctx, stranger, w.ID, event.DeliveryFilter{Limit: 1}); return err },
		"delivery":   func() error { _, err := d.Delivery(ctx, stranger, w.ID, ping.ID); return err },
		"replay":     func() error { _, err := d.Replay(ctx, stranger, w.ID, ping.ID); return err },
		"malformed":  func() error { _, err := d.Webhook(ctx, of("wsp_a"), "nonsense"); return err },
	} {
		if err := call(); codeOf(err) != problem.CodeNotFound {
			t.Errorf("%s: got %v", name, err)
		}
	}
	bound := of("wsp_a")
	bound.SubjectID = "anna"
	if _, err := d.Webhook(ctx, bound, w.ID); codeOf(err) != problem.CodeInsufficientScope {
		t.Errorf("a bound key: got %v", err)
	}
}

func TestInvalidWebhooksAreRejected(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	for field, draft := range map[string]event.Draft{
		"url":       {URL: "ftp://example.org"},
		"events[1]": {URL: hook.URL, Types: []event.Type{event.APIKeyCreated, "api_key.no_such"}},
		"events[0]": {URL: hook.URL, Types: []event.Type{event.Ping}},
	} {
		_, err := d.Create(t.Context(), of("wsp_a"), draft)
		if p, ok := problem.As(err); !ok || p.Details.Field != field {
			t.Errorf("%s: got %v", field, err)
		}
	}
	twice := event.Draft{URL: hook.URL, Types: []event.Type{event.APIKeyCreated, event.APIKeyCreated}}
	if _, err := d.Create(t.Context(), of("wsp_a"), twice); err == nil {
		t.Error("an event listed twice was accepted")
	}
	for range event.MaxWebhooks {
		d.create(t, hook)
	}
	if _, err := d.Create(t.Context(), of("wsp_a"), hook); codeOf(err) != problem.CodeLimitReached {
		t.Errorf("beyond the limit: got %v", err)
	}
}

func TestWebhookIsChangedAndDeleted(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	w := d.create(t, hook)
	off, other := true, "https://example.org/other"
	changed, err := d.Change(t.Context(), of("wsp_a"), w.ID, nil, event.Change{
		URL: &other, Types: &[]event.Type{}, Disabled: &off,
	})
	noError(t, err)
	if changed.URL != "https://example.org/other" || changed.Wants() != event.AllTypes || changed.DisabledReason != event.DisabledByUser || changed.Revision != 2 {
		t.Errorf("got %+v", changed)
	}
	noError(t, d.Record(t.Context(), created("wsp_a")))
	if n := len(d.deliveries(t, w.ID)); n != 0 {
		t.Errorf("a disabled webhook has %d deliveries", n)
	}
	if _, err := d.Ping(t.Context(), of("wsp_a"), w.ID); codeOf(err) != problem.CodeConflict {
		t.Errorf("a ping of a disabled webhook: got %v", err)
	}
	on := false
	_, err = d.Change(t.Context(), of("wsp_a"), w.ID, nil, event.Change{Disabled: &on})
	noError(t, err)
	noError(t, d.Record(t.Context(), event.Event{Type: event.MemoryCreated, WorkspaceID: "wsp_a"})) // a type that it did not want before
	if n := len(d.deliveries(t, w.ID)); n != 1 {
		t.Errorf("%d deliveries after it was enabled", n)
	}
	noError(t, d.Delete(t.Context(), of("wsp_a"), w.ID, nil))
	if _, err := d.Webhook(t.Context(), of("wsp_a"), w.ID); codeOf(err) != problem.CodeNotFound {
		t.Errorf("after the deletion: got %v", err)
	}
	var actions []string
	for _, e := range d.log.Entries() {
		actions = append(actions, string(e.Action))
	}
	want := []string{"webhook.created", "webhook.changed", "webhook.changed", "webhook.deleted"}
	if diff := cmp.Diff(want, actions); diff != "" {
		t.Error(diff)
	}
}

func TestRotationKeepsTheOldSecretForItsGrace(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	w := d.create(t, hook)
	rotate := func(r event.Rotation) (*event.Created, error) {
		return d.Rotate(t.Context(), of("wsp_a"), w.ID, nil, r)
	}
	next, err := rotate(event.Rotation{Grace: time.Hour})
	noError(t, err)
	if len(next.Secrets) != 2 || next.Secret == w.Secret || next.Secrets[1].Text != w.Secret || !next.Secrets[1].ValidUntil.Equal(noon.Add(time.Hour)) {
		t.Errorf("got %+v", next.Secrets)
	}
	if _, err := rotate(event.Rotation{Grace: time.Hour}); codeOf(err) != problem.CodeRotationInProgress {
		t.Errorf("a second rotation: got %v", err)
	}
	d.pass(time.Hour)
	read, err := d.Webhook(t.Context(), of("wsp_a"), w.ID)
	noError(t, err)
	if len(read.Secrets) != 1 || read.Secrets[0].Text != next.Secret {
		t.Errorf("after the grace: %+v", read.Secrets)
	}
	for range 2 {
		forced, err := rotate(event.Rotation{Grace: time.Hour, Force: true})
		noError(t, err)
		if len(forced.Secrets) != 2 {
			t.Errorf("after a forced rotation: %+v", forced.Secrets)
		}
	}
	last, err := rotate(event.Rotation{Force: true})
	noError(t, err)
	if len(last.Secrets) != 1 {
		t.Errorf("without a grace: %+v", last.Secrets)
	}
}

func TestOtherProcessesKnowAWebhookBeforeItExists(t *testing.T) {
	t.Parallel()
	d := newDesk(t, true)
	other := event.NewInterests(d.store.Events.Interests, nil) // of another process, which reads what is committed
	outbox := event.NewOutbox(event.OutboxOptions{Store: d.store.Events, Units: d.store, Interests: other, Random: rand.Reader, Now: d.now})
	draft := hook
	noError(t, d.Prepare(t.Context(), of("wsp_a"), &draft))
	if len(d.waits) != 1 || d.waits[0] <= event.Settle {
		t.Fatalf("waited %v; every process must have read the interest", d.waits)
	}
	noError(t, other.Load(t.Context())) // what it has read by then
	w := d.create(t, draft)
	noError(t, outbox.Record(t.Context(), created("wsp_a")))
	if n := len(d.deliveries(t, w.ID)); n != 1 {
		t.Errorf("%d deliveries", n)
	}
	d.pass(time.Hour)
	noError(t, d.Prepare(t.Context(), of("wsp_a"), &draft)) // all know it
	if len(d.waits) != 1 {
		t.Errorf("waited again: %v", d.waits)
	}
}
