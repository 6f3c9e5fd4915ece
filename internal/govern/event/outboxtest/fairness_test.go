package outboxtest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/govern/account"
	"keepsake/internal/govern/event"
	"keepsake/internal/testing/await"
)

// town is a sender to many receivers: those that a test makes slow answer when it lets them, those that are dead fail, and others
// accept what they get at once.
type town struct {
	mu      sync.Mutex
	order   []string // hosts, as requests began
	waiting []chan struct{}
	slow    func(host string) bool
	dead    func(host string) bool
}

func (c *town) Send(ctx context.Context, r *event.Request) event.Result {
	host := strings.TrimPrefix(r.URL, "https://")
	c.mu.Lock()
	c.order = append(c.order, host)
	var answer chan struct{}
	if c.slow != nil && c.slow(host) {
		answer = make(chan struct{})
		c.waiting = append(c.waiting, answer)
	}
	c.mu.Unlock()
	switch {
	case answer != nil:
		select {
		case <-answer:
			return event.Result{Status: 200, Duration: 14 * time.Second}
		case <-ctx.Done():
			return event.Result{Error: event.ErrTimeout}
		}
	case c.dead != nil && c.dead(host):
		return event.Result{Error: event.ErrConnection}
	}
	return event.Result{Status: 200}
}

// sent lists the hosts of requests that began since the last call, and how many of them wait for their answer.
func (c *town) sent() (order []string, waiting int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	order, c.order = c.order, nil
	return order, len(c.waiting)
}

// answer lets all slow receivers answer.
func (c *town) answer() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.waiting {
		close(a)
	}
	c.waiting = nil
}

// settle makes rounds until nothing more begins. What begins then waits for its answer.
func settle(t *testing.T, d *desk, one *event.Deliverer, waiting func() int) {
	t.Helper()
	for before := int64(-1); ; {
		noError(t, one.Round(t.Context(), t.Context()))
		await.Until(t, "only slow requests run", func() bool { return one.Stats().Running == int64(waiting()) })
		s := one.Stats()
		if now := s.Delivered + s.Failed + int64(waiting()); now == before {
			return
		} else {
			before = now
		}
	}
}

func (d *desk) workspace(t *testing.T, id string, hosts ...string) {
	t.Helper()
	noError(t, d.store.Accounts.CreateWorkspace(t.Context(), &account.Workspace{ID: id, Name: id, Tier: "free", CreatedAt: noon, Revision: 1}))
	for _, host := range hosts {
		_, err := d.Create(t.Context(), of(id), event.Draft{URL: "https://" + host, Types: []event.Type{event.APIKeyCreated}})
		noError(t, err)
	}
}

func hosts(name string, n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprint(name, i))
	}
	return list
}

// Ten receivers of one workspace never answer. Between any two of its events, those of another workspace arrive.
func TestSlowReceiversDelayNobodyElse(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	d.workspace(t, "wsp_slow", hosts("slow", 10)...)
	d.workspace(t, "wsp_quick", "quick")
	c := &town{slow: func(host string) bool { return strings.HasPrefix(host, "slow") }}
	one := d.deliverer(c)
	waiting := func() int { c.mu.Lock(); defer c.mu.Unlock(); return len(c.waiting) }
	for i := range 20 {
		for range 10 {
			noError(t, d.Record(t.Context(), created("wsp_slow")))
		}
		noError(t, d.Record(t.Context(), created("wsp_quick")))
		settle(t, d, one, waiting)
		order, running := c.sent()
		quick := 0
		for _, host := range order {
			if host == "quick" {
				quick++
			}
		}
		if quick != 1 || running > 16 {
			t.Fatalf("round %d: %d of the other workspace, %d requests wait", i, quick, running)
		}
		d.pass(time.Second)
	}
	c.answer()
	one.Wait()
	// Their answers have shown that they are slow, so they get fewer senders.
	settle(t, d, one, waiting)
	if n := waiting(); n != 4 {
		t.Errorf("%d requests to slow receivers of one workspace", n)
	}
	c.answer()
	one.Wait()
}

