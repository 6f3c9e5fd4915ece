package app_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
)

// aloneLimit is how many requests a minute allows in the tests of a single process.
const aloneLimit = 20

func aloneTier(c *config.Config) {
	generous(c)
	business := c.Tiers["business"]
	business.RequestsPerMinute = aloneLimit
	c.Tiers["business"] = business
}

// wantExact sends many requests at once, and wants exactly as many to pass as the limit has left.
func (p *pair) wantExact(n *tenant) {
	p.t.Helper()
	r := request{path: documents, key: n.key}
	status, header := p.ask(p.a, r)
	left, err := strconv.Atoi(header.Get("X-RateLimit-Remaining"))
	if status != http.StatusOK || err != nil {
		p.t.Fatalf("the first request: %d %v", status, header)
	}
	got := newTally()
	p.flood(got, []*apptest.Running{p.a}, r, 3*aloneLimit, 16)
	m := got.minutes[0]
	if len(got.minutes) > 1 || len(got.other) > 0 || m.passed != left || m.refused != 3*aloneLimit-left {
		p.t.Errorf("%d were left, and %+v passed in %d minutes, others: %v", left, *m, len(got.minutes), got.other)
	}
}

// A process that is restarted alone has the whole limit each time, and all of a quota that is left.
func TestRestartKeepsTheLimits(t *testing.T) {
	t.Parallel()
	url, dir, clock := apptest.Database(t), t.TempDir(), time.Now()
	var n *tenant
	for run := range 4 {
		t.Run(fmt.Sprint("Run", run), func(t *testing.T) {
			running := apptest.Start(t, apptest.Clock(func() time.Time { return clock }), apptest.With(func(c *config.Config) {
				c.DatabaseURL, c.Data = url, dir
				aloneTier(c)
			}))
			p := &pair{t: t, a: running}
			if n == nil {
				root := operator(t, running)
				n = &tenant{workspace: root.make("POST", "/api/v1/admin/workspaces", `{"name":"alpha","tier":"business"}`)["id"].(string)}
				root.make("POST", "/api/v1/admin/users", fmt.Sprintf(`{"email":"alpha@example.org","role":"admin","workspaceId":%q,"password":%q}`, n.workspace, tenantPassword))
				n.t, n.base = t, running.URL
				n.signIn("alpha@example.org")
				n.key = n.make("POST", "/api/v1/developer/api-keys", `{"name":"all","scopes":["read","write"],"quota":{"monthly":50}}`)["key"].(string)
			}
			n.t, n.base = t, running.URL
			if run == 3 { // 49 were used: 18 (two requests created the key), 20 and 11
				status, header := p.ask(running, request{path: documents, key: n.key})
				if status != http.StatusTooManyRequests || header.Get("X-RateLimit-Monthly-Remaining") != "0" {
					t.Errorf("after the quota was used: %d %v", status, header)
				}
				return
			}
			if run == 2 {
				got := newTally()
				p.flood(got, []*apptest.Running{running}, request{path: documents, key: n.key}, 3*aloneLimit, 16)
				if m := got.minutes[0]; m.passed != 50-18-aloneLimit {
					t.Errorf("%d passed of a quota of which %d were left", m.passed, 50-18-aloneLimit)
				}
				return
			}
			p.wantExact(n)
		})
	}
}

// One process with Redis admits exactly the limit, also to many requests at once, and goes on like that when Redis is lost.
func TestOneProcessWithRedisIsExact(t *testing.T) {
	t.Parallel()
	redis := enginetest.StartRedis(t, enginetest.RedisOptions{})
	p := &pair{t: t, a: apptest.Start(t, apptest.With(func(c *config.Config) {
		c.DatabaseURL = apptest.Database(t)
		c.RedisURL, c.Limits.RedisWait = redis.URL()+"?dial_timeout=5s&write_timeout=5s", 5*time.Second
		aloneTier(c)
	}))}
	await.Until(t, "the process counts in Redis", func() bool { return !p.degraded(p.a) })
	p.wantExact(p.freshTenant("alpha"))
	redis.Kill(t)
	await.Until(t, "the process is degraded", func() bool { return p.degraded(p.a) })
	p.wantExact(p.freshTenant("beta"))
}
