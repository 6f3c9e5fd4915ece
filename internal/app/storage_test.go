package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/testtier"
)

// limited is a tenant whose workspace may store so many bytes.
func limited(t *testing.T, p *apptest.Running, bytes int64) (n *tenant, change func(bytes *int64)) {
	t.Helper()
	c := operatorOf(t, p)
	made, err := c.CreateWorkspace(t.Context(), client.NewWorkspace{Name: "limited", Tier: "pro"})
	if err != nil {
		t.Fatal(err)
	}
	change = func(bytes *int64) {
		t.Helper()
		numbers := client.TierNumbers{
			RequestsPerMinute: 1_000_000, Daily: 1_000_000, Monthly: 1_000_000, Storage: bytes,
		}
		if _, err := c.ChangeTier(t.Context(), "pro", numbers, nil); err != nil {
			t.Fatal(err)
		}
	}
	change(nil)
	operator := &tenant{t: t, base: p.URL, key: p.Key}
	operator.make("POST", "/api/v1/admin/users", fmt.Sprintf(
		`{"email":"limited@example.org","role":"admin","workspaceId":"%s","password":"%s"}`, made.ID, tenantPassword))
	n = &tenant{t: t, base: p.URL, workspace: made.ID}
	n.token = n.make("POST", "/api/auth/login", fmt.Sprintf(`{"email":"limited@example.org","password":"%s"}`, tenantPassword))["accessToken"].(string)
	n.key = n.make("POST", "/api/v1/developer/api-keys", `{"name":"all","scopes":["admin"]}`)["key"].(string)
	change(&bytes)
	return n, change
}

// full wants a request to be refused because the workspace stores too much.
func (n *tenant) full(method, path, body string) {
	n.t.Helper()
	status, _, text := n.send(method, path, body, false)
	var refusal struct {
		Error   string
		Details struct{ Limit string }
	}
	_ = json.Unmarshal(text, &refusal)
	if status != 409 || refusal.Error != "limit_reached" || refusal.Details.Limit != "storage" {
		n.t.Errorf("%s %s: %d %s, want 409 limit_reached of storage", method, path, status, text)
	}
}

func TestStoredBytesAreLimited(t *testing.T) {
	t.Parallel()
	n, change := limited(t, apptest.Start(t), 20_000)
	words := func(n int) string { return strings.Repeat("word ", n/5) }
	document := func(bytes int) string { return fmt.Sprintf(`{"text":%q}`, words(bytes)) }
	memory := func(bytes int, rest string) string {
		return fmt.Sprintf(`{"subjectId":"ada","text":%q,"allowDuplicate":true%s}`, words(bytes), rest)
	}

	n.want(false, 201, "", "PUT", "/api/v1/documents/a", document(8000))
	n.want(false, 201, "", "PUT", "/api/v1/documents/b", document(8000))
	n.full("PUT", "/api/v1/documents/c", document(8000))
	n.full("PUT", "/api/v1/documents/a", document(16000))
	n.full("POST", "/api/v1/memories", memory(8000, ""))
	n.want(false, 201, "", "POST", "/api/v1/memories", memory(2000, `,"key":"k"`))
	n.full("POST", "/api/v1/memories", memory(2000, `,"key":"k"`)) // the older revision stays
	if _, _, answer := n.send("POST", "/api/v1/memories/batch", `{"items":[`+memory(500, "")+`,`+memory(5000, "")+`]}`, false); !strings.Contains(string(answer), `"status":201`) ||
		!strings.Contains(string(answer), `"limit":"storage"`) {
		t.Errorf("a batch of which one item has room: %s", answer)
	}
	imported := n.make("POST", "/api/v1/documents/import", `{"id":"small","text":"one"}`+"\n"+`{"id":"large",`+document(9000)[1:])
	if imported["created"] != 1.0 || imported["failed"] != 1.0 || imported["errors"].([]any)[0].(map[string]any)["field"] != "storage" {
		t.Errorf("an import of which one line has room: %+v", imported)
	}

	// Smaller takes less, and what is deleted gives back.
	n.want(false, 200, "", "PUT", "/api/v1/documents/a", document(100))
	n.want(false, 201, "", "POST", "/api/v1/memories", memory(5000, ""))
	n.full("POST", "/api/v1/memories", memory(5000, ""))
	n.want(false, 204, "", "DELETE", "/api/v1/documents/b", "")
	n.want(false, 201, "", "POST", "/api/v1/memories", memory(5000, ""))
	n.full("PUT", "/api/v1/documents/d", document(16000))
	n.want(false, 200, "", "DELETE", "/api/v1/memories/subjects/ada", "")
	n.want(false, 201, "", "PUT", "/api/v1/documents/d", document(16000))

	none := int64(0)
	change(&none)
	n.full("POST", "/api/v1/documents", document(10))
	n.want(false, 200, "", "PUT", "/api/v1/documents/d", document(100)) // it gets smaller
	change(nil)
	n.want(false, 201, "", "POST", "/api/v1/documents", document(50_000))
}

