package conformance

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

const analyticsPath = "/api/v1/analytics/"

// freshness is how long after a request it is counted (docs/spec/analytics.md), with time for a slow network.
const freshness = 4 * time.Second

// sumsShape are the numbers of a summary and of a point.
func sumsShape(at string) map[string]string {
	shape := map[string]string{}
	for name, kind := range map[string]string{
		"requests": "integer", "errors": "integer", "throttled": "integer", "bytesIn": "integer", "bytesOut": "integer",
		"p50Ms": "number|null", "p90Ms": "number|null", "p99Ms": "number|null",
	} {
		shape[at+name] = kind
	}
	return shape
}

// busyKey returns a key that has asked for the health once rightly and twice wrongly, and for a document that does not exist.
// It waits until these four requests are counted.
func (c *check) busyKey() key {
	k := c.newKey(nil, "read", "analytics:read")
	c.get("/api/v1/health").as(k.text).send().is(http.StatusOK)
	for range 2 {
		c.get("/api/v1/health?nothing=1").as(k.text).send().is(http.StatusBadRequest)
	}
	c.get(docsPath+"/conformance-not-there").as(k.text).with("X-Request-Id", "conformance-"+c.suite.mark).send().is(http.StatusNotFound)
	began, last := time.Now(), (*answer)(nil)
	counted := c.eventually(freshness, func() bool {
		last = c.get(analyticsPath + "summary?window=1h&filter=key:" + k.id + "&filter=route:/api/v1/health&filter=route:/api/v1/documents/{id}").send()
		return last.is(http.StatusOK).integer("requests") == 4
	})
	if !counted {
		last.broken("four requests are not counted after %s", time.Since(began).Round(time.Millisecond))
	}
	return k
}

