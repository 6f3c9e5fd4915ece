package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/client"
	"keepsake/internal/app"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/testtier"
)

const year = 365 * 24 * time.Hour

// jumper is a caller at a program whose clock jumps. All that it has made is valid for more than an hour.
type jumper struct {
	*tenant
	operator tenant
	tight    tenant // with a key whose minute limit is used up
	clock    *apptest.FakeClock
	stop     func() // the program
}

// run runs a program on a folder until stop, or the end of the test.
func (j *jumper) run(cfg config.Config) (p *apptest.Running) {
	j.t.Helper()
	deps := silent()
	deps.Now = j.clock.Now
	a, err := app.New(context.Background(), cfg, deps)
	if err != nil {
		j.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	j.stop = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-done, a.Close()); err != nil {
			j.t.Errorf("stop: %v", err)
		}
	})
	j.t.Cleanup(j.stop)
	p = &apptest.Running{App: a, Config: cfg, URL: a.PrimaryURL(), BackendURL: a.BackendURL()}
	apptest.AwaitReady(j.t, p.BackendURL)
	if first, ok := a.First(); ok {
		p.Key, p.Workspace = first.APIKey, first.WorkspaceID
		j.operator = tenant{t: j.t, key: first.APIKey}
	}
	j.operator.base = p.URL
	return p
}

func startJumper(t *testing.T, start time.Time) (*jumper, *apptest.Running) {
	t.Helper()
	j := &jumper{tenant: &tenant{t: t}, clock: apptest.NewClock(start)}
	p := j.run(apptest.Local(t, filepath.Join(t.TempDir(), "d")))
	n := newTenant(t, p, "jumper", "sundial")
	in := func(d time.Duration) string { return start.Add(d).Format(time.RFC3339) }
	n.other = n.make("POST", "/api/v1/developer/api-keys", `{"name":"short","scopes":["read"],"expiresAt":"`+in(2*time.Hour)+`"}`)["key"].(string)
	n.make("POST", "/api/v1/memories", `{"subjectId":"jumper-person","text":"the sundial is repaired","expiresAt":"`+in(2*time.Hour)+`"}`)
	j.tenant, j.tight = n, *n
	j.tight.key = n.make("POST", "/api/v1/developer/api-keys", `{"name":"tight","scopes":["read"],"rateLimit":{"requestsPerMinute":2}}`)["key"].(string)
	for i, want := range []int{200, 200, 429} {
		if status, _, _ := j.tight.send("GET", "/api/v1/health", "", false); status != want {
			t.Fatalf("request %d of a limit of 2: %d, want %d", i+1, status, want)
		}
	}
	return j, p
}

// works wants everything that was made to be there and to be valid, and the limits to be as they should.
func (j *jumper) works(when string, session *client.Tokens) {
	j.t.Helper()
	now := j.clock.Now()
	ask := func(as tenant, bearer bool, method, path, body string) []byte {
		j.t.Helper()
		status, header, text := as.send(method, path, body, bearer)
		if status >= 300 {
			j.t.Errorf("%s: %s %s: %d %s", when, method, path, status, text)
		}
		reset, err := strconv.ParseInt(header.Get("X-RateLimit-Reset"), 10, 64)
		if left := time.Unix(reset, 0).Sub(now); err != nil || left <= -time.Second || left > time.Minute {
			j.t.Errorf("%s: %s %s: the window ends in %s (%v)", when, method, path, left, err)
		}
		for _, name := range []string{"X-RateLimit-Remaining", "X-RateLimit-Daily-Remaining", "X-RateLimit-Monthly-Remaining"} {
			if n, err := strconv.ParseInt(header.Get(name), 10, 64); err != nil || n < 1 {
				j.t.Errorf("%s: %s %s: %s is %q", when, method, path, name, header.Get(name))
			}
		}
		return text
	}
	count := func(text []byte, of string) int {
		j.t.Helper()
		var v map[string]json.RawMessage
		var list []json.RawMessage
		if err := json.Unmarshal(text, &v); err == nil {
			err = json.Unmarshal(v[of], &list)
			if err != nil {
				j.t.Errorf("%s: %v in %s", when, err, text)
			}
		}
		return len(list)
	}
	all, short, person := *j.tenant, *j.tenant, *j.tenant
	short.key, person.token = j.other, session.AccessToken
	ask(short, false, "GET", "/api/v1/documents/"+j.document, "")
	ask(person, true, "GET", "/api/v1/documents/"+j.document, "")
	if n := count(ask(all, false, "GET", "/api/v1/search?q=sundial", ""), "results"); n < 2 {
		j.t.Errorf("%s: the search finds %d documents, want 2 at least", when, n)
	}
	if n := count(ask(all, false, "GET", "/api/v1/memories?subjectId="+j.subject, ""), "items"); n < 3 {
		j.t.Errorf("%s: there are %d memories, want 3 at least", when, n)
	}
	if n := count(ask(all, false, "POST", "/api/v1/memories/recall", `{"subjectId":"`+j.subject+`","query":"sundial"}`), "results"); n < 3 {
		j.t.Errorf("%s: recall finds %d memories, want 3 at least", when, n)
	}
	ask(all, false, "POST", "/api/v1/documents", fmt.Sprintf(`{"text":"sundial written %s"}`, when))
	ask(all, false, "POST", "/api/v1/memories", fmt.Sprintf(`{"subjectId":"%s","text":"sundial written %s"}`, j.subject, when))
	if text := ask(j.operator, false, "GET", "/api/v1/admin/audit-log/verify", ""); !strings.Contains(string(text), `"ok":true`) {
		j.t.Errorf("%s: the log is not intact: %s", when, text)
	}
}

