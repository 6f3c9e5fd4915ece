package app_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

const (
	sharedLimit = 200
	documents   = "/api/v1/documents?limit=1"
)

// together starts two processes that share limits, and makes a workspace with sharedLimit requests a minute, most of which
// is left.
func together(t *testing.T, redis string, change func(*config.Config)) (*pair, *tenant) {
	t.Helper()
	return togetherWaiting(t, redis+"?dial_timeout=1m&write_timeout=1m", time.Minute, change)
}

// togetherWaiting is together for processes that wait for Redis no longer than wait.
func togetherWaiting(t *testing.T, redis string, wait time.Duration, change func(*config.Config)) (*pair, *tenant) {
	t.Helper()
	p := startPair(t, apptest.Database(t), func(c *config.Config) {
		c.RedisURL, c.Limits.RedisWait = redis, wait
		generous(c)
		business := c.Tiers["business"]
		business.RequestsPerMinute = sharedLimit
		c.Tiers["business"] = business
		if change != nil {
			change(c)
		}
	})
	p.settle()
	return p, p.freshTenant("alpha")
}

// freshTenant makes a workspace whose minute has just begun. Where a minute begins follows from the id of the workspace.
func (p *pair) freshTenant(name string) *tenant {
	p.t.Helper()
	root := operator(p.t, p.a)
	n := &tenant{t: p.t, base: p.a.URL}
	await.Until(p.t, "a workspace whose minute has just begun", func() bool {
		n.workspace = root.make("POST", "/api/v1/admin/workspaces", `{"name":"`+name+`","tier":"business"}`)["id"].(string)
		phase := fnv.New64a()
		phase.Write([]byte(n.workspace))
		return (time.Now().Unix()+60-int64(phase.Sum64()%60))%60 < 5
	})
	root.make("POST", "/api/v1/admin/users", fmt.Sprintf(`{"email":"%s@example.org","role":"admin","workspaceId":%q,"password":%q}`, name, n.workspace, tenantPassword))
	n.signIn(name + "@example.org")
	n.key = n.make("POST", "/api/v1/developer/api-keys", `{"name":"all","scopes":["read","write"]}`)["key"].(string)
	return n
}

// settle waits until both processes count the other one and may admit by themselves.
func (p *pair) settle() {
	p.t.Helper()
	for _, r := range []*apptest.Running{p.a, p.b} {
		await.Until(p.t, "the processes know each other", func() bool { return p.ready(r)["members"] == "ok" && !p.degraded(r) })
	}
}

// ready is what a process's readiness says of its parts.
func (p *pair) ready(r *apptest.Running) map[string]string {
	p.t.Helper()
	resp, err := http.Get(r.BackendURL + "/readyz")
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	var body struct {
		Checks map[string]struct{ Status string } `json:"checks"`
	}
	text, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(text, &body)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	checks := map[string]string{}
	for name, v := range body.Checks {
		checks[name] = v.Status
	}
	return checks
}