// Seventy receivers of seven workspaces refuse connections, and events for them go on.
func TestDeadReceiversDelayNobodyElse(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	for i := range 7 {
		d.workspace(t, fmt.Sprint("wsp_dead", i), hosts(fmt.Sprint("dead", i, "."), 10)...)
	}
	d.workspace(t, "wsp_quick", "quick")
	c := &town{dead: func(host string) bool { return host != "quick" }}
	one := d.deliverer(c)
	var got []int
	for range 6 {
		for range 2 {
			for i := range 7 {
				noError(t, d.Record(t.Context(), created(fmt.Sprint("wsp_dead", i))))
			}
		}
		noError(t, d.Record(t.Context(), created("wsp_quick")))
		settle(t, d, one, func() int { return 0 })
		order, _ := c.sent()
		quick := 0
		for _, host := range order {
			if host == "quick" {
				quick++
			}
		}
		got = append(got, quick)
		due, err := d.store.Events.DueWebhooks(t.Context(), d.now(), 100)
		noError(t, err)
		if len(due) != 0 {
			t.Errorf("%d webhooks are in the query that are paused", len(due))
		}
		d.pass(time.Second)
	}
	if diff := cmp.Diff([]int{1, 1, 1, 1, 1, 1}, got); diff != "" {
		t.Errorf("deliveries of the other workspace after each event (-want +got):\n%s", diff)
	}
}

func TestAnOverloadedWebhookIsDisabled(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	w := d.create(t, hook)
	other := d.create(t, event.Draft{URL: "https://example.org", Types: []event.Type{event.WebhookDisabled}})
	noError(t, d.store.Run(t.Context(), func(ctx context.Context) error {
		for range event.MaxLatePending + 1 {
			if err := d.Record(ctx, created("wsp_a")); err != nil {
				return err
			}
		}
		return nil
	}))
	one := d.deliverer(nil)
	d.pass(event.MaxLate)
	noError(t, one.Relieve(t.Context()))
	read, err := d.Webhook(t.Context(), of("wsp_a"), w.ID)
	noError(t, err)
	if read.DisabledAt != nil {
		t.Fatal("it is disabled although nothing waits for longer than an hour")
	}
	d.pass(time.Second)
	for range 2 {
		noError(t, one.Relieve(t.Context()))
	}
	read, err = d.Webhook(t.Context(), of("wsp_a"), w.ID)
	noError(t, err)
	if read.DisabledAt == nil || read.DisabledReason != event.DisabledOverloaded || read.Revision != 2 {
		t.Fatalf("got %+v", read.Webhook)
	}
	list := d.deliveries(t, other.ID)
	if len(list) != 1 || !strings.Contains(list[0].Payload, `"data":{"reason":"overloaded","webhookId":"`+w.ID+`"}`) {
		t.Errorf("the other webhook got %+v", list)
	}

	on := false // it has as much time as at first
	_, err = d.Change(t.Context(), of("wsp_a"), w.ID, nil, event.Change{Disabled: &on})
	noError(t, err)
	noError(t, one.Relieve(t.Context()))
	if read, err = d.Webhook(t.Context(), of("wsp_a"), w.ID); err != nil || read.DisabledAt != nil {
		t.Errorf("after it was enabled: %+v, %v", read.Webhook, err)
	}
}

// Every way in which a webhook is disabled is reported to the others of its workspace, and not to itself.
func TestDisablingIsReported(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	w := d.create(t, event.Draft{URL: "https://gone"})
	other := d.create(t, event.Draft{URL: "https://example.org", Types: []event.Type{event.WebhookDisabled}})
	one := d.deliverer(senderFunc(func(_ context.Context, r *event.Request) event.Result {
		if r.URL == "https://gone" {
			return event.Result{Status: 410, Error: event.ErrStatus}
		}
		return event.Result{Status: 200}
	}))
	reasons := func() (list []string) {
		for _, delivery := range d.deliveries(t, other.ID) {
			_, rest, _ := strings.Cut(delivery.Payload, `"reason":"`)
			reason, _, _ := strings.Cut(rest, `"`)
			list = append(list, reason)
		}
		return list
	}
	noError(t, d.Record(t.Context(), created("wsp_a")))
	noError(t, round(t.Context(), one))
	if diff := cmp.Diff([]string{"gone"}, reasons()); diff != "" {
		t.Error(diff)
	}
	for _, off := range []bool{false, true, true} {
		_, err := d.Change(t.Context(), of("wsp_a"), w.ID, nil, event.Change{Disabled: &off})
		noError(t, err)
		d.pass(time.Second)
	}
	if diff := cmp.Diff([]string{"requested", "gone"}, reasons()); diff != "" {
		t.Error(diff)
	}
	for _, delivery := range d.deliveries(t, w.ID) {
		if delivery.Type == event.WebhookDisabled {
			t.Error("the webhook itself got the event")
		}
	}
}
