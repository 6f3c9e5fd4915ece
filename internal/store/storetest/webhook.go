package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/event"
	"keepsake/internal/store"
)

func newWebhook(t *testing.T, s *store.Store, id, workspaceID string, types ...event.Type) *event.Webhook {
	t.Helper()
	w := &event.Webhook{
		ID: id, WorkspaceID: workspaceID, Types: types, Sealed: []byte{1, 2}, Description: "d", EnabledAt: epoch, CreatedAt: epoch, CreatedBy: "key_a",
		UpdatedAt: epoch, Revision: 1,
	}
	noError(t, s.Events.CreateWebhook(t.Context(), w, 10))
	return w
}

func newDelivery(t *testing.T, s *store.Store, id, webhookID string, due time.Time) event.Delivery {
	t.Helper()
	d := event.Delivery{
		ID: id, WebhookID: webhookID, WorkspaceID: "wsp_a", EventID: "evt_" + id, Type: event.APIKeyCreated, Payload: `{"a":1}`,
		State: event.Pending, CreatedAt: epoch, PendingSince: epoch, DueAt: &due, Attempts: []event.Attempt{},
	}
	noError(t, s.Events.AddDeliveries(t.Context(), []event.Delivery{d}))
	return d
}

func testWebhook(t *testing.T, setup setup) {
	t.Run("WebhooksComeBackAsTheyWere", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		newWorkspace(t, s, "wsp_b")
		want := newWebhook(t, s, "whk_a", "wsp_a", event.APIKeyCreated, event.MemoryCreated)
		newWebhook(t, s, "whk_b", "wsp_b")
		got, err := s.Events.Webhook(t.Context(), "wsp_a", "whk_a")
		noError(t, err)
		equal(t, want, got)
		_, err = s.Events.Webhook(t.Context(), "wsp_a", "whk_b")
		wantProblem(t, err, problem.NotFound, problem.CodeNotFound)

		want.Types, want.DisabledAt, want.DisabledReason = nil, pointer(after(time.Hour)), event.DisabledByUser
		want.FailingSince, want.UpdatedAt, want.Revision = pointer(epoch), after(time.Hour), 2
		want.Failures, want.PausedUntil, want.Slow, want.EnabledAt = 3, pointer(after(time.Minute)), true, after(time.Second)
		noError(t, s.Events.UpdateWebhook(t.Context(), want))
		got, err = s.Events.Webhook(t.Context(), "wsp_a", "whk_a")
		noError(t, err)
		equal(t, want, got)
		wantProblem(t, s.Events.UpdateWebhook(t.Context(), want), problem.Mismatch, problem.CodeRevisionMismatch)

		wantProblem(t, s.Events.DeleteWebhook(t.Context(), "wsp_a", "whk_b"), problem.NotFound, problem.CodeNotFound)
		noError(t, s.Events.DeleteWebhook(t.Context(), "wsp_a", "whk_a"))
		_, err = s.Events.Webhook(t.Context(), "wsp_a", "whk_a")
		wantProblem(t, err, problem.NotFound, problem.CodeNotFound)
	})

	t.Run("WebhooksAreListedNewestFirstAndLimited", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		for i := range 10 {
			newWebhook(t, s, fmt.Sprint("whk_", i), "wsp_a")
		}
		extra := &event.Webhook{ID: "whk_x", WorkspaceID: "wsp_a", Sealed: []byte{}, CreatedAt: epoch, UpdatedAt: epoch, Revision: 1}
		wantProblem(t, s.Events.CreateWebhook(t.Context(), extra, 10), problem.Conflict, problem.CodeLimitReached)
		list, err := s.Events.ListWebhooks(t.Context(), "wsp_a", "whk_4", 3)
		noError(t, err)
		var ids []string
		for _, w := range list {
			ids = append(ids, w.ID)
		}
		equal(t, []string{"whk_3", "whk_2", "whk_1"}, ids)
	})

	t.Run("SubscribersAreEnabledWebhooks", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		newWorkspace(t, s, "wsp_b")
		newWebhook(t, s, "whk_a", "wsp_a", event.APIKeyCreated)
		newWebhook(t, s, "whk_b", "wsp_b")
		off := newWebhook(t, s, "whk_c", "wsp_a")
		off.DisabledAt, off.Revision = pointer(epoch), 2
		noError(t, s.Events.UpdateWebhook(t.Context(), off))
		a := event.Subscriber{WebhookID: "whk_a", WorkspaceID: "wsp_a", Types: event.SetOf(event.APIKeyCreated)}
		b := event.Subscriber{WebhookID: "whk_b", WorkspaceID: "wsp_b", Types: event.AllTypes}
		for workspace, want := range map[string][]event.Subscriber{"wsp_a": {a}, "": {a, b}} {
			got, err := s.Events.Subscribers(t.Context(), workspace)
			noError(t, err)
			equal(t, want, got)
		}
	})

	t.Run("AnInterestIsHeldAndSet", func(t *testing.T) {
		s := setup(t)
		for _, want := range []event.TypeSet{0, 5} {
			noError(t, s.Run(t.Context(), func(ctx context.Context) error {
				types, at, err := s.Events.HoldInterest(ctx, "wsp_a")
				if err != nil || types != want || want != 0 && !at.Equal(after(time.Hour)) {
					t.Errorf("got %v, %v, %v", types, at, err)
				}
				return s.Events.SetInterest(ctx, "wsp_a", 5, after(time.Hour))
			}))
		}
		all, err := s.Events.Interests(t.Context(), "")
		noError(t, err)
		equal(t, map[string]event.TypeSet{"wsp_a": 5}, all)
	})

	t.Run("ANameIsAddedOnce", func(t *testing.T) {
		s := setup(t)
		for i, want := range []bool{true, false} {
			first, err := s.Events.AddOnce(t.Context(), "n", epoch)
			if err != nil || first != want {
				t.Errorf("%d: got %v, %v", i, first, err)
			}
		}
		noError(t, s.Events.PruneOnce(t.Context(), after(time.Second)))
		if first, err := s.Events.AddOnce(t.Context(), "n", epoch); err != nil || !first {
			t.Errorf("after pruning: got %v, %v", first, err)
		}
	})

	t.Run("ADeliveryIsClaimedOnceUntilItsClaimEnds", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		newWebhook(t, s, "whk_a", "wsp_a")
		newWebhook(t, s, "whk_b", "wsp_a")
		newDelivery(t, s, "dlv_2", "whk_a", after(2*time.Second))
		newDelivery(t, s, "dlv_1", "whk_a", after(time.Second))
		newDelivery(t, s, "dlv_3", "whk_b", epoch)
		newDelivery(t, s, "dlv_4", "whk_gone", epoch)

		due, err := s.Events.DueWebhooks(t.Context(), after(time.Second), 10)
		noError(t, err)
		equal(t, []event.Due{{WebhookID: "whk_b", WorkspaceID: "wsp_a"}, {WebhookID: "whk_a", WorkspaceID: "wsp_a"}}, due)
		claim := func(by string, now time.Time) (ids []string) {
			t.Helper()
			w, list, err := s.Events.ClaimDeliveries(t.Context(), "whk_a", by, now, now.Add(time.Minute), 10)
			noError(t, err)
			if w == nil || w.ID != "whk_a" {
				t.Fatalf("claimed of %v", w)
			}
			for _, d := range list {
				ids = append(ids, d.ID)
			}
			return ids
		}
		equal(t, []string{"dlv_1"}, claim("one", after(time.Second)))
		equal(t, []string{"dlv_2"}, claim("two", after(3*time.Second)))
		equal(t, []string(nil), claim("three", after(4*time.Second)))
		equal(t, []string{"dlv_1"}, claim("four", after(time.Minute+time.Second)))
	})

	t.Run("OnlyTheHolderOfAClaimSavesADelivery", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		newWebhook(t, s, "whk_a", "wsp_a")
		d := newDelivery(t, s, "dlv_1", "whk_a", epoch)
		_, _, err := s.Events.ClaimDeliveries(t.Context(), "whk_a", "mine", epoch, after(time.Minute), 10)
		noError(t, err)
		d.State, d.DueAt, d.Tries, d.TriesSince, d.FinishedAt = event.Delivered, nil, 1, pointer(epoch), pointer(after(time.Second))
		d.Attempts = []event.Attempt{{At: epoch, Status: 204, Duration: time.Second}}
		for claim, want := range map[string]bool{"other": false, "mine": true} {
			saved, err := s.Events.SaveDelivery(t.Context(), &d, claim)
			if err != nil || saved != want {
				t.Errorf("%s: got %v, %v", claim, saved, err)
			}
		}
		got, err := s.Events.Delivery(t.Context(), "whk_a", "dlv_1")
		noError(t, err)
		equal(t, &d, got)
		_, err = s.Events.Delivery(t.Context(), "whk_b", "dlv_1")
		wantProblem(t, err, problem.NotFound, problem.CodeNotFound)
	})

	t.Run("ADisabledWebhookIsNotDue", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		w := newWebhook(t, s, "whk_a", "wsp_a")
		newDelivery(t, s, "dlv_1", "whk_a", epoch)
		w.FailingSince, w.DisabledAt, w.DisabledReason = pointer(epoch), pointer(after(time.Hour)), event.DisabledFailing
		w.Failures, w.PausedUntil, w.Slow = 4, pointer(after(time.Minute)), true
		noError(t, s.Events.SaveHealth(t.Context(), w))
		due, err := s.Events.DueWebhooks(t.Context(), after(time.Hour), 10)
		if err != nil || len(due) != 0 {
			t.Errorf("got %v, %v", due, err)
		}
		claimed, _, err := s.Events.ClaimDeliveries(t.Context(), "whk_a", "c", epoch, after(time.Minute), 10)
		if err != nil || claimed != nil {
			t.Errorf("got %v, %v", claimed, err)
		}
		got, err := s.Events.HoldWebhook(t.Context(), "whk_a")
		noError(t, err)
		w.UpdatedAt, w.Revision = after(time.Hour), 2
		equal(t, w, got)
	})

	t.Run("DueWebhooksComeInTurnAndThePausedDoNot", func(t *testing.T) {
		s := setup(t)
		add := func(workspaceID, id string, due time.Duration, health event.Webhook) {
			w := newWebhook(t, s, id, workspaceID)
			w.Failures, w.Slow, w.PausedUntil = health.Failures, health.Slow, health.PausedUntil
			noError(t, s.Events.SaveHealth(t.Context(), w))
			newDelivery(t, s, "dlv_"+id, id, after(due))
		}
		for _, id := range []string{"wsp_a", "wsp_b"} {
			newWorkspace(t, s, id)
		}
		for i := range 3 {
			add("wsp_a", fmt.Sprint("whk_a", i), time.Duration(i)*time.Second, event.Webhook{})
			add("wsp_a", fmt.Sprint("whk_failing", i), 0, event.Webhook{Failures: 2})
			add("wsp_a", fmt.Sprint("whk_paused", i), 0, event.Webhook{Failures: 3, PausedUntil: pointer(after(time.Hour))})
		}
		add("wsp_b", "whk_b0", 4*time.Second, event.Webhook{})
		add("wsp_b", "whk_slow", 5*time.Second, event.Webhook{Slow: true})
		add("wsp_b", "whk_later", time.Hour, event.Webhook{})
		ids := func(now time.Time, limit int) (list []string) {
			t.Helper()
			due, err := s.Events.DueWebhooks(t.Context(), now, limit)
			noError(t, err)
			for _, d := range due {
				list = append(list, d.WebhookID)
				if wanted := strings.HasPrefix(d.WebhookID, "whk_failing") || strings.HasPrefix(d.WebhookID, "whk_paused"); d.Failing != wanted {
					t.Errorf("%s is failing: %v", d.WebhookID, d.Failing)
				}
				if wanted := d.WebhookID == "whk_slow"; d.Slow != wanted {
					t.Errorf("%s is slow: %v", d.WebhookID, d.Slow)
				}
			}
			return list
		}
		equal(t, []string{"whk_a0", "whk_failing0", "whk_b0", "whk_slow"}, ids(after(time.Minute), 2))
		equal(t, []string{"whk_a0", "whk_failing0", "whk_b0", "whk_slow", "whk_failing1", "whk_a1"}, ids(after(time.Minute), 3))
		if got := ids(after(time.Hour), 100); len(got) != 12 {
			t.Errorf("after the pause: %v", got)
		}
	})

	t.Run("APayloadIsStoredOnceAndCounted", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		var list []event.Delivery
		for _, id := range []string{"whk_a", "whk_b"} {
			newWebhook(t, s, id, "wsp_a")
			list = append(list, event.Delivery{
				ID: "dlv_" + id, WebhookID: id, WorkspaceID: "wsp_a", EventID: "evt_1", Type: event.APIKeyCreated, Payload: strings.Repeat("ü", 1000),
				State: event.Pending, CreatedAt: epoch, PendingSince: epoch, DueAt: pointer(epoch), Attempts: []event.Attempt{},
			})
		}
		size := func(d *event.Delivery) int64 {
			return int64(len(d.ID) + len(d.WebhookID) + len(d.EventID) + len(d.Type) + len("[]"))
		}
		noError(t, s.Events.AddDeliveries(t.Context(), list))
		all := 2000 + size(&list[0]) + size(&list[1])
		wantStored(t, s, "wsp_a", all)
		got, err := s.Events.Delivery(t.Context(), "whk_b", "dlv_whk_b")
		noError(t, err)
		equal(t, &list[1], got)

		tried := list[0]
		tried.Attempts, tried.State, tried.DueAt = []event.Attempt{{At: epoch, Status: 204}}, event.Delivered, nil
		if saved, err := s.Events.SaveDelivery(t.Context(), &tried, ""); err != nil || !saved {
			t.Fatalf("got %v, %v", saved, err)
		}
		if grown := stored(t, s, "wsp_a") - all; grown < 20 || grown > 200 {
			t.Errorf("an attempt takes %d bytes", grown)
		}
		for i, want := range []int64{2000 + size(&list[1]), 0} {
			if n, err := s.Events.RemoveDeliveries(t.Context(), list[i].WebhookID, 9); err != nil || n != 1 {
				t.Fatalf("removed %d, %v", n, err)
			}
			wantStored(t, s, "wsp_a", want)
		}
	})

	t.Run("AnEventGrowsUntilItIsOnItsWay", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		for _, id := range []string{"whk_a", "whk_b"} {
			newWebhook(t, s, id, "wsp_a")
			noError(t, s.Events.AddDeliveries(t.Context(), []event.Delivery{{
				ID: "dlv_" + id, WebhookID: id, WorkspaceID: "wsp_a", EventID: "evt_" + id, Type: event.MemoryImported, Payload: "1",
				State: event.Pending, CreatedAt: epoch, PendingSince: epoch, DueAt: pointer(after(time.Minute)), Claim: "import",
			}}))
		}
		extend := func(id, payload string, due time.Time) bool {
			t.Helper()
			kept, err := s.Events.ExtendEvent(t.Context(), event.Extension{
				WorkspaceID: "wsp_a", EventID: "evt_" + id, Payload: payload, Deliveries: 1, Claim: "import", NextClaim: "import", DueAt: due, Now: epoch,
			})
			noError(t, err)
			return kept
		}
		claimed := func(id string, now time.Time) (payloads []string) {
			t.Helper()
			_, list, err := s.Events.ClaimDeliveries(t.Context(), id, "mine", now, now.Add(time.Hour), 9)
			noError(t, err)
			for _, d := range list {
				payloads = append(payloads, d.Payload)
			}
			return payloads
		}
		if !extend("whk_a", "12", after(2*time.Minute)) || !extend("whk_b", "12", after(2*time.Minute)) {
			t.Error("an event that waits did not grow")
		}
		equal(t, []string(nil), claimed("whk_a", after(time.Minute)))
		equal(t, []string{"12"}, claimed("whk_a", after(2*time.Minute)))
		if extend("whk_a", "123", after(4*time.Minute)) {
			t.Error("an event on its way has grown")
		}
		got, err := s.Events.Delivery(t.Context(), "whk_a", "dlv_whk_a")
		if err != nil || got.Payload != "12" || got.Claim != "mine" {
			t.Errorf("got %+v, %v", got, err)
		}
		noError(t, s.Events.ReleaseEvent(t.Context(), "wsp_a", "evt_whk_b", "import", epoch))
		equal(t, []string{"12"}, claimed("whk_b", epoch))
	})

	t.Run("AnOverloadedWebhookIsFound", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		for _, id := range []string{"whk_a", "whk_b"} {
			newWebhook(t, s, id, "wsp_a")
			for i := range 3 {
				newDelivery(t, s, fmt.Sprint("dlv_", id, i), id, after(time.Hour))
			}
		}
		d, err := s.Events.Delivery(t.Context(), "whk_b", "dlv_whk_b0")
		noError(t, err)
		d.State, d.DueAt = event.Delivered, nil
		if _, err := s.Events.SaveDelivery(t.Context(), d, ""); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			most, late int
			since      time.Time
			want       []string
		}{
			{2, 2, epoch, []string{"whk_a"}},
			{3, 2, epoch, nil},
			{3, 2, after(time.Second), []string{"whk_a"}},
			{3, 1, after(time.Second), []string{"whk_a", "whk_b"}},
			{3, 3, after(time.Second), nil},
		} {
			got, err := s.Events.OverloadedWebhooks(t.Context(), test.most, test.late, test.since)
			noError(t, err)
			equal(t, test.want, got)
		}
		w, err := s.Events.Webhook(t.Context(), "wsp_a", "whk_a")
		noError(t, err)
		w.EnabledAt, w.Revision = after(time.Minute), 2 // it has time again
		noError(t, s.Events.UpdateWebhook(t.Context(), w))
		got, err := s.Events.OverloadedWebhooks(t.Context(), 3, 1, after(time.Second))
		noError(t, err)
		equal(t, []string{"whk_b"}, got)
	})

	t.Run("TheBacklogIsWhatEnabledWebhooksWaitFor", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		backlog := func(max int) event.Backlog {
			t.Helper()
			b, err := s.Events.Backlog(t.Context(), max)
			noError(t, err)
			return b
		}
		equal(t, event.Backlog{}, backlog(10))
		w := newWebhook(t, s, "whk_a", "wsp_a", event.APIKeyCreated)
		newWebhook(t, s, "whk_b", "wsp_a", event.APIKeyCreated)
		newDelivery(t, s, "dlv_1", "whk_a", after(time.Minute))
		newDelivery(t, s, "dlv_2", "whk_a", after(time.Hour))
		d := newDelivery(t, s, "dlv_3", "whk_b", after(2*time.Minute))
		equal(t, event.Backlog{Pending: 3, OldestAt: after(time.Minute)}, backlog(10))
		equal(t, event.Backlog{Pending: 2, OldestAt: after(time.Minute)}, backlog(2))
		w.DisabledAt, w.DisabledReason, w.Revision = pointer(epoch), event.DisabledByUser, 2
		noError(t, s.Events.UpdateWebhook(t.Context(), w))
		equal(t, event.Backlog{Pending: 1, OldestAt: after(2 * time.Minute)}, backlog(10))
		d.State, d.DueAt = event.Delivered, nil
		if _, err := s.Events.SaveDelivery(t.Context(), &d, ""); err != nil {
			t.Fatal(err)
		}
		equal(t, event.Backlog{}, backlog(10))
	})
	t.Run("DeliveriesAreFilteredAndPruned", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		newWebhook(t, s, "whk_a", "wsp_a")
		for i := range 5 {
			newDelivery(t, s, fmt.Sprint("dlv_", i), "whk_a", epoch)
		}
		newDelivery(t, s, "dlv_x", "whk_gone", epoch)
		ids := func(f event.DeliveryFilter) (ids []string) {
			t.Helper()
			list, err := s.Events.ListDeliveries(t.Context(), "whk_a", f)
			noError(t, err)
			for _, d := range list {
				ids = append(ids, d.ID)
			}
			return ids
		}
		equal(t, []string{"dlv_2", "dlv_1"}, ids(event.DeliveryFilter{Before: "dlv_3", Limit: 2}))
		equal(t, []string{"dlv_1"}, ids(event.DeliveryFilter{EventID: "evt_dlv_1", State: event.Pending, Type: event.APIKeyCreated, Limit: 9}))
		equal(t, []string(nil), ids(event.DeliveryFilter{State: event.Failed, Limit: 9}))
		n, err := s.Events.PruneDeliveries(t.Context(), epoch, 9)
		if err != nil || n != 1 {
			t.Errorf("pruned %d, %v; want that of a removed webhook", n, err)
		}
		n, err = s.Events.PruneDeliveries(t.Context(), after(time.Second), 3)
		if err != nil || n != 3 {
			t.Errorf("pruned %d, %v; want as many as the limit", n, err)
		}
		n, err = s.Events.PruneDeliveries(t.Context(), after(time.Second), 9)
		if left := ids(event.DeliveryFilter{Limit: 9}); err != nil || len(left) != 0 {
			t.Errorf("pruned %d, %v; left %v", n, err, left)
		}
	})
}

func equal[T any](t *testing.T, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