// limiter is what cache-stats says of the limiter.
func (p *pair) limiter(r *apptest.Running) (mode string, degraded bool) {
	p.t.Helper()
	var body struct {
		Limiter struct {
			Mode     string `json:"mode"`
			Degraded bool   `json:"degraded"`
		} `json:"limiter"`
	}
	req, _ := http.NewRequest("GET", r.URL+"/api/v1/admin/cache-stats", nil)
	req.Header.Set("X-API-Key", r.Key)
	resp, err := http.DefaultClient.Do(req)
	if err == nil {
		defer resp.Body.Close()
		err = json.NewDecoder(resp.Body).Decode(&body)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return body.Limiter.Mode, body.Limiter.Degraded
}

func (p *pair) degraded(r *apptest.Running) bool {
	_, degraded := p.limiter(r)
	return degraded
}

// tally counts the answers to many requests. It counts those of each minute apart, so that no test depends on when a minute
// ends.
type tally struct {
	mu      sync.Mutex
	ends    int64              // the first X-RateLimit-Reset
	minutes map[int64]*answers // by their number, from that minute on
	other   []string           // answers that are neither passed nor refused
}

// answers are those of one minute.
type answers struct{ passed, refused int }

func newTally() *tally { return &tally{minutes: map[int64]*answers{}} }

// request is a request that is sent again and again.
type request struct{ path, key, token, from string }

// ofOneMinute is a request that counts for the minute of its workspace only. A key has a minute of its own, which ends at
// another time, and X-RateLimit-Reset tells the end of the one of which less is left.
func ofOneMinute(n *tenant) request { return request{path: documents, token: n.token} }

// flood sends so many requests to the processes in turn, several at once.
func (p *pair) flood(t *tally, at []*apptest.Running, r request, requests, atOnce int) {
	p.t.Helper()
	var all sync.WaitGroup
	for i := range atOnce {
		all.Go(func() {
			for n := i; n < requests; n += atOnce {
				status, header := p.ask(at[n%len(at)], r)
				t.add(status, header)
			}
		})
	}
	all.Wait()
}

// ask sends a request to a process.
func (p *pair) ask(at *apptest.Running, r request) (status int, header http.Header) {
	req, err := http.NewRequest("GET", at.URL+r.path, nil)
	if err != nil {
		p.t.Error(err)
		return 0, nil
	}
	if r.key != "" {
		req.Header.Set("X-API-Key", r.key)
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	if r.from != "" {
		req.Header.Set("X-Forwarded-For", r.from)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Error(err)
		return 0, nil
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header
}

func (t *tally) add(status int, header http.Header) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.minuteOf(header)
	m := t.minutes[n]
	if m == nil {
		m = &answers{}
		t.minutes[n] = m
	}
	switch status {
	case http.StatusOK, http.StatusNotFound:
		m.passed++
	case http.StatusTooManyRequests:
		m.refused++
	default:
		t.other = append(t.other, fmt.Sprint(status))
	}
}

// minuteOf numbers the minute of an answer. Processes may differ by a moment in when it ends. The caller holds the lock.
func (t *tally) minuteOf(header http.Header) int64 {
	ends, _ := strconv.ParseInt(header.Get("X-RateLimit-Reset"), 10, 64)
	if t.ends == 0 {
		t.ends = ends
	}
	return int64(math.Round(float64(ends-t.ends) / 60))
}

// atMost wants no more requests to have passed in any minute than most, and all others to be refused.
func (t *tally) atMost(tb testing.TB, most int) {
	tb.Helper()
	for minute, m := range t.minutes {
		tb.Logf("minute %d: %d passed, %d refused", minute, m.passed, m.refused)
		if m.passed > most {
			tb.Errorf("minute %d: %d requests passed, want at most %d", minute, m.passed, most)
		}
	}
	if len(t.other) > 0 {
		tb.Errorf("some requests were neither served nor refused: %v", t.other)
	}
}

// atLeast wants a minute in which requests were refused to have served nearly as many as the limit.
func (t *tally) atLeast(tb testing.TB, least int) {
	tb.Helper()
	for minute, m := range t.minutes {
		if m.refused > 0 && m.passed < least {
			tb.Errorf("minute %d: %d requests passed and %d were refused, want at least %d to pass", minute, m.passed, m.refused, least)
		}
	}
}

// The bounds of a limit that two processes share. They may pass it by a tenth. The last units go to the process that asks
// for them first, and making the workspace took a few.
const (
	sharedMost  = sharedLimit + sharedLimit/10
	sharedLeast = sharedLimit - sharedLimit/10
)

func (p *pair) both() []*apptest.Running { return []*apptest.Running{p.a, p.b} }

func TestTwoProcessesKeepALimitTogether(t *testing.T) {
	t.Parallel()
	p, n := together(t, enginetest.Redis(t), nil)
	got, r := newTally(), ofOneMinute(n)
	p.flood(got, p.both(), r, sharedLimit*3/2, 16)
	for _, at := range p.both() {
		p.useUp(got, at, r)
		if mode, degraded := p.limiter(at); mode != "shared" || degraded {
			t.Errorf("the limiter is %s, degraded %t", mode, degraded)
		}
	}
	got.atMost(t, sharedMost)
	got.atLeast(t, sharedLeast)
}

// useUp sends requests to a process until it refuses one. A process that has refused none may still admit a few by itself.
func (p *pair) useUp(t *tally, at *apptest.Running, r request) {
	p.t.Helper()
	for range sharedLimit {
		status, header := p.ask(at, r)
		t.add(status, header)
		if status == http.StatusTooManyRequests {
			if header.Get("X-RateLimit-Remaining") != "0" || header.Get("Retry-After") == "" {
				p.t.Errorf("a refusal has the headers %v", header)
			}
			return
		}
	}
	p.t.Errorf("a process admits %d requests more", sharedLimit)
}

func TestAddressesAreCountedTogether(t *testing.T) {
	t.Parallel()
	const limit = 100
	redis := enginetest.Redis(t) + "?dial_timeout=1m&write_timeout=1m"
	p := startPair(t, apptest.Database(t), func(c *config.Config) {
		generous(c)
		anonymous := c.Tiers["anonymous"]
		anonymous.RequestsPerMinute = limit
		c.Tiers["anonymous"] = anonymous
		c.RedisURL = redis
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	p.settle()
	r := request{path: "/api/v1/nowhere"} // costs its address
	i := 0
	await.Until(t, "an address whose minute has just begun", func() bool {
		i++
		r.from = fmt.Sprintf("198.51.100.%d", i%256)
		_, header := p.ask(p.a, r)
		reset, _ := strconv.ParseInt(header.Get("X-RateLimit-Reset"), 10, 64)
		return time.Until(time.Unix(reset, 0)) > 50*time.Second
	})
	got := newTally()
	p.flood(got, p.both(), r, 2*limit, 8)
	got.atMost(t, limit+limit/10)
	got.atLeast(t, limit-limit/10)
}

// Redis goes when nine tenths of a minute are used. Each process serves its share of the rest, and when Redis is back they
// count together again.
func TestRedisIsLostAtNineTenths(t *testing.T) {
	t.Parallel()
	t.Run("Killed", func(t *testing.T) {
		t.Parallel()
		redis := enginetest.StartRedis(t, enginetest.RedisOptions{})
		// Long enough for a busy machine, and short enough for a connection that is made while Redis ends.
		p, n := togetherWaiting(t, redis.URL()+"?dial_timeout=5s&write_timeout=5s", 5*time.Second, nil)
		p.loseRedis(n, redis, true, sharedMost, func() { redis.Kill(t) }, func() { redis.Start(t) })
	})
	t.Run("Paused", func(t *testing.T) {
		t.Parallel()
		testtier.Long(t, "waits for a Redis that does not answer")
		redis := enginetest.StartRedis(t, enginetest.RedisOptions{})
		// The waits are the real ones. A busy machine exceeds them at any time, and while one process counts alone and the other
		// does not they serve half as much again. A process that waited long has no share of the minute's rest.
		p, n := togetherWaiting(t, redis.URL(), config.Default().Limits.RedisWait, nil)
		p.loseRedis(n, redis, false, sharedMost+sharedLimit/2, func() { redis.Pause(t) }, func() { redis.Resume(t) })
	})
}

// loseRedis wants at most so many requests to pass in a minute, and each process to serve some without Redis where serve says so.
func (p *pair) loseRedis(n *tenant, redis *enginetest.RedisServer, serve bool, most int, lose, back func()) {
	got, r := newTally(), ofOneMinute(n)
	p.flood(got, p.both(), r, sharedLimit*9/10, 8)
	p.awaitSums(redis, got)
	lose()
	for _, at := range p.both() {
		await.Until(p.t, "a process counts without Redis", func() bool { return p.degraded(at) })
		// One that heard of the others long ago has no share until the next minute.
		await.Until(p.t, "a process serves its share", func() bool {
			status, header := p.ask(at, r)
			got.add(status, header)
			return status == http.StatusOK || !serve
		})
		if says := p.ready(at)["limits"]; says != "degraded" {
			p.t.Errorf("readiness says of limits: %s", says)
		}
	}
	p.flood(got, p.both(), r, sharedLimit/2, 8) // without waiting: Redis is still away
	back()
	await.Until(p.t, "the processes count together again", func() bool { return !p.degraded(p.a) && !p.degraded(p.b) })
	p.flood(got, p.both(), r, sharedLimit/4, 4)
	got.atMost(p.t, most)
}

// awaitSums waits until both processes have read a sum with all requests that have passed: Redis has it, and both have sent a
// further sync request. What passes between the last sums and the loss of Redis can exceed the bound (decision 16).
func (p *pair) awaitSums(redis *enginetest.RedisServer, got *tally) {
	p.t.Helper()
	var first []string
	await.Until(p.t, "both processes have read the sum", func() bool {
		got.mu.Lock()
		passed, over := 0, time.Now().Unix() >= got.ends // there is nothing to wait for in a minute that is over
		for _, m := range got.minutes {
			passed += m.passed
		}
		got.mu.Unlock()
		numbers := strings.Fields(strings.Trim(redis.Do(p.t, fmt.Sprintf(requestNumbers, passed)), "+ "))
		switch {
		case len(numbers) != 2:
			return over
		case first == nil:
			first = numbers
		}
		return over || numbers[0] != first[0] && numbers[1] != first[1]
	})
}

// requestNumbers returns the number of the last request of each process about the minute with a sum.
const requestNumbers = `EVAL "local out = '' for _, k in ipairs(redis.call('KEYS', 'keepsake:*:minute:*')) do ` +
	`if tonumber(redis.call('HGET', k, 's')) >= %d then for _, f in ipairs(redis.call('HKEYS', k)) do ` +
	`if string.sub(f, 1, 2) == 'n:' then out = out .. ' ' .. redis.call('HGET', k, f) end end end end return redis.status_reply(out)" 0`

func TestRedisIsEmptiedAtNineTenths(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts two processes and a Redis of its own; the simulations of package limit show the same")
	redis := enginetest.StartRedis(t, enginetest.RedisOptions{})
	p, n := together(t, redis.URL(), nil)
	got, r := newTally(), ofOneMinute(n)
	p.flood(got, p.both(), r, sharedLimit*9/10, 8)
	redis.Flush(t)
	p.flood(got, p.both(), r, sharedLimit/2, 8)
	got.atMost(t, sharedMost)
	got.atLeast(t, sharedLeast)
}

// What a quota has used is in the database. It is there when Redis loses everything.
func TestQuotasSurviveTheLossOfRedis(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts two processes and a Redis of its own; TestLostQuotaIsReadFromTheDatabase of package limit shows the same")
	const daily = 200
	redis := enginetest.StartRedis(t, enginetest.RedisOptions{})
	p, n := together(t, redis.URL(), func(c *config.Config) {
		business := c.Tiers["business"]
		business.RequestsPerMinute, business.Daily = 100_000, daily
		c.Tiers["business"] = business
	})
	r := request{path: documents, key: n.key}
	passed := map[string]int{} // by day
	send := func(at *apptest.Running) (left string) {
		status, header := p.ask(at, r)
		if status == http.StatusOK {
			sent, err := http.ParseTime(header.Get("Date"))
			if err != nil {
				t.Fatal(err)
			}
			passed[sent.UTC().Format(time.DateOnly)]++
		}
		return header.Get("X-RateLimit-Daily-Remaining")
	}
	for range daily / 4 {
		send(p.a)
		send(p.b)
	}
	redis.Flush(t)
	usedUp := func() bool {
		a, b := send(p.a), send(p.b)
		return a == "0" && b == "0"
	}
	await.Until(t, "the quota is used up", usedUp)
	redis.Flush(t)
	for range daily / 4 {
		send(p.a)
		send(p.b)
	}
	for day, n := range passed {
		t.Logf("%s: %d passed", day, n)
		if n > daily+daily/10 {
			t.Errorf("%s: %d passed of %d", day, n, daily)
		}
	}
}
