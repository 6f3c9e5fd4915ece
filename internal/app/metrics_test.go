package app_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/knadh/koanf/parsers/yaml"

	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/await"
)

// scraped is what /metrics serves.
type scraped struct {
	types  map[string]string   // of each metric
	labels map[string][]string // of each metric, sorted, without le and quantile
	series map[string]float64  // by name and labels, as they are served
}

var sampleLine = regexp.MustCompile(`^([a-z0-9_]+)(?:\{(.*)\})? (\S+)$`)

// scrape reads /metrics, and checks that each line is as the text format has it.
func scrape(t *testing.T, p *apptest.Running) scraped {
	t.Helper()
	res, err := http.Get(p.BackendURL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" {
		t.Fatalf("/metrics: %d %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	s := scraped{map[string]string{}, map[string][]string{}, map[string]float64{}}
	current := ""
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		line := lines.Text()
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(rest, " ")
			current, s.types[name] = name, kind
			continue
		}
		if strings.HasPrefix(line, "# HELP ") {
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("%q is no line of the format", line)
		}
		name := m[1]
		if kind := s.types[current]; kind == "histogram" || kind == "summary" {
			name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		}
		if name != current {
			t.Errorf("%q is not below the type of its metric", line)
		}
		value, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			t.Errorf("%q has no number", line)
		}
		if _, twice := s.series[m[1]+"{"+m[2]+"}"]; twice {
			t.Errorf("%s{%s} is served twice", m[1], m[2])
		}
		s.series[m[1]+"{"+m[2]+"}"] = value
		s.labels[name] = slices.DeleteFunc(labelNames(m[2]), func(l string) bool { return l == "le" || l == "quantile" })
	}
	return s
}

var labelName = regexp.MustCompile(`(?:^|,)([a-z_]+)="`)

func labelNames(text string) (names []string) {
	for _, m := range labelName.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

// documented are the metrics of docs/metrics.md: type and labels by name.
func documented(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]string{}
	row := regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\| (counter|gauge|histogram|summary) \\| (.*?) \\| (.+) \\|$")
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		if list[m[1]] != "" {
			t.Errorf("docs/metrics.md describes %s twice", m[1])
		}
		labels := strings.Split(strings.TrimPrefix(strings.ReplaceAll(m[3], "`", ""), "none"), ", ")
		slices.Sort(labels)
		list[m[1]] = m[2] + " " + strings.Join(labels, ", ")
	}
	return list
}

func TestEveryMetricIsDocumented(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	hit(t, p.URL+"/api/v1/health", "X-API-Key", p.Key)
	var s scraped
	await.Until(t, "the request is counted", func() bool {
		s = scrape(t, p)
		return s.types["keepsake_requests_total"] != "" && s.types["keepsake_audit_checkpoint_age_seconds"] != ""
	})
	served := map[string]string{}
	for name, kind := range s.types {
		served[name] = kind + " " + strings.Join(s.labels[name], ", ")
	}
	want := documented(t)
	if apptest.OnPostgres(t) {
		delete(want, "keepsake_storage_wal_bytes") // as its row says
	}
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		for _, list := range []map[string]string{want, served} {
			maps.DeleteFunc(list, func(name, _ string) bool { return strings.HasPrefix(name, "process_") }) // they depend on the system
		}
	}
	if diff := cmp.Diff(want, served); diff != "" {
		t.Errorf("docs/metrics.md and /metrics differ (-documented +served):\n%s", diff)
	}
}

var (
	metricName = regexp.MustCompile(`\b(?:keepsake|go|process)_[a-z0-9_]+`)
	grouping   = regexp.MustCompile(`\b(?:by|ignoring) \([^)]*\)`) // names labels
)

// TestDashboardAndRulesUseServedMetrics reads the expressions of both files.
func TestDashboardAndRulesUseServedMetrics(t *testing.T) {
	t.Parallel()
	known := documented(t)
	used := 0
	check := func(at, expr string) {
		for _, name := range metricName.FindAllString(grouping.ReplaceAllString(expr, ""), -1) {
			used++
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				if base, ok := strings.CutSuffix(name, suffix); ok && strings.HasPrefix(known[base], "histogram") {
					name = base
				}
			}
			kind := known[name]
			if kind == "" {
				t.Errorf("%s uses %s, which is not served", at, name)
				continue
			}
			if strings.HasPrefix(kind, "counter") && !regexp.MustCompile(`(?:rate|increase)\(\s*`+name).MatchString(expr) {
				t.Errorf("%s uses the counter %s without rate or increase", at, name)
			}
			for _, m := range regexp.MustCompile(name+`\{([^}]*)\}`).FindAllStringSubmatch(expr, -1) {
				for _, l := range regexp.MustCompile(`([a-z_]+)(?:=|!)`).FindAllStringSubmatch(m[1], -1) {
					if l[1] != "job" && l[1] != "instance" && !slices.Contains(strings.Split(strings.SplitN(kind, " ", 2)[1], ", "), l[1]) {
						t.Errorf("%s selects %s by %s, which it does not have", at, name, l[1])
					}
				}
			}
		}
	}
	rules, err := os.ReadFile("../../deploy/prometheus-rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := yaml.Parser().Unmarshal(rules)
	if err != nil {
		t.Fatalf("prometheus-rules.yml: %v", err)
	}
	for _, group := range parsed["groups"].([]any) {
		for _, rule := range group.(map[string]any)["rules"].([]any) {
			r := rule.(map[string]any)
			name, _ := r["alert"].(string)
			notes, _ := r["annotations"].(map[string]any)
			labels, _ := r["labels"].(map[string]any)
			if name == "" || notes["summary"] == nil || notes["description"] == nil || labels["severity"] == nil {
				t.Errorf("the rule %v lacks its name, severity, summary or description", r)
			}
			check(name, r["expr"].(string))
		}
	}
	dashboard, err := os.ReadFile("../../deploy/grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			ID      int
			Title   string
			Type    string
			Targets []struct{ Expr string }
		}
		Templating struct{ List []struct{ Query any } }
	}
	if err := json.Unmarshal(dashboard, &board); err != nil {
		t.Fatalf("grafana-dashboard.json: %v", err)
	}
	ids := map[int]bool{}
	for _, panel := range board.Panels {
		if ids[panel.ID] || panel.Type != "row" && len(panel.Targets) == 0 {
			t.Errorf("the panel %q has the ID of another one, or no query", panel.Title)
		}
		ids[panel.ID] = true
		for _, target := range panel.Targets {
			check(panel.Title, target.Expr)
		}
	}
	for _, v := range board.Templating.List {
		check("a variable", fmt.Sprint("rate(", v.Query)) // label_values needs no rate
	}
	if used < 40 {
		t.Errorf("found %d uses of metrics", used)
	}
}

