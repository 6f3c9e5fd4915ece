package app_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/testing/await"
)

// clientOf is a client with a key of a tenant's that can only read analytics, search and documents.
func clientOf(t *testing.T, n *tenant, scopes string) (c *client.Client, keyID string) {
	t.Helper()
	made := n.make("POST", "/api/v1/developer/api-keys", fmt.Sprintf(`{"name":"analytics","scopes":[%s]}`, scopes))
	c, err := client.New(n.base, made["key"].(string), client.Retries(0), client.UserAgent("tester/1.0 (with more)"))
	if err != nil {
		t.Fatal(err)
	}
	return c, made["id"].(string)
}

// used is a workspace in which a key made 7 searches, 2 requests for documents that do not exist, and 1 search without a query.
func used(t *testing.T, p *apptest.Running) (n *tenant, keyID string) {
	t.Helper()
	n = newTenant(t, p, "alpha", "canary")
	c, keyID := clientOf(t, n, `"read"`)
	for i := range 7 {
		if _, err := c.Search(t.Context(), client.Query{Q: fmt.Sprint("canary ", i)}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		_, err := c.Document(t.Context(), "secret-document")
		wantError(t, err, 404, "not_found")
	}
	_, err := c.Search(t.Context(), client.Query{Q: " "})
	wantError(t, err, 400, "validation_error")
	return n, keyID
}

func TestUsageIsReportedByEveryDimension(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	n, keyID := used(t, p)
	c, _ := clientOf(t, n, `"analytics:read"`)
	ctx := t.Context()
	mine := client.UsageQuery{Window: "1h", Filter: []string{"key:" + keyID}}
	await.Until(t, "ten requests are counted", func() bool {
		s, err := c.UsageSummary(ctx, mine)
		if err != nil {
			t.Fatal(err)
		}
		return s.Requests == 10 && s.Errors == 3 && s.Throttled == 0 && s.ActiveKeys == 1 && s.BytesOut > 0
	})

	for _, test := range []struct {
		groupBy []string
		want    map[string]int64
	}{
		{nil, map[string]int64{"/api/v1/search": 8, "/api/v1/documents/{id}": 2}},
		{[]string{"status"}, map[string]int64{"200": 7, "404": 2, "400": 1}},
		{[]string{"statusClass", "method"}, map[string]int64{"2xx POST": 7, "4xx POST": 1, "4xx GET": 2}},
		{[]string{"key", "version"}, map[string]int64{keyID + " 1": 10}},
		{[]string{"surface"}, map[string]int64{"primary": 10}},
	} {
		q := mine
		q.GroupBy = test.groupBy
		top, err := c.TopUsage(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int64{}
		for _, item := range top {
			got[nameOf(item.Group)] = item.Requests
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("by %v: %s", test.groupBy, diff)
		}
		series, err := c.UsageSeries(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		var sum int64
		for _, s := range series.Series {
			for _, point := range s.Points {
				sum += point.Requests
			}
			if len(s.Points) != 61 || s.Points[60].Complete || series.Complete || series.Interval != "minute" {
				t.Errorf("by %v: %d points of a %s, the last is complete: %v", test.groupBy, len(s.Points), series.Interval, s.Points[60].Complete)
			}
		}
		if sum != 10 {
			t.Errorf("by %v: the points have %d requests", test.groupBy, sum)
		}
	}

	versions, err := c.VersionUsage(ctx, client.UsageQuery{Window: "1h"})
	if err != nil || len(versions) != 1 || versions[0].Version != "1" || versions[0].Keys < 2 || versions[0].LastAt.IsZero() {
		t.Errorf("versions: got %+v, %v", versions, err)
	}
	found, err := c.ErrorCounts(ctx, mine)
	if err != nil {
		t.Fatal(err)
	}
	want := []client.ErrorCount{
		{Group: client.ErrorGroup{Route: "/api/v1/documents/{id}", Status: 404, Code: "not_found"}, Count: 2},
		{Group: client.ErrorGroup{Route: "/api/v1/search", Status: 400, Code: "validation_error"}, Count: 1},
	}
	for i := range found {
		found[i].LastAt = time.Time{}
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
}

// nameOf joins the values of a group.
func nameOf(g client.UsageGroup) string {
	var parts []string
	for _, v := range []*string{g.StatusClass, g.Key, g.Route, g.Method, g.Version, g.Surface} {
		if v != nil {
			parts = append(parts, *v)
		}
	}
	if g.Status != nil {
		parts = append(parts, strconv.Itoa(*g.Status))
	}
	return strings.Join(parts, " ")
}

func TestQuotaUsageIsThatOfTheHeaders(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	n, keyID := used(t, p)
	const path = "/api/v1/analytics/usage"
	status, header, text := n.send("GET", path, "", false)
	var u client.QuotaUsage
	if err := json.Unmarshal(text, &u); err != nil || status != 200 {
		t.Fatalf("got %d %s", status, text)
	}
	for name, quota := range map[string]client.QuotaUse{"Daily": u.Daily, "Monthly": u.Monthly} {
		if got := header.Get("X-RateLimit-" + name + "-Remaining"); got != fmt.Sprint(*quota.Remaining) || *quota.Limit-*quota.Remaining != quota.Used {
			t.Errorf("%s: the header says %s, the body %+v", name, got, quota)
		}
	}
	var ofKeys, mine int64
	for _, k := range u.Keys {
		ofKeys += k.Monthly
		if k.KeyID == keyID {
			mine = k.Daily
		}
	}
	tokens := u.Monthly.Used - ofKeys
	if mine != 10 || tokens < 0 || tokens > 5 {
		t.Errorf("the key has used %d, all keys %d of %d", mine, ofKeys, u.Monthly.Used)
	}
	var again client.QuotaUsage
	_, _, text = n.send("GET", path+"?filter=key:"+keyID, "", true)
	if err := json.Unmarshal(text, &again); err != nil || len(again.Keys) != 1 || again.Daily.Used != u.Daily.Used+1 {
		t.Errorf("a request later: %s", text)
	}
}

func TestLogOfRequestsNamesNeitherQueriesNorResources(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	n, keyID := used(t, p)
	c, _ := clientOf(t, n, `"analytics:read"`)
	ctx := t.Context()
	q := client.RequestQuery{UsageQuery: client.UsageQuery{Filter: []string{"key:" + keyID}}}
	await.Until(t, "ten requests are in the log", func() bool {
		page, err := c.Requests(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Items) == 10 && !page.Sampled
	})
	_, _, text := n.send("GET", "/api/v1/analytics/requests?limit=200", "", false)
	for _, secret := range []string{"canary", "secret-document", n.document, n.memory, n.subject, "127.0.0.1", "with more", "example.org"} {
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("the log contains %s", secret)
		}
	}
	q.Filter = append(q.Filter, "status:404")
	q.Limit = 1
	var list []client.LoggedRequest
	for r, err := range c.EachRequest(ctx, q) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	if len(list) != 2 {
		t.Fatalf("got %d requests", len(list))
	}
	got := list[0]
	if got.KeyID == nil || *got.KeyID != keyID || got.UserID != nil || got.Route != "/api/v1/documents/{id}" || got.Method != "GET" ||
		got.Code == nil || *got.Code != "not_found" || got.Version != "1" || got.Surface != "primary" || got.Client == nil || *got.Client != "tester/1.0" ||
		got.At.Before(list[1].At) {
		t.Errorf("got %+v", got)
	}
	page, err := c.Requests(ctx, client.RequestQuery{RequestID: got.RequestID})
	if err != nil || len(page.Items) != 1 || !cmp.Equal(page.Items[0], got) {
		t.Errorf("by its ID: %+v, %v", page, err)
	}
}

func TestLogOfRequestsCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t, apptest.With(func(c *config.Config) { c.Analytics.RequestLogDays = 0 }))
	c := operatorOf(t, p)
	await.Until(t, "a request is counted", func() bool {
		s, err := c.UsageSummary(t.Context(), client.UsageQuery{Window: "1h"})
		return err == nil && s.Requests > 0
	})
	page, err := c.Requests(t.Context(), client.RequestQuery{})
	if err != nil || len(page.Items) != 0 || page.Sampled || page.NextCursor != nil {
		t.Errorf("got %+v, %v", page, err)
	}
}

func TestAnalyticsAreAvailableAsCSV(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	c := operatorOf(t, p)
	await.Until(t, "two requests are in the log", func() bool {
		page, err := c.Requests(t.Context(), client.RequestQuery{})
		return err == nil && len(page.Items) > 1
	})
	for path, first := range map[string]string{
		"summary": "from", "timeseries?groupBy=route,status": "t", "top": "route", "usage": "key", "versions": "version", "errors": "route", "requests?limit=1": "at",
	} {
		for _, asked := range []string{"Accept", "format"} {
			target, err := url.Parse(p.URL + "/api/v1/analytics/" + path)
			if err != nil {
				t.Fatal(err)
			}
			req, _ := http.NewRequestWithContext(t.Context(), "GET", target.String(), nil)
			req.Header.Set("X-API-Key", p.Key)
			if asked == "Accept" {
				req.Header.Set("Accept", "text/csv, */*;q=0.1")
			} else {
				values := target.Query()
				values.Set("format", "csv")
				req.URL.RawQuery = values.Encode()
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := csv.NewReader(res.Body).ReadAll()
			if err := errors.Join(err, res.Body.Close()); err != nil || len(rows) == 0 || rows[0][0] != first || res.StatusCode != 200 {
				t.Errorf("%s by %s: %d %v, %v", path, asked, res.StatusCode, rows, err)
			}
			if media := res.Header.Get("Content-Type"); media != "text/csv; charset=utf-8" {
				t.Errorf("%s by %s: Content-Type is %s", path, asked, media)
			}
			if strings.HasPrefix(path, "requests") && res.Header.Get("X-Next-Cursor") == "" {
				t.Error("a page of requests has no cursor")
			}
		}
	}
	status, _, text := (&tenant{t: t, base: p.URL, key: p.Key}).send("GET", "/api/v1/analytics/top?format=json", "", false)
	if status != 200 || !json.Valid(text) {
		t.Errorf("format=json: %d %s", status, text)
	}
}

func TestBadAnalyticsQueriesAreRefused(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	n := &tenant{t: t, base: p.URL, key: p.Key}
	for query, field := range map[string]string{
		"from=2026-11-21T12:00:00Z&to=2026-11-21T11:00:00Z":                 "to",
		"from=2000-01-01T00:00:00Z&to=2002-01-01T00:00:00Z&interval=minute": "interval",
		"from=0001-01-01T00:00:00Z&to=9999-12-31T23:59:59Z":                 "from",
		"groupBy=country":                     "groupBy",
		"groupBy=key,route,method":            "groupBy",
		"filter=country:de":                   "filter",
		"filter=":                             "filter",
		"window=2h":                           "window",
		"window=1h&from=2026-11-21T12:00:00Z": "window",
		"interval=week":                       "interval",
		"limit=201":                           "limit",
		"format=xml":                          "format",
		"colour=red":                          "colour",
		"from=yesterday":                      "from",
		"window=1h&window=24h":                "window",
		"filter=" + strings.Repeat("x", 400):  "filter",
		"to=-292277022399-01-01T00:00:00Z":    "to",
		strings.TrimSuffix(strings.Repeat("filter=method:GET&", 51), "&"):      "filter",
		"from=1970-01-01T00:00:00Z&interval=hour&groupBy=key&filter=status:20": "interval",
	} {
		for _, path := range []string{"summary", "timeseries", "top", "usage", "versions", "errors", "requests"} {
			status, _, text := n.send("GET", "/api/v1/analytics/"+path+"?"+query, "", false)
			var e struct {
				Error   string
				Details struct{ Field string }
			}
			if err := json.Unmarshal(text, &e); err != nil || status != 400 || e.Error != "validation_error" || e.Details.Field != field {
				t.Errorf("%s?%s: %d %s", path, query, status, text)
			}
		}
	}
}

func TestAnalyticsOfAnotherWorkspaceAreTheOperators(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	alpha, keyID := used(t, p)
	beta := newTenant(t, p, "beta", "sparrow")
	operator := &tenant{t: t, base: p.URL, key: p.Key}
	requests := func(n *tenant, query string) float64 {
		return n.make("GET", "/api/v1/analytics/summary?window=1h&"+query, "")["requests"].(float64)
	}
	await.Until(t, "the requests are counted", func() bool { return requests(alpha, "filter=key:"+keyID) == 10 })
	for name, got := range map[string]float64{
		"another workspace's key":      requests(beta, "filter=key:"+keyID),
		"the operator's own workspace": requests(operator, "filter=key:"+keyID),
	} {
		if got != 0 {
			t.Errorf("%s: %v requests", name, got)
		}
	}
	for _, query := range []string{"workspace=" + alpha.workspace, "workspace=all"} {
		if got := requests(operator, query+"&filter=key:"+keyID); got != 10 {
			t.Errorf("an operator with %s: %v requests", query, got)
		}
		for _, path := range []string{"summary", "timeseries", "top", "usage", "versions", "errors", "requests"} {
			beta.want(false, 403, "insufficient_scope", "GET", "/api/v1/analytics/"+path+"?"+query, "")
		}
	}
	beta.want(false, 200, "", "GET", "/api/v1/analytics/usage?workspace="+beta.workspace, "")
	for _, path := range []string{"summary", "timeseries", "top", "usage", "versions", "errors", "requests"} {
		operator.want(false, 404, "not_found", "GET", "/api/v1/analytics/"+path+"?workspace=wsp_none", "")
	}
	operator.want(false, 400, "validation_error", "GET", "/api/v1/analytics/usage?workspace=all", "")
	var items []any
	await.Until(t, "the requests are in the log, which is written after the counts", func() bool {
		items = operator.make("GET", "/api/v1/analytics/requests?workspace=all&filter=key:"+keyID, "")["items"].([]any)
		return len(items) == 10
	})
	if items[0].(map[string]any)["workspaceId"] != alpha.workspace {
		t.Errorf("the log of all workspaces: %v", items)
	}
}

func TestBoundKeySeesOnlyItsOwnUsage(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	n, keyID := used(t, p)
	await.Until(t, "the requests are counted", func() bool {
		return n.make("GET", "/api/v1/analytics/summary?filter=key:"+keyID, "")["requests"].(float64) == 10
	})
	bound := &tenant{t: t, base: p.URL, key: n.make("POST", "/api/v1/developer/api-keys", `{"name":"bound","scopes":["analytics:read"],"subjectId":"alpha-person"}`)["key"].(string)}
	for _, path := range []string{"top?groupBy=key", "requests", "usage", "summary?filter=key:" + keyID} {
		status, _, text := bound.send("GET", "/api/v1/analytics/"+path, "", false)
		if status != 200 || bytes.Contains(text, []byte(keyID)) || bytes.Contains(text, []byte(n.keyID)) {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if got := bound.make("GET", "/api/v1/analytics/summary?filter=key:"+keyID, "")["requests"].(float64); got != 0 {
		t.Errorf("%v requests of another key", got)
	}
}
