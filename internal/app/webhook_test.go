package app_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/testtier"
)

// deliveries are what a receiver on a free port has got, by event.
type deliveries struct {
	*httptest.Server
	mu     sync.Mutex
	bodies map[string][]string
	wrong  int // signatures
}

func receive(t *testing.T, secret func() string) *deliveries {
	t.Helper()
	d := &deliveries{bodies: map[string][]string{}}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		d.mu.Lock()
		defer d.mu.Unlock()
		_, kind, _ := strings.Cut(string(body), `"type":"`)
		kind, _, _ = strings.Cut(kind, `"`)
		d.bodies[kind] = append(d.bodies[kind], string(body))
		if v, err := standardwebhooks.NewWebhook(secret()); err != nil || v.Verify(body, r.Header) != nil {
			d.wrong++
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(d.Close)
	return d
}

// count returns how many deliveries of an event arrived that contain a text.
func (d *deliveries) count(kind, text string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, body := range d.bodies[kind] {
		if strings.Contains(body, text) {
			n++
		}
	}
	return n
}

func allowPrivate(c *config.Config) { c.Webhooks.AllowPrivate = true }

func TestEventsReachAWebhook(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t, apptest.With(allowPrivate))
	c, err := client.New(p.URL, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	var secret string
	got := receive(t, func() string { return secret })
	w, err := c.CreateWebhook(t.Context(), client.NewWebhook{URL: got.URL})
	if err != nil {
		t.Fatal(err)
	}
	secret = w.Secret

	daily := int64(2)
	k, err := c.CreateAPIKey(t.Context(), client.NewAPIKey{Name: "canary", Scopes: []string{"read"}, Quota: &client.Quota{Daily: &daily}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.CreateMemory(t.Context(), client.NewMemory{SubjectID: "canary-person", Text: "canary text"})
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := c.EraseSubject(t.Context(), "canary-person")
	if err != nil {
		t.Fatal(err)
	}
	other, err := client.New(p.URL, k.Key)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := other.Search(t.Context(), client.Query{Q: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	await.Until(t, "all thresholds have arrived", func() bool { return got.count("quota.threshold_reached", k.ID) == 4 })
	if _, err := c.RevokeAPIKey(t.Context(), k.ID, "canary reason"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := other.Search(t.Context(), client.Query{Q: "x"}); err == nil {
			t.Fatal("a revoked key was accepted")
		}
	}
	for kind, id := range map[string]string{
		"api_key.created": k.ID, "memory.created": m.ID, "subject.erased": receipt.ReceiptID, "api_key.revoked": k.ID, "api_key.revoked_key_used": k.ID,
	} {
		await.Until(t, kind+" has arrived", func() bool { return got.count(kind, id) > 0 })
		if n := got.count(kind, id); n != 1 {
			t.Errorf("%s arrived %d times", kind, n)
		}
		if got.count(kind, "canary") > 0 {
			t.Errorf("%s contains a text of the client", kind)
		}
	}
	if got.wrong > 0 {
		t.Errorf("%d signatures are wrong", got.wrong)
	}
}

func TestEventOfAnotherMemberReachesANewWebhook(t *testing.T) {
	t.Parallel()
	two := twoMembersWith(t, apptest.With(allowPrivate))
	var secret string
	got := receive(t, func() string { return secret })
	var members [2]*client.Client
	for i, m := range two {
		c, err := client.New(m.URL, m.Key)
		if err != nil {
			t.Fatal(err)
		}
		members[i] = c
	}
	w, err := members[0].CreateWebhook(t.Context(), client.NewWebhook{URL: got.URL, Events: []string{"memory.created"}})
	if err != nil {
		t.Fatal(err)
	}
	secret = w.Secret
	const each = 20
	var ids []string
	for range each {
		for _, c := range members {
			m, err := c.CreateMemory(t.Context(), client.NewMemory{SubjectID: "person", Text: "text", AllowDuplicate: true})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, m.ID)
		}
	}
	await.Until(t, "all events have arrived", func() bool { return got.count("memory.created", "mem_") >= 2*each })
	for _, id := range ids {
		if n := got.count("memory.created", id); n != 1 {
			t.Errorf("the event about %s arrived %d times", id, n)
		}
	}
}

// What only time causes happens here while no process runs, so the next start reports it.
func TestExpiriesReachAWebhook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	apptest.DatabaseURL(t, dir)
	clock := apptest.NewClock(time.Now().Add(-2 * time.Hour)) // receivers compare the second start with their own clock
	serve := func(name string, test func(t *testing.T, p *apptest.Running)) {
		t.Run(name, func(t *testing.T) {
			test(t, apptest.Start(t, apptest.Clock(clock.Now), apptest.With(allowPrivate), apptest.With(func(c *config.Config) { c.Data = dir })))
		})
	}
	var secret, keyID, memoryID string
	got := receive(t, func() string { return secret })
	serve("before", func(t *testing.T, p *apptest.Running) {
		c, err := client.New(p.URL, p.Key)
		if err != nil {
			t.Fatal(err)
		}
		w, err := c.CreateWebhook(t.Context(), client.NewWebhook{URL: got.URL, Events: []string{"api_key.expired", "memory.expired"}})
		if err != nil {
			t.Fatal(err)
		}
		end := clock.Now().Add(time.Hour)
		k, err := c.CreateAPIKey(t.Context(), client.NewAPIKey{Name: "canary", Scopes: []string{"read"}, ExpiresAt: &end})
		if err != nil {
			t.Fatal(err)
		}
		m, err := c.CreateMemory(t.Context(), client.NewMemory{SubjectID: "canary-person", Text: "canary text", ExpiresAt: &end})
		if err != nil {
			t.Fatal(err)
		}
		secret, keyID, memoryID = w.Secret, k.ID, m.ID
	})
	if n := got.count("api_key.expired", "") + got.count("memory.expired", ""); n != 0 {
		t.Errorf("%d events arrived before the expiry", n)
	}
	clock.Advance(2 * time.Hour)
	serve("after", func(t *testing.T, _ *apptest.Running) {
		for kind, id := range map[string]string{"api_key.expired": keyID, "memory.expired": memoryID} {
			await.Until(t, kind+" has arrived", func() bool { return got.count(kind, id) > 0 })
		}
	})
	for kind, id := range map[string]string{"api_key.expired": keyID, "memory.expired": memoryID} {
		if n, all := got.count(kind, id), got.count(kind, ""); n != 1 || all != 1 {
			t.Errorf("%s arrived %d times, %d of them about %s", kind, all, n, id)
		}
		if got.count(kind, "canary") > 0 {
			t.Errorf("%s contains a text of the client", kind)
		}
	}
	if got.wrong > 0 {
		t.Errorf("%d signatures are wrong", got.wrong)
	}
}

// TestAnImportIsOneEvent imports many memories for two webhooks, and again.
func TestAnImportIsOneEvent(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	c, err := client.New(p.URL, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	var hooks []string
	for range 2 {
		w, err := c.CreateWebhook(t.Context(), client.NewWebhook{URL: "https://hooks.invalid"})
		if err != nil {
			t.Fatal(err)
		}
		hooks = append(hooks, w.ID)
	}
	lines := testtier.Rounds(700, 200_000) // of three transactions at least
	for range 2 {
		var body strings.Builder
		for i := range lines {
			fmt.Fprintf(&body, "{\"subjectId\":\"p%d\",\"text\":\"canary %d\"}\n", i%100, i)
		}
		imported, err := c.ImportMemories(t.Context(), strings.NewReader(body.String()), nil)
		if err != nil || imported.Received != int64(lines) {
			t.Fatalf("got %+v, %v", imported, err)
		}
	}
	for _, id := range hooks {
		list, err := c.ListDeliveries(t.Context(), id, client.DeliveryQuery{})
		if err != nil {
			t.Fatal(err)
		}
		const part = 5_000 // lines, which the client sends in one request
		if want := (lines + part - 1) / part; len(list.Items) != want {
			t.Fatalf("%d deliveries of an import and its repetition, want %d", len(list.Items), want)
		}
		for _, d := range list.Items {
			n := min(lines, part)
			if want := fmt.Sprintf(`"data":{"count":%d,"memoryIds":["mem_`, n); d.Event != "memory.imported" || !strings.Contains(d.Payload, want) ||
				strings.Count(d.Payload, "mem_") != min(n, 1000) || strings.Contains(d.Payload, "canary") {
				t.Errorf("got %s %.200s", d.Event, d.Payload)
			}
		}
	}
}