// opens wants the key with the tight limit to be let in, now or when the time has passed that its refusal names.
func (j *jumper) opens(when string) {
	j.t.Helper()
	j.tight.base = j.base
	status, header, _ := j.tight.send("GET", "/api/v1/health", "", false)
	if status == http.StatusOK {
		return
	}
	wait, err := strconv.Atoi(header.Get("Retry-After"))
	if status != http.StatusTooManyRequests || err != nil || wait < 1 || wait > 60 {
		j.t.Errorf("%s: %d, Retry-After %q", when, status, header.Get("Retry-After"))
		return
	}
	j.clock.Advance(time.Duration(wait) * time.Second)
	if status, _, _ = j.tight.send("GET", "/api/v1/health", "", false); status != http.StatusOK {
		j.t.Errorf("%s: %d after Retry-After", when, status)
	}
}

func (j *jumper) session() *client.Tokens {
	j.t.Helper()
	c, err := client.New(j.base, "", client.Retries(0))
	if err != nil {
		j.t.Fatal(err)
	}
	tokens, err := c.Login(j.t.Context(), "jumper@example.org", tenantPassword)
	if err != nil {
		j.t.Fatal(err)
	}
	return tokens
}

func (j *jumper) refresh(tokens *client.Tokens) *client.Tokens {
	j.t.Helper()
	c, err := client.New(j.base, "", client.Retries(0))
	if err != nil {
		j.t.Fatal(err)
	}
	next, err := c.Refresh(j.t.Context(), tokens.RefreshToken)
	if err != nil {
		j.t.Fatalf("refresh: %v", err)
	}
	return next
}

// A clock that was wrong must change nothing for good: all is valid again when it is right again. A step back makes nothing
// invalid even for a while. A step forward cannot be told from time that has passed.
func TestAClockThatJumpsExpiresNothing(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{
		"an hour back": -time.Hour, "a year back": -year, "an hour on": time.Hour, "a year on": year,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now().UTC().Truncate(time.Second)
			j, _ := startJumper(t, start)
			session := j.session()
			j.works("before", session)
			j.clock.Set(start.Add(by))
			if by < 0 {
				j.works("after the jump", session)
				j.works("after a refresh", j.refresh(session))
			} else if status, _, text := j.send("GET", "/api/v1/documents/"+j.document, "", false); status != http.StatusOK {
				t.Errorf("a key without an end: %d %s", status, text)
			}
			j.opens("after the jump")
			j.clock.Set(start.Add(time.Second))
			j.works("when the clock is right again", j.session())
			j.opens("when the clock is right again")
		})
	}
}

// A start sweeps away what has expired, by a clock that may have gone back while nothing ran.
func TestAStartAfterTheClockWentBackSweepsNothing(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{-time.Hour, -year} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			start := time.Now().UTC().Truncate(time.Second)
			j, p := startJumper(t, start)
			session := j.session()
			j.works("before", session)
			j.stop()
			j.clock.Set(start.Add(by))
			j.tenant.base = j.run(p.Config).URL
			j.works("after a start in the past", session)
			j.stop()
			j.clock.Set(start.Add(time.Second))
			j.tenant.base = j.run(p.Config).URL
			j.works("after a start at the right time", session)
		})
	}
}

// Readiness warns of a clock that is not the database's, in both directions, and recovers.
func TestReadinessWarnsOfAWrongClock(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "waits for a beat after each step of the clock")
	clock := &wrongClock{}
	p := apptest.Start(t, apptest.Clock(clock.Now), apptest.With(func(c *config.Config) {
		if c.DatabaseURL == "" {
			c.DatabaseURL = apptest.Database(t)
		}
	}))
	for _, by := range []time.Duration{0, 2 * time.Second, time.Minute, 0, -year, -2 * time.Second, year} {
		clock.wrong.Store(int64(by))
		want := `"clock":{"status":"ok"`
		if by.Abs() > 5*time.Second {
			want = `"clock":{"status":"degraded"`
		}
		await.Until(t, fmt.Sprintf("a clock that is ahead by %s is %s", by, want), func() bool {
			answer := ready(t, p)
			if !strings.HasPrefix(answer, "200 ") {
				t.Fatalf("ahead by %s: %s", by, answer)
			}
			return strings.Contains(answer, want)
		})
	}
}

// wrongClock is the machine's, and some time ahead.
type wrongClock struct{ wrong atomic.Int64 }

func (c *wrongClock) Now() time.Time { return time.Now().Round(0).Add(time.Duration(c.wrong.Load())) }
