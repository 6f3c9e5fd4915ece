package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/testtier"
)

// twoMembers are two programs on one database. The second is given the first one's master key, and no more.
func twoMembers(t *testing.T) [2]*apptest.Running {
	t.Helper()
	return twoMembersWith(t)
}

func twoMembersWith(t *testing.T, options ...apptest.Option) [2]*apptest.Running {
	t.Helper()
	url := apptest.Database(t)
	common := apptest.With(func(c *config.Config) {
		c.DatabaseURL = url
		anonymous := c.Tiers["anonymous"]
		anonymous.RequestsPerMinute = 10_000 // what is counted here is something else
		c.Tiers["anonymous"] = anonymous
	})
	first := apptest.Start(t, append(options, common)...)
	master, err := os.ReadFile(instance.MasterKeyPath(first.Config.Data))
	if err != nil {
		t.Fatal(err)
	}
	second := apptest.Start(t, append(options, common, apptest.With(func(c *config.Config) { c.MasterKey = strings.TrimSpace(string(master)) }))...)
	second.Key, second.Workspace = first.Key, first.Workspace
	return [2]*apptest.Running{first, second}
}

// reply is an answer as a test looks at it.
type reply struct {
	status   int
	code     string // of an error
	policy   string
	replayed bool
	body     map[string]any
}

// ask sends a request that may be repeated where it has a repeat.
func ask(t *testing.T, url, key, repeat string, body io.Reader) reply {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if strings.HasSuffix(url, "/import") {
		r.Header.Set("Content-Type", "application/x-ndjson")
	}
	if key != "" {
		r.Header.Set("X-API-Key", key)
	}
	if repeat != "" {
		r.Header.Set("Idempotency-Key", repeat)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return reply{}
	}
	defer resp.Body.Close()
	got := reply{status: resp.StatusCode, replayed: resp.Header.Get("Idempotent-Replayed") == "true"}
	if err := json.NewDecoder(resp.Body).Decode(&got.body); err != nil {
		t.Errorf("%s: %v", url, err)
	}
	got.code, _ = got.body["error"].(string)
	if details, ok := got.body["details"].(map[string]any); ok {
		got.policy, _ = details["policy"].(string)
	}
	return got
}

func TestRequestToTwoMembersHasOneEffect(t *testing.T) {
	t.Parallel()
	two := twoMembers(t)
	for round := range testtier.Rounds(2, 5) {
		repeat := fmt.Sprintf("a-key-of-round-%d", round)
		var ran, other atomic.Int64
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				got := ask(t, two[i%2].URL+"/api/v1/documents", two[0].Key, repeat, strings.NewReader(`{"title":"once","text":"once"}`))
				switch {
				case got.status == 201 && !got.replayed:
					ran.Add(1)
				case got.status == 201, got.status == 409 && got.code == "idempotency_in_progress":
					other.Add(1)
				default:
					t.Errorf("got %+v", got)
				}
			})
		}
		all.Wait()
		if ran.Load() != 1 || other.Load() != 39 {
			t.Errorf("round %d: %d ran, %d were told of it", round, ran.Load(), other.Load())
		}
		for _, m := range two {
			if got := ask(t, m.URL+"/api/v1/documents", two[0].Key, repeat, strings.NewReader(`{"title":"once","text":"once"}`)); !got.replayed {
				t.Errorf("after it: %+v", got)
			}
		}
	}
}

func TestRunningImportIsRefusedOnTheOtherMember(t *testing.T) {
	t.Parallel()
	two := twoMembers(t)
	const line = `{"id":"doc_01h00000000000000000000001","title":"a","text":"b"}` + "\n"
	const repeat = "a-key-of-an-import"
	body, write := io.Pipe()
	done := make(chan reply, 1)
	go func() { done <- ask(t, two[0].URL+"/api/v1/documents/import", two[0].Key, repeat, body) }()
	if _, err := io.WriteString(write, line); err != nil {
		t.Fatal(err)
	}
	again := func(m *apptest.Running) reply {
		return ask(t, m.URL+"/api/v1/documents/import", two[0].Key, repeat, strings.NewReader(line))
	}
	waitForClaim(t, two[0].Config.DatabaseURL)
	if got := again(two[1]); got.status != 409 || got.code != "idempotency_in_progress" {
		t.Errorf("while the first runs: %+v", got)
	}
	write.Close()
	first := <-done
	if first.status != 200 || first.replayed {
		t.Errorf("the first: %+v", first)
	}
	for _, m := range two {
		if got := again(m); got.status != 200 || !got.replayed || fmt.Sprint(got.body) != fmt.Sprint(first.body) {
			t.Errorf("after it: %+v", got)
		}
	}
}

// waitForClaim returns when a member has said that it runs a request.
func waitForClaim(t *testing.T, url string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	await.Until(t, "a member runs the request", func() bool {
		n := 0
		err := conn.QueryRow(t.Context(), `
			SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database
			WHERE locktype = 'advisory' AND objsubid = 1 AND d.datname = current_database()`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n > 0
	})
}

func TestGuessesAtTwoMembersAreCountedTogether(t *testing.T) {
	t.Parallel()
	two := twoMembers(t)
	const email, password = "ada@example.org", "correct horse battery staple"
	c := operatorOf(t, two[0])
	if _, err := c.CreateUser(t.Context(), client.NewUser{Email: email, WorkspaceID: two[0].Workspace, Role: "member", Password: password}); err != nil {
		t.Fatal(err)
	}
	login := func(m *apptest.Running, password string) reply {
		return ask(t, m.URL+"/api/auth/login", "", "", strings.NewReader(fmt.Sprintf(`{"email":%q,"password":%q}`, email, password)))
	}
	signedIn := login(two[1], password)
	var checked, late atomic.Int64
	var all sync.WaitGroup
	guesses := testtier.Rounds(30, 100)
	for i := range guesses {
		all.Go(func() {
			switch got := login(two[i%2], "not the password"); {
			case got.status == 401 && got.code == "invalid_credentials":
				checked.Add(1)
			case got.status == 503: // it waited for its turn longer than a request may
				late.Add(1)
			case got.status != 429 || got.policy != "login":
				t.Errorf("got %+v", got)
			}
		})
	}
	all.Wait()
	if n := checked.Load(); n > 10 || n+late.Load() < 10 {
		t.Errorf("%d guesses of %d at once were checked, want 10", n, guesses)
	}

	token, _ := signedIn.body["refreshToken"].(string)
	children := map[any]bool{}
	var mu sync.Mutex
	for i := range 20 {
		all.Go(func() {
			got := ask(t, two[i%2].URL+"/api/auth/refresh", "", "", strings.NewReader(fmt.Sprintf(`{"refreshToken":%q}`, token)))
			mu.Lock()
			defer mu.Unlock()
			children[got.body["refreshToken"]] = got.status == 200
		})
	}
	all.Wait()
	if len(children) != 1 || children[nil] {
		t.Errorf("20 refreshes at two members gave %d children, want one", len(children))
	}
}
