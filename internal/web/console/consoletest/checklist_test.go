package consoletest

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/instance"
	"keepsake/internal/govern/account"
	"keepsake/internal/testing/await"
)

// undone returns the numbers of the steps that are not ticked.
func (p page) undone() string {
	var left []string
	for i, item := range strings.Split(p.text, "<li class=\"")[1:] {
		if !strings.HasPrefix(item, "checked") {
			left = append(left, string(rune('1'+i)))
		}
	}
	return strings.Join(left, "")
}

func TestTheChecklistFollowsWhatWasDone(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v, c := admin(t, p), operator(t, p)
	read := func() page {
		return v.send(http.MethodGet, "/console/checklist", nil, "HX-Request", "true").want(t, 200)
	}
	v.get("/").want(t, 200, "First steps", "Make a backup", `href="/docs/guides/backups"`)
	if got := read().undone(); got != "2345" { // the first key is created with the instance
		t.Errorf("at first the steps %q are not ticked", got)
	}
	// What fails does not count.
	newVisitor(t, p).send(http.MethodPost, "/ai/remember", nil, "X-API-Key", p.Key).want(t, 400)
	for _, done := range []struct {
		do   func() error
		left string
	}{
		{func() error {
			_, err := c.CreateMemory(t.Context(), client.NewMemory{SubjectID: "ada", Text: "Prefers tea."})
			return err
		}, "345"},
		{func() error { _, err := c.Search(t.Context(), client.Query{Q: "tea"}); return err }, "45"},
		{func() error {
			// A call without the protocol of tools connects no agent.
			agent, err := client.NewAgent(p.URL, p.Key)
			if err == nil {
				_, err = agent.Recall(t.Context(), client.RecallQuery{SubjectID: "ada", Query: "tea"})
			}
			await.Until(t, "the call is counted", func() bool {
				n, failed := c.UsageSummary(t.Context(), client.UsageQuery{Window: "1h", Filter: []string{"route:/ai/recall", "statusClass:2xx"}})
				return failed == nil && n.Requests > 0
			})
			return err
		}, "45"},
		{func() error { return listTools(t, p) }, "5"},
		{func() error {
			_, err := client.OverSocket(instance.SocketPath(p.Config.Data)).StartSnapshot(t.Context())
			return err
		}, ""},
	} {
		if err := done.do(); err != nil {
			t.Fatal(err)
		}
		await.Until(t, "the steps "+done.left+" are left", func() bool { return read().undone() == done.left })
	}
	read().want(t, 200, "All done.")
	if got := v.get("/").want(t, 200); strings.Contains(got.text, "First steps") {
		t.Error("a checklist on which all is done is still there")
	}
}

// listTools lists the tools for agents, as a client of the protocol does.
func listTools(t *testing.T, p *apptest.Running) error {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL+"/ai/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		return err
	}
	r.Header = http.Header{"Authorization": {"Bearer " + p.Key}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		t.Errorf("listing tools: %s", resp.Status)
	}
	return resp.Body.Close()
}

func TestTheChecklistCanBeDismissed(t *testing.T) {
	t.Parallel()
	clock := apptest.NewClock(time.Now())
	p := apptest.Start(t, apptest.Clock(clock.Now))
	v := tenant(t, p, "pro", string(account.RoleAdmin))
	shown := func() bool { return strings.Contains(v.get("/").want(t, 200).text, "First steps") }
	if got := v.get("/").want(t, 200, "First steps"); strings.Contains(got.text, "Make a backup") {
		t.Error("a tenant is told to make a backup")
	}
	if got := v.post("/console/checklist", url.Values{}); got.StatusCode != 303 || !strings.Contains(got.Header.Get("Set-Cookie"), "Max-Age=2592000; HttpOnly; SameSite=Strict") {
		t.Errorf("got %d, %v", got.StatusCode, got.Header)
	}
	if shown() {
		t.Error("a dismissed checklist is still there")
	}
	other := newVisitor(t, p)
	other.signIn("admin@tenant.example", tenantPassword)
	other.get("/").want(t, 200, "First steps") // in another browser

	viewer := tenant(t, p, "pro", string(account.RoleViewer))
	if strings.Contains(viewer.get("/").want(t, 200).text, "First steps") {
		t.Error("a viewer, who can do none of it, gets the checklist")
	}
}
