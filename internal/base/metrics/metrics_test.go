package metrics_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/metrics"
)

func TestTextFormat(t *testing.T) {
	t.Parallel()
	requests := metrics.Metric{Name: "requests_total", Type: metrics.Counter, Labels: []string{"route", "class"}, Help: "Requests.\nA \\ stays."}
	depth := metrics.Metric{Name: "queue_depth", Type: metrics.Gauge, Help: "Depth."}
	took := metrics.Metric{Name: "took_seconds", Type: metrics.Histogram, Labels: []string{"route"}, Help: "Durations."}
	unset := metrics.Metric{Name: "unset", Type: metrics.Gauge, Help: "Never set."}
	var r metrics.Registry
	r.Add(func(_ context.Context, s *metrics.Scrape) {
		s.SetHistogram(&took, []time.Duration{5 * time.Millisecond, time.Second}, []int64{2, 1, 1}, 12500*time.Millisecond, "/a")
		s.Set(&requests, 3, "/a", "2xx")
		s.Set(&requests, 1e9, "/\"b\"\\\n", "5xx")
	}, &requests, &took, &unset)
	r.Add(func(_ context.Context, s *metrics.Scrape) { s.Set(&depth, 0.25) }, &depth)

	want := strings.TrimPrefix(`
# HELP queue_depth Depth.
# TYPE queue_depth gauge
queue_depth 0.25
# HELP requests_total Requests.\nA \\ stays.
# TYPE requests_total counter
requests_total{class="2xx",route="/a"} 3
requests_total{class="5xx",route="/\"b\"\\\n"} 1e+09
# HELP took_seconds Durations.
# TYPE took_seconds histogram
took_seconds_bucket{route="/a",le="0.005"} 2
took_seconds_bucket{route="/a",le="1"} 3
took_seconds_bucket{route="/a",le="+Inf"} 4
took_seconds_sum{route="/a"} 12.5
took_seconds_count{route="/a"} 4
`, "\n")
	if diff := cmp.Diff(want, write(t, &r)); diff != "" {
		t.Errorf("the text differs (-want +got):\n%s", diff)
	}
}

func write(t *testing.T, r *metrics.Registry) string {
	t.Helper()
	text, err := r.Write(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestValueThatIsSetTwiceIsAnError(t *testing.T) {
	t.Parallel()
	depth := metrics.Metric{Name: "queue_depth", Type: metrics.Gauge, Help: "Depth."}
	var r metrics.Registry
	r.Add(func(_ context.Context, s *metrics.Scrape) {
		s.Set(&depth, 1)
		s.Set(&depth, 2)
	}, &depth)
	if text, err := r.Write(t.Context()); err == nil {
		t.Errorf("got %s", text)
	}
}

func TestUnclearDeclarationsAreRefused(t *testing.T) {
	t.Parallel()
	for name, list := range map[string][]*metrics.Metric{
		"twice":             {{Name: "a", Type: metrics.Gauge, Help: "A."}, {Name: "a", Type: metrics.Gauge, Help: "A."}},
		"bad name":          {{Name: "a-b", Type: metrics.Gauge, Help: "A."}},
		"no help":           {{Name: "a", Type: metrics.Gauge}},
		"counter not total": {{Name: "a", Type: metrics.Counter, Help: "A."}},
		"total not counter": {{Name: "a_total", Type: metrics.Gauge, Help: "A."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("Add accepted it")
				}
			}()
			new(metrics.Registry).Add(func(context.Context, *metrics.Scrape) {}, list...)
		})
	}
}

func TestProcessMetricsHaveValues(t *testing.T) {
	t.Parallel()
	var r metrics.Registry
	metrics.AddProcess(&r, "v1.2.3")
	text := write(t, &r)
	for _, want := range []string{`,version="v1.2.3"} 1`, "\ngo_goroutines ", "\ngo_memory_classes_total_bytes ", "\nprocess_start_time_seconds "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
