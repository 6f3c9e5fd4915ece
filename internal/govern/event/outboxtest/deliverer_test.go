package outboxtest

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/event"
	"keepsake/internal/govern/event/sender"
)

// receiver is an HTTP server on a free port that keeps what it receives.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	status   int
	requests []*http.Request
	bodies   []string
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{status: http.StatusNoContent}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.requests, r.bodies = append(r.requests, request), append(r.bodies, string(body))
		w.WriteHeader(r.status)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) answer(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// take returns what was received since the last call.
func (r *receiver) take() (requests []*http.Request, bodies []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	requests, bodies, r.requests, r.bodies = r.requests, r.bodies, nil, nil
	return requests, bodies
}

func (d *desk) deliverer(send event.Sender) *event.Deliverer {
	if send == nil {
		send = sender.New(sender.Options{AllowPrivate: true, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	}
	return event.NewDeliverer(event.DelivererOptions{
		Store: d.store.Events, Units: d.store, Interests: d.interests, Audit: &d.log, Events: d.Outbox, Sealer: d.sealer, Sender: send, LogDays: 30,
		Jitter: func() float64 { return 0 }, Now: d.now, Log: slog.New(slog.DiscardHandler),
	})
}

// round sends what is due, and waits until it has been sent.
func round(ctx context.Context, one *event.Deliverer) error {
	err := one.Round(ctx, ctx)
	one.Wait()
	return err
}

// claimFor is how long the claim of a process that died lasts.
const claimFor = 2 * time.Minute

func verifies(t *testing.T, secret string, r *http.Request, body string) bool {
	t.Helper()
	w, err := standardwebhooks.NewWebhook(secret)
	noError(t, err)
	return w.VerifyIgnoringTimestamp([]byte(body), r.Header) == nil
}

func TestDeliveryIsSignedWithEveryLiveSecret(t *testing.T) {
	t.Parallel()
	d, r := newDesk(t, false), newReceiver(t)
	w := d.create(t, event.Draft{URL: r.URL + "/hook"})
	one := d.deliverer(nil)
	send := func() (*http.Request, string) {
		t.Helper()
		noError(t, d.Record(t.Context(), created("wsp_a")))
		noError(t, round(t.Context(), one))
		requests, bodies := r.take()
		if len(requests) != 1 {
			t.Fatalf("%d requests", len(requests))
		}
		return requests[0], bodies[0]
	}
	request, body := send()
	list := d.deliveries(t, w.ID)
	if request.Header.Get("Webhook-Id") != list[0].EventID || body != list[0].Payload || request.Header.Get("Webhook-Timestamp") != "1795262400" ||
		request.Header.Get("Content-Type") != "application/json" || request.URL.Path != "/hook" {
		t.Errorf("got %v %s", request.Header, body)
	}
	if !verifies(t, w.Secret, request, body) || verifies(t, w.Secret, request, body+" ") {
		t.Error("the signature is not that of the body")
	}
	if list[0].State != event.Delivered || len(list[0].Attempts) != 1 || list[0].Attempts[0].Status != 204 || list[0].DueAt != nil {
		t.Errorf("got %+v", list[0])
	}

	next, err := d.Rotate(t.Context(), of("wsp_a"), w.ID, nil, event.Rotation{Grace: time.Hour})
	noError(t, err)
	for over, want := range []bool{true, false} {
		d.pass(time.Duration(over) * time.Hour)
		request, body := send()
		if !verifies(t, next.Secret, request, body) || verifies(t, w.Secret, request, body) != want {
			t.Errorf("after the grace %v: the wrong secrets have signed", over == 1)
		}
	}
}

func TestFailedDeliveryIsRepeatedWhenItIsDue(t *testing.T) {
	t.Parallel()
	d, r := newDesk(t, false), newReceiver(t)
	w := d.create(t, event.Draft{URL: r.URL})
	one := d.deliverer(nil)
	noError(t, d.Record(t.Context(), created("wsp_a")))
	r.answer(http.StatusInternalServerError)
	var got []int
	for _, wait := range []time.Duration{0, 4 * time.Second, time.Second, time.Minute, 4 * time.Minute} {
		d.pass(wait)
		if wait == 4*time.Minute {
			r.answer(http.StatusOK)
		}
		noError(t, round(t.Context(), one))
		requests, _ := r.take()
		got = append(got, len(requests))
	}
	if diff := cmp.Diff([]int{1, 0, 1, 0, 1}, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	delivery := d.deliveries(t, w.ID)[0]
	var statuses []int
	for _, a := range delivery.Attempts {
		statuses = append(statuses, a.Status)
	}
	if diff := cmp.Diff([]int{500, 500, 200}, statuses); diff != "" || delivery.State != event.Delivered {
		t.Errorf("%s: %s", delivery.State, diff)
	}
	read, err := d.Webhook(t.Context(), of("wsp_a"), w.ID)
	noError(t, err)
	if read.FailingSince != nil || read.LastSuccessAt == nil {
		t.Errorf("got %+v", read.Webhook)
	}
}

func TestProcessesShareDeliveries(t *testing.T) {
	t.Parallel()
	d, r := newDesk(t, false), newReceiver(t)
	for range 3 {
		d.create(t, event.Draft{URL: r.URL, Types: []event.Type{event.APIKeyCreated}})
	}
	const events = 20
	noError(t, d.store.Run(t.Context(), func(ctx context.Context) error {
		for range events {
			if err := d.Record(ctx, created("wsp_a")); err != nil {
				return err
			}
		}
		return nil
	}))
	var all sync.WaitGroup
	for range 4 {
		one := d.deliverer(nil)
		all.Go(func() {
			for range events {
				if err := round(t.Context(), one); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	requests, _ := r.take()
	seen := map[string]int{}
	for _, request := range requests {
		seen[request.Header.Get("Webhook-Id")]++
	}
	if len(requests) != 3*events || len(seen) != events {
		t.Errorf("%d requests of %d events, want each once for each webhook", len(requests), len(seen))
	}
}

func TestDeliveryOfADeadProcessIsTakenOver(t *testing.T) {
	t.Parallel()
	d, r := newDesk(t, false), newReceiver(t)
	w := d.create(t, event.Draft{URL: r.URL})
	noError(t, d.Record(t.Context(), created("wsp_a")))
	_, list, err := d.store.Events.ClaimDeliveries(t.Context(), w.ID, "dead", noon, noon.Add(claimFor), 10)
	if err != nil || len(list) != 1 {
		t.Fatalf("claimed %d, %v", len(list), err)
	}
	one := d.deliverer(nil)
	var got []int
	for range 2 {
		noError(t, round(t.Context(), one))
		requests, _ := r.take()
		got = append(got, len(requests))
		if _, err := d.Replay(t.Context(), of("wsp_a"), w.ID, list[0].ID); len(requests) == 0 && codeOf(err) != problem.CodeConflict {
			t.Errorf("a replay while it is claimed: got %v", err)
		}
		d.pass(claimFor)
	}
	if diff := cmp.Diff([]int{0, 1}, got); diff != "" {
		t.Error(diff)
	}
	late := list[0] // what the process wanted to store
	if saved, err := d.store.Events.SaveDelivery(t.Context(), &late, "dead"); err != nil || saved {
		t.Errorf("the dead process stored its result: %v, %v", saved, err)
	}
}

// senderFunc is a Sender for tests.
type senderFunc func(ctx context.Context, r *event.Request) event.Result

func (f senderFunc) Send(ctx context.Context, r *event.Request) event.Result { return f(ctx, r) }

func TestStopGivesBackWhatIsBeingSent(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	w := d.create(t, hook)
	started := make(chan struct{})
	one := d.deliverer(senderFunc(func(ctx context.Context, _ *event.Request) event.Result {
		close(started)
		<-ctx.Done()
		return event.Result{Error: event.ErrTimeout}
	}))
	noError(t, d.Record(t.Context(), created("wsp_a")))
	sending, stop := context.WithCancel(t.Context())
	noError(t, one.Round(t.Context(), sending))
	<-started
	stop()
	one.Wait()
	got := d.deliveries(t, w.ID)[0]
	if got.State != event.Pending || got.Tries != 0 || got.Claim != "" || !got.DueAt.Equal(noon) {
		t.Errorf("got %+v", got)
	}
}

func TestLastingFailureDisablesTheWebhook(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	w := d.create(t, hook)
	result := event.Result{Status: 500, Error: event.ErrStatus}
	one := d.deliverer(senderFunc(func(context.Context, *event.Request) event.Result { return result }))
	noError(t, d.Record(t.Context(), created("wsp_a")))
	tries := 0
	var delivery event.Delivery
	for {
		noError(t, round(t.Context(), one))
		tries++
		if delivery = d.deliveries(t, w.ID)[0]; delivery.DueAt == nil {
			break
		}
		d.pass(delivery.DueAt.Sub(d.now()))
	}
	read, err := d.Webhook(t.Context(), of("wsp_a"), w.ID)
	noError(t, err)
	if tries != event.MaxTries || delivery.State != event.Failed || read.DisabledReason != event.DisabledFailing || read.Revision != 2 {
		t.Fatalf("after %d attempts: %+v, %+v", tries, delivery, read.Webhook)
	}
	entries := d.log.Entries()
	if last := entries[len(entries)-1]; last.Action != "webhook.disabled" || last.Details["reason"] != "failing" || last.Target != w.ID {
		t.Errorf("logged %+v", last)
	}
	if _, err := d.Replay(t.Context(), of("wsp_a"), w.ID, delivery.ID); codeOf(err) != problem.CodeConflict {
		t.Errorf("a replay to a disabled webhook: got %v", err)
	}

	result = event.Result{Status: 200}
	on := false
	_, err = d.Change(t.Context(), of("wsp_a"), w.ID, nil, event.Change{Disabled: &on})
	noError(t, err)
	_, err = d.Replay(t.Context(), of("wsp_a"), w.ID, delivery.ID)
	noError(t, err)
	d.pass(time.Minute) // longer than the pause of a receiver that failed
	noError(t, round(t.Context(), one))
	got := d.deliveries(t, w.ID)[0]
	if got.State != event.Delivered || got.EventID != delivery.EventID || len(got.Attempts) != event.MaxTries+1 {
		t.Errorf("after a replay: %+v", got)
	}
}

func TestOldDeliveriesAndInterestsAreRemoved(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	w := d.create(t, hook)
	one := d.deliverer(nil)
	noError(t, d.Record(t.Context(), created("wsp_a")))
	d.pass(30*24*time.Hour - time.Second)
	noError(t, one.Prune(t.Context()))
	if n := len(d.deliveries(t, w.ID)); n != 1 || !d.interests.Any() {
		t.Fatalf("%d deliveries before the end of their time", n)
	}
	noError(t, d.Delete(t.Context(), of("wsp_a"), w.ID, nil))
	d.pass(2 * time.Second)
	noError(t, one.Prune(t.Context()))
	if n := len(d.deliveries(t, w.ID)); n != 0 || d.interests.Any() {
		t.Errorf("%d deliveries; webhooks are expected: %v", n, d.interests.Any())
	}
}