func TestMetricsCountRequests(t *testing.T) {
	t.Parallel()
	clock := apptest.NewClock(time.Now()) // stands still, so that no budget is refilled
	p := apptest.Start(t, apptest.Clock(clock.Now))
	of := func(s scraped, status string) float64 {
		return s.series[`keepsake_requests_total{method="GET",route="/api/v1/search",status_class="`+status+`",surface="primary",version="1"}`]
	}
	for range 3 {
		hit(t, p.URL+"/api/v1/search?q=canary", "X-API-Key", p.Key)
	}
	hit(t, p.URL+"/api/v1/search", "X-API-Key", p.Key)
	var s scraped
	await.Until(t, "three searches and a refusal are counted", func() bool { // requests are counted after they were answered
		s = scrape(t, p)
		return of(s, "2xx") == 3 && of(s, "4xx") == 1
	})
	latency := `keepsake_request_duration_seconds_count{method="GET",route="/api/v1/search",surface="primary"}`
	if n := s.series[latency]; n != 4 {
		t.Errorf("%s is %v, want 4", latency, n)
	}
	if n := s.series[`keepsake_limiter_mode{mode="local"}`] + s.series[`keepsake_limiter_mode{mode="shared"}`] + s.series[`keepsake_limiter_mode{mode="split"}`]; n != 1 {
		t.Errorf("%v modes of the limiter are set, want one", n)
	}

	for range 40 { // more than an address has without a credential
		hit(t, p.URL+"/api/v1/nothing")
	}
	await.Until(t, "40 requests without a route are counted", func() bool {
		s = scrape(t, p)
		return s.series[`keepsake_requests_total{method="none",route="none",status_class="4xx",surface="primary",version="1"}`] == 40
	})
	if n := s.series[`keepsake_throttled_total{policy="anonymous",surface="primary"}`]; n < 10 {
		t.Errorf("%v requests were throttled, want at least 10", n)
	}
}

// TestMetricsHaveBoundedSeries uses more keys, subjects, documents and paths the second time. That adds no series, and no series
// names any of them.
func TestMetricsHaveBoundedSeries(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	names := []string{p.Workspace, p.Key}
	round := func(prefix string, n int) scraped {
		admin := &tenant{t: t, base: p.URL, key: p.Key}
		for i := range n {
			name := fmt.Sprintf("%s-canary-%d", prefix, i)
			made := admin.make("POST", "/api/v1/developer/api-keys", `{"name":"`+name+`","scopes":["read","write","memory:read","memory:write"]}`)
			c := &tenant{t: t, base: p.URL, key: made["key"].(string)}
			names = append(names, made["id"].(string), c.key[:20])
			c.make("PUT", "/api/v1/documents/"+name, `{"text":"`+name+`"}`)
			c.make("POST", "/api/v1/memories", `{"subjectId":"`+name+`","text":"`+name+`"}`)
			c.make("POST", "/api/v1/memories/recall", `{"subjectId":"`+name+`","query":"`+name+`"}`)
			hit(t, p.URL+"/api/v1/search?q="+name, "X-API-Key", c.key)
			hit(t, p.URL+"/"+name, "X-API-Key", c.key)
			hit(t, p.URL+"/api/v1/"+name, "X-API-Key", name)
		}
		return scrape(t, p)
	}
	first := round("one", 2)
	second := round("two", 20)
	for name := range second.series {
		if _, ok := first.series[name]; !ok && !strings.Contains(name, `route="/metrics"`) {
			t.Errorf("more requests added the series %s", name)
		}
		for _, other := range append(names, "canary") {
			if strings.Contains(name, other) {
				t.Errorf("the series %s names %s", name, other)
			}
		}
	}
	if n := len(second.series); n > 1000 {
		t.Errorf("%d series", n)
	}
}

// hit sends a request, and ignores what is answered.
func hit(t *testing.T, url string, headers ...string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
}
