package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"keepsake/internal/app/apptest"
	"keepsake/internal/config"
	"keepsake/internal/enginetest"
)

const (
	sharedLimit = 600
	documents   = "/api/v1/documents?limit=1"
)

// together starts two processes that share limits, and makes a workspace with sharedLimit requests a minute.
func together(t *testing.T, redis string, change func(*config.Config)) (*pair, *tenant) {
	t.Helper()
	p := startPair(t, apptest.Database(t), func(c *config.Config) {
		c.RedisURL = redis
		generous(c)
		business := c.Tiers["business"]
		business.RequestsPerMinute = sharedLimit
		c.Tiers["business"] = business
		if change != nil {
			change(c)
		}
	})
	n := newTenant(t, p.a, "alpha", "canary")
	p.settle()
	return p, n
}

// settle waits until both processes count the other one.
func (p *pair) settle() {
	p.t.Helper()
	for _, r := range []*apptest.Running{p.a, p.b} {
		p.until("they do not know each other", func() bool { return p.ready(r)["members"] == "ok" && !p.degraded(r) })
	}
	time.Sleep(1500 * time.Millisecond) // and the time that members give each other to tell what they took before
}

func (p *pair) until(what string, done func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatal(what)
		}
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
		Checks map[string]any `json:"checks"`
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
		checks[name] = fmt.Sprint(v)
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

// tally is what many requests were answered.
type tally struct {
	mu      sync.Mutex
	status  map[int]int
	slowest time.Duration
	last    http.Header
}

// flood sends so many requests at each process, several at once.
func (p *pair) flood(at []*apptest.Running, path, key string, requests, atOnce int) *tally {
	p.t.Helper()
	t := &tally{status: map[int]int{}}
	var all sync.WaitGroup
	for i := range atOnce {
		all.Go(func() {
			for n := i; n < requests; n += atOnce {
				t.ask(p.t, at[n%len(at)].URL+path, key)
			}
		})
	}
	all.Wait()
	return t
}

func (t *tally) ask(tb testing.TB, url, key string) {
	req, err := http.NewRequest("GET", url, nil)
	if err != nil {
		tb.Error(err)
		return
	}
	if key != "" {
		req.Header.Set("X-API-Key", key)
	}
	began := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		tb.Error(err)
		return
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.status[resp.StatusCode]++
	t.slowest = max(t.slowest, time.Since(began))
	t.last = resp.Header
}

// within wants nearly as many requests to have passed as were left, and no more than the bound of the limit above that.
// What was left was read at one process, which may lag, and the last units go to whoever asks the ledger first.
func (p *pair) within(t *tally, left int) {
	p.t.Helper()
	least, most := left-sharedLimit/20, left+sharedLimit/10
	if p.said.outages() > 0 {
		least, most = 1, left+sharedLimit/2
	}
	if got := t.status[200]; got < least || got > most || t.status[200]+t.status[429] != t.all() {
		p.t.Errorf("got %v, want at least %d and at most %d to pass, and the others to be 429", t.status, least, most)
	}
	p.t.Logf("%d passed of %d that were left of %d, the slowest took %v", t.status[200], left, sharedLimit, t.slowest)
}

func (t *tally) all() int {
	all := 0
	for _, n := range t.status {
		all += n
	}
	return all
}

// minutely runs a test of one minute's limit, and once more where the minute ended before it did: on a machine that is so
// slow it would have judged two.
func (p *pair) minutely(key string, test func(left int) (verdict func())) {
	p.t.Helper()
	for tries := 1; ; tries++ {
		left := p.fresh(key)
		began := p.resets(key)
		verdict := test(left - 1) // that request was one
		if p.resets(key) == began {
			verdict()
			return
		}
		if tries == 3 {
			p.t.Fatal("thrice a minute ended within the test")
		}
	}
}

// resets is when the minute ends that a request of a key falls into.
func (p *pair) resets(key string) string {
	p.t.Helper()
	return p.flood(p.both(), documents, key, 1, 1).last.Get("X-RateLimit-Reset")
}

// fresh waits until enough of a workspace's minute is left for a test, and both processes say the same of it.
func (p *pair) fresh(key string) (left int) {
	p.t.Helper()
	p.until("they say different things", func() bool {
		a, b := p.flood([]*apptest.Running{p.a}, documents, key, 1, 1), p.flood([]*apptest.Running{p.b}, documents, key, 1, 1)
		reset, _ := strconv.ParseInt(a.last.Get("X-RateLimit-Reset"), 10, 64)
		if rest := time.Until(time.Unix(reset, 0)); rest < 25*time.Second {
			time.Sleep(rest + 100*time.Millisecond) // a minute cannot be made to pass sooner
			return false
		}
		of, _ := strconv.Atoi(a.last.Get("X-RateLimit-Remaining"))
		left, _ = strconv.Atoi(b.last.Get("X-RateLimit-Remaining"))
		return b.last.Get("X-RateLimit-Reset") == a.last.Get("X-RateLimit-Reset") && left < of && left > sharedLimit/2 &&
			!p.degraded(p.a) && !p.degraded(p.b)
	})
	return left
}

func (p *pair) both() []*apptest.Running { return []*apptest.Running{p.a, p.b} }

func TestTwoProcessesKeepALimitTogether(t *testing.T) {
	t.Parallel()
	p, n := together(t, enginetest.Redis(t), nil)
	p.minutely(n.key, func(left int) func() {
		passed := p.flood(p.both(), documents, n.key, left+300, 16)
		var last []http.Header
		for _, r := range p.both() {
			last = append(last, p.flood([]*apptest.Running{r}, documents, n.key, 1, 1).last)
		}
		return func() {
			p.within(passed, left)
			if p.said.outages() > 0 {
				return
			}
			for i, r := range p.both() {
				if last[i].Get("X-RateLimit-Remaining") != "0" || last[i].Get("Retry-After") == "" {
					t.Errorf("after that a process answers %v", last[i])
				}
				if mode, degraded := p.limiter(r); mode != "shared" || degraded {
					t.Errorf("the limiter is %s, degraded %t", mode, degraded)
				}
			}
		}
	})
}