// analyticsChecks checks docs/spec/analytics.md.
func analyticsChecks() []promise {
	each := []string{"summary", "timeseries", "top", "usage", "versions", "errors", "requests"}
	return []promise{
		{"AnalyticsNeedTheirScope", func(c *check) {
			with, without := c.newKey(nil, "analytics:read"), c.newKey(nil, "read", "write", "developer:manage", "memory:read", "memory:write")
			for _, name := range each {
				c.get(analyticsPath + name).as(with.text).send().is(http.StatusOK)
				c.get(analyticsPath+name).as(without.text).send().fails(403, "insufficient_scope").has(fields{"details.requiredScope": "analytics:read"})
				c.get(analyticsPath+name).anonymous().send().fails(401, "missing_credentials")
			}
		}},
		{"ARequestIsInTheSummaryWithinTwoSeconds", func(c *check) {
			k := c.busyKey()
			a := c.get(analyticsPath + "summary?filter=key:" + k.id).send().is(http.StatusOK)
			a.shape(sumsShape("")).shape(map[string]string{"from": "time", "to": "time", "activeKeys": "integer", "p50Ms": "number", "p99Ms": "number"})
			a.has(fields{"errors": 3, "throttled": 0, "activeKeys": 1})
		}},
		{"ASeriesHasTheRequestsOfItsIntervals", func(c *check) {
			k := c.busyKey()
			for interval, group := range map[string]string{"minute": "route", "hour": "statusClass,method", "day": "key", "auto": ""} {
				path := analyticsPath + "timeseries?window=1h&interval=" + interval + "&filter=key:" + k.id + "&filter=route:/api/v1/health"
				if group != "" {
					path += "&groupBy=" + group
				}
				a := c.get(path).send().is(http.StatusOK)
				a.shape(map[string]string{"interval": "string", "from": "time", "to": "time", "complete": "boolean", "series": "array", "series[0].group": "object", "series[0].points[0].t": "time"})
				a.shape(sumsShape("series[0].points[0].")).has(fields{"complete": false})
				sum := int64(0)
				for i := range a.list("series") {
					for j := range a.list(fmt.Sprintf("series[%d].points", i)) {
						sum += a.integer(fmt.Sprintf("series[%d].points[%d].requests", i, j))
					}
				}
				if sum != 3 {
					a.broken("the points have %d requests, want 3", sum)
				}
			}
		}},
		{"AnIntervalThatHasEndedIsComplete", func(c *check) {
			end := c.suite.now().UTC().Truncate(time.Hour).Add(-time.Hour)
			path := fmt.Sprintf("%stimeseries?from=%s&to=%s&interval=hour", analyticsPath, end.Add(-2*time.Hour).Format(time.RFC3339), end.Format(time.RFC3339))
			c.get(path).send().is(http.StatusOK).has(fields{"complete": true, "interval": "hour"})
		}},
		{"TopRanksGroupsByRequests", func(c *check) {
			k := c.busyKey()
			a := c.get(analyticsPath + "top?window=1h&groupBy=route&filter=statusClass:4xx&filter=key:" + k.id).send().is(http.StatusOK)
			a.shape(map[string]string{"items[0].p99Ms": "number"})
			a.has(fields{
				"items[0].group": fields{"route": "/api/v1/health"}, "items[0].requests": 2, "items[0].errors": 2, "items[0].throttled": 0,
				"items[1].group": fields{"route": "/api/v1/documents/{id}"}, "items[1].requests": 1,
			})
		}},
		{"UsageEqualsTheQuotaCounters", func(c *check) {
			k := c.newKey(fields{"quota": fields{"daily": 100}}, "read", "analytics:read")
			for range 3 {
				c.get("/api/v1/health").as(k.text).send().is(http.StatusOK)
			}
			a := c.get(analyticsPath + "usage?filter=key:" + k.id).as(k.text).send().is(http.StatusOK)
			for _, name := range []string{"daily", "monthly"} {
				a.shape(map[string]string{name + ".limit": "integer", name + ".used": "integer", name + ".remaining": "integer", name + ".resetsAt": "time"})
				if a.integer(name+".limit")-a.integer(name+".used") != a.integer(name+".remaining") {
					a.broken("%s: what is used and what remains are not the limit", name)
				}
			}
			if used := 100 - a.number("X-RateLimit-Daily-Remaining"); used != 4 {
				a.broken("the header says that the key has used %d, want 4", used)
			}
			a.has(fields{"keys[0].keyId": k.id, "keys[0].daily": 4, "keys[0].monthly": 4})
		}},
		{"VersionsNameTheirLastUse", func(c *check) {
			k := c.busyKey()
			a := c.get(analyticsPath + "versions?window=1h").send().is(http.StatusOK)
			a.shape(map[string]string{"items[0].version": "string", "items[0].requests": "integer", "items[0].keys": "integer", "items[0].lastAt": "time"})
			c.get(analyticsPath + "versions?window=1h&filter=route:/api/v1/health&filter=key:" + k.id).send().is(http.StatusOK).
				has(fields{"items[0].version": "1", "items[0].requests": 3, "items[0].keys": 1})
		}},
		{"ErrorsAreCountedByTheirCode", func(c *check) {
			k := c.busyKey()
			var a *answer
			if !c.eventually(freshness, func() bool {
				a = c.get(analyticsPath + "errors?window=1h&filter=key:" + k.id).send().is(http.StatusOK)
				return len(a.list("items")) == 2
			}) {
				a.broken("there are %d kinds of errors, want 2", len(a.list("items")))
			}
			a.shape(map[string]string{"items[0].lastAt": "time"}).has(fields{
				"items[0].group": fields{"route": "/api/v1/health", "status": 400, "code": "validation_error"}, "items[0].count": 2,
				"items[1].group": fields{"route": "/api/v1/documents/{id}", "status": 404, "code": "not_found"}, "items[1].count": 1,
			})
		}},
		{"TheLogOfRequestsHasNoQueryAndNoID", func(c *check) {
			k := c.busyKey()
			var a *answer
			if !c.eventually(freshness, func() bool {
				a = c.get(analyticsPath + "requests?window=1h&limit=200&filter=key:" + k.id).send().is(http.StatusOK)
				return len(a.list("items")) == 4
			}) {
				if sampled, _ := a.at("sampled"); sampled == true {
					c.skip("the deployment has more requests than the log takes")
				}
				a.broken("there are %d requests, want 4", len(a.list("items")))
			}
			a.shape(map[string]string{"sampled": "boolean", "nextCursor": "null", "items[0].at": "time", "items[0].ms": "number", "items[0].surface": "string", "items[0].client": "string|null"})
			a.has(fields{
				"items[0].requestId": "conformance-" + c.suite.mark, "items[0].keyId": k.id, "items[0].route": "/api/v1/documents/{id}",
				"items[0].method": "GET", "items[0].status": 404, "items[0].code": "not_found", "items[0].version": "1", "items[3].code": nil,
			})
			for _, text := range []string{"nothing=1", "conformance-not-there"} {
				if strings.Contains(string(a.body), text) {
					a.broken("it contains %s", text)
				}
			}
			first := c.get(analyticsPath + "requests?window=1h&limit=2&filter=key:" + k.id).send().is(http.StatusOK)
			second := c.get(analyticsPath + "requests?window=1h&limit=2&filter=key:" + k.id + "&cursor=" + first.text("nextCursor")).send().is(http.StatusOK)
			if got := append(first.texts("items", "requestId"), second.texts("items", "requestId")...); !slices.Equal(got, a.texts("items", "requestId")) {
				second.broken("two pages of two have other requests than one of four: %v", got)
			}
		}},
		{"ABadQuestionIs400", func(c *check) {
			for query, field := range map[string]string{
				"from=2026-11-21T12:00:00Z&to=2026-11-21T11:00:00Z":                 "to|from",
				"from=2020-01-01T00:00:00Z&to=2022-01-01T00:00:00Z&interval=minute": "interval|from|to",
				"window=2h": "window", "interval=week": "interval", "groupBy=country": "groupBy", "groupBy=key,route,status": "groupBy",
				"filter=country:de": "filter", "filter=status": "filter", "limit=0": "limit", "nothing=1": "nothing",
			} {
				for _, name := range each {
					c.get(analyticsPath+name+"?"+query).send().fails(400, "validation_error", field)
				}
			}
		}},
		{"AnalyticsAreTablesToo", func(c *check) {
			for _, name := range each {
				for _, q := range []*call{c.get(analyticsPath+name).with("Accept", "text/csv"), c.get(analyticsPath + name + "?format=csv")} {
					a := q.send().is(http.StatusOK)
					rows, err := csv.NewReader(strings.NewReader(string(a.body))).ReadAll()
					if err != nil || len(rows) == 0 || !strings.HasPrefix(a.header.Get("Content-Type"), "text/csv") {
						a.broken("it is no table: %s, %v", a.header.Get("Content-Type"), err)
					}
				}
			}
		}},
		{"AnotherWorkspacesKeyHasNoUsage", func(c *check) {
			k, t := c.busyKey(), c.tenant()
			c.get(analyticsPath + "summary?filter=key:" + k.id).as(t.key).send().is(http.StatusOK).has(fields{"requests": 0, "activeKeys": 0})
			for _, name := range []string{"top", "versions", "errors", "requests"} {
				if a := c.get(analyticsPath + name + "?filter=key:" + k.id).as(t.key).send().is(http.StatusOK); len(a.list("items")) != 0 {
					a.broken("it shows what a key of another workspace did")
				}
			}
			c.get(analyticsPath+"summary?workspace=wsp_01kakakakafkhvayayayayayay").as(t.key).send().fails(403, "insufficient_scope")
		}},
		{"OperatorsGet404ForUnknownWorkspaces", func(c *check) {
			for _, name := range each {
				c.get(analyticsPath+name+"?workspace=wsp_01kakakakafkhvayayayayayay").send().fails(404, "not_found")
			}
		}},
		{"AClientThatPrefersJSONGetsIt", func(c *check) {
			for accept, want := range map[string]string{
				"text/csv;q=0.5, application/json": "application/json", "text/csv, application/json;q=0.5": "text/csv", "text/csv;q=0, */*": "application/json",
			} {
				a := c.get(analyticsPath+"top").with("Accept", accept).send().is(http.StatusOK)
				if got := a.header.Get("Content-Type"); !strings.HasPrefix(got, want) {
					a.broken("Accept %q is answered with %q", accept, got)
				}
			}
		}},
	}
}