func TestAMemoryKeepsItsNewestRevisions(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "two hundred changes of one memory")
	n, _ := limited(t, apptest.Start(t), 1_000_000)
	id := n.make("POST", "/api/v1/memories", `{"subjectId":"ada","text":"revision 1"}`)["id"].(string)
	for i := range 200 {
		n.want(false, 200, "", "PATCH", "/api/v1/memories/"+id, fmt.Sprintf(`{"text":"revision %d"}`, i+2))
	}
	history := n.make("GET", "/api/v1/memories/"+id+"/history?limit=200", "")["items"].([]any)
	if len(history) != 100 {
		t.Fatalf("%d revisions are kept", len(history))
	}
	for i, item := range history {
		if want := fmt.Sprintf("revision %d", 201-i); item.(map[string]any)["text"] != want {
			t.Errorf("revision %d of the history says %v, want %s", i, item.(map[string]any)["text"], want)
		}
	}
}

func TestACredentialHoldsItsNewestPlans(t *testing.T) {
	t.Parallel()
	n, _ := limited(t, apptest.Start(t), 1_000_000)
	id := n.make("POST", "/api/v1/memories", `{"subjectId":"ada","text":"one"}`)["id"].(string)
	var plans []string
	for range 22 {
		plans = append(plans, n.make("POST", "/api/v1/memories/forget", fmt.Sprintf(`{"subjectId":"ada","ids":[%q]}`, id))["planId"].(string))
	}
	carryOut := func(plan string) string { return fmt.Sprintf(`{"subjectId":"ada","planId":%q,"dryRun":false}`, plan) }
	n.want(false, 404, "not_found", "POST", "/api/v1/memories/forget", carryOut(plans[0]))
	n.want(false, 404, "not_found", "POST", "/api/v1/memories/forget", carryOut(plans[1]))
	n.want(false, 200, "", "POST", "/api/v1/memories/forget", carryOut(plans[2]))
	n.want(false, 200, "", "POST", "/api/v1/memories/forget", carryOut(plans[21]))
}

func TestRowsOfTheAccessLogStaySmall(t *testing.T) {
	t.Parallel()
	n, _ := limited(t, apptest.Start(t), 10_000_000)
	var items []string
	for i := range 1000 {
		items = append(items, fmt.Sprintf(`{"subjectId":"ada","text":"memory %d"}`, i))
	}
	n.make("POST", "/api/v1/memories/batch", `{"items":[`+strings.Join(items, ",")+`]}`)
	n.make("POST", "/api/v1/memories/forget", `{"subjectId":"ada","filter":{}}`)
	seen := map[string]bool{}
	var planned float64
	for _, item := range n.make("GET", "/api/v1/memories/subjects/ada/access-log?limit=200", "")["items"].([]any) {
		row := item.(map[string]any)
		ids := row["memoryIds"].([]any)
		if len(ids) > 100 {
			t.Errorf("a row of %s holds %d ids", row["action"], len(ids))
		}
		for _, id := range ids {
			if row["action"] == "memory.created" {
				seen[id.(string)] = true
			}
		}
		if row["action"] == "memory.forget_planned" {
			planned = row["count"].(float64)
		}
	}
	if len(seen) != 1000 || planned != 1000 {
		t.Errorf("the log names %d of 1000 memories as created, and %v as planned to be forgotten", len(seen), planned)
	}
}