func TestAddressesAreCountedTogether(t *testing.T) {
	t.Parallel()
	p, _ := together(t, enginetest.Redis(t), func(c *config.Config) {
		anonymous := c.Tiers["anonymous"]
		anonymous.RequestsPerMinute = 200
		c.Tiers["anonymous"] = anonymous
	})
	const nowhere = "/api/v1/nowhere" // costs its address
	p.until("too little of the minute is left", func() bool {
		last := p.flood([]*apptest.Running{p.a}, nowhere, "", 1, 1).last
		reset, _ := strconv.ParseInt(last.Get("X-RateLimit-Reset"), 10, 64)
		if rest := time.Until(time.Unix(reset, 0)); rest < 40*time.Second {
			time.Sleep(rest + 100*time.Millisecond)
			return false
		}
		return true
	})
	got := p.flood(p.both(), nowhere, "", 400, 8)
	least, most := 150, 220
	if p.said.outages() > 0 {
		least, most = 1, 300
	}
	if passed := got.status[404]; passed < least || passed > most || got.status[429]+passed != 400 {
		t.Errorf("got %v, want about 200 to pass", got.status)
	}
}

// Nine tenths of a minute are used when Redis goes. Each process serves its share of the rest, nobody waits, and when
// Redis is back they count together again.
func TestRedisIsLostAtNineTenths(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]struct {
		lose func(*enginetest.RedisServer, testing.TB)
		back func(*enginetest.RedisServer, testing.TB)
	}{
		"Killed": {(*enginetest.RedisServer).Kill, (*enginetest.RedisServer).Start},
		"Paused": {(*enginetest.RedisServer).Pause, (*enginetest.RedisServer).Resume},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis := enginetest.StartRedis(t, enginetest.RedisOptions{})
			p, n := together(t, redis.URL(), nil)
			p.minutely(n.key, func(left int) func() {
				outages := p.said.outages()
				before := p.flood(p.both(), documents, n.key, left*9/10, 8)
				early := p.said.outages() > outages // then each may have used up its share already
				lose.lose(redis, t)
				after := p.flood(p.both(), documents, n.key, 300, 8)
				for _, r := range p.both() {
					if got := p.ready(r)["limits"]; got != "degraded" || !p.degraded(r) {
						t.Errorf("readiness says of limits: %s", got)
					}
				}
				lose.back(redis, t)
				within(t, 5*time.Second, "they count together again", func() bool { return !p.degraded(p.a) && !p.degraded(p.b) })
				again := p.flood(p.both(), documents, n.key, 100, 4)
				return func() {
					passed, most := before.status[200]+after.status[200], left+sharedLimit/10
					if early {
						most = left + sharedLimit/2 // as of every limit while one process counts alone
					}
					if passed > most || after.status[200] == 0 && !early || after.status[200]+after.status[429] != 300 {
						t.Errorf("of %d that were left %v passed before and %v after", left, before.status, after.status)
					}
					t.Logf("%d passed of %d that were left, the slowest took %v", passed, left, after.slowest)
					if passed += again.status[200]; passed > most {
						t.Errorf("what was admitted without Redis was forgotten: %d passed of %d", passed, left)
					}
				}
			})
		})
	}
}

func TestRedisIsEmptiedAtNineTenths(t *testing.T) {
	t.Parallel()
	redis := enginetest.StartRedis(t, enginetest.RedisOptions{})
	p, n := together(t, redis.URL(), nil)
	p.minutely(n.key, func(left int) func() {
		before := p.flood(p.both(), documents, n.key, left*9/10, 8)
		redis.Flush(t)
		after := p.flood(p.both(), documents, n.key, 300, 8)
		after.status[200] += before.status[200]
		return func() { p.within(after, left) }
	})
}

// What a quota has used is in the database. When Redis loses everything, and both processes are started anew, it is there.
func TestQuotasSurviveTheLossOfRedis(t *testing.T) {
	t.Parallel()
	const daily = 400
	redis := enginetest.StartRedis(t, enginetest.RedisOptions{})
	p, n := together(t, redis.URL(), func(c *config.Config) {
		business := c.Tiers["business"]
		business.RequestsPerMinute, business.Daily = 100_000, daily
		c.Tiers["business"] = business
	})
	remaining := func(r *apptest.Running) int {
		last := p.flood([]*apptest.Running{r}, documents, n.key, 1, 1).last
		left, err := strconv.Atoi(last.Get("X-RateLimit-Daily-Remaining"))
		if err != nil {
			t.Fatal(err)
		}
		return left
	}
	left := remaining(p.a)
	passed := p.flood(p.both(), documents, n.key, 200, 4).status[200]
	redis.Flush(t)
	p.until("the quota is not used up", func() bool {
		passed += p.flood(p.both(), documents, n.key, 20, 4).status[200]
		return remaining(p.a) == 0 && remaining(p.b) == 0
	})
	if passed > left+daily/10 {
		t.Errorf("%d passed of %d that were left of the day", passed, left)
	}
	t.Logf("%d passed of %d that were left of the day", passed, left)
	redis.Flush(t) // with all they know in memory and in the database, nothing is given anew
	if got := p.flood(p.both(), documents, n.key, 100, 4).status[200]; got > 2 {
		t.Errorf("%d passed after Redis lost what was used", got)
	}
}
