// Package metrics reads metrics when Prometheus asks for them, and writes them with its client library.
//
// A metric is declared once, with its labels and a meaning. Most of the program counts anyway, for analytics, limits and cache
// statistics, so a request pays nothing for metrics.
//
// Every label has few values that the program knows: routes, statuses, names of caches. Never a key, a workspace, a person, a path
// or anything else that callers choose.
package metrics

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// Type is the type of a metric.
type Type string

// The types.
const (
	Counter   Type = "counter"   // only grows, until the program restarts
	Gauge     Type = "gauge"     // goes up and down
	Histogram Type = "histogram" // counts by upper bound
)

// Metric is a metric and what it means.
type Metric struct {
	Name   string
	Type   Type
	Labels []string
	Help   string

	desc *prometheus.Desc
}

// Registry is a list of metrics with the functions that read them.
type Registry struct {
	declared map[string]bool
	read     []func(ctx context.Context, s *Scrape)
	process  prometheus.Gatherers // of the Go runtime and the process
}

var wellFormed = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// Add adds metrics that read sets. It panics if a metric is declared twice or not well formed.
func (r *Registry) Add(read func(ctx context.Context, s *Scrape), list ...*Metric) {
	if r.declared == nil {
		r.declared = map[string]bool{}
	}
	for _, m := range list {
		if !wellFormed.MatchString(m.Name) || m.Help == "" || strings.HasSuffix(m.Name, "_total") != (m.Type == Counter) {
			panic(fmt.Sprintf("metrics: %q is not well formed", m.Name))
		}
		if r.declared[m.Name] {
			panic(fmt.Sprintf("metrics: %s is declared twice", m.Name))
		}
		r.declared[m.Name], m.desc = true, prometheus.NewDesc(m.Name, m.Help, m.Labels, nil)
	}
	r.read = append(r.read, read)
}

// Write returns all metrics as text, by name and labels. A metric without a value has no lines.
func (r *Registry) Write(ctx context.Context) ([]byte, error) {
	s := &Scrape{}
	for _, read := range r.read { // here, because the library calls collectors in goroutines, where a panic ends the program
		read(ctx, s)
	}
	own := prometheus.NewRegistry()
	if err := own.Register(s.values); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	families, err := append(prometheus.Gatherers{own}, r.process...).Gather()
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	var text bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
			return nil, fmt.Errorf("write metrics: %w", err)
		}
	}
	return text.Bytes(), nil
}

// Scrape takes the values of metrics.
type Scrape struct{ values values }

// values is a collector with the values of one scrape.
type values []prometheus.Metric

// Describe describes nothing, so that the library checks the values instead.
func (v values) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (v values) Collect(to chan<- prometheus.Metric) {
	for _, value := range v {
		to <- value
	}
}

// Set sets a counter or gauge. The values of its labels are in the order of Metric.Labels.
func (s *Scrape) Set(m *Metric, value float64, labels ...string) {
	of := prometheus.GaugeValue
	if m.Type == Counter {
		of = prometheus.CounterValue
	}
	s.values = append(s.values, prometheus.MustNewConstMetric(m.desc, of, value, labels...))
}

// SetBool sets a gauge to 1 or 0.
func (s *Scrape) SetBool(m *Metric, is bool, labels ...string) {
	if is {
		s.Set(m, 1, labels...)
		return
	}
	s.Set(m, 0, labels...)
}

// SetSeconds sets a counter or gauge to a duration.
func (s *Scrape) SetSeconds(m *Metric, d time.Duration, labels ...string) {
	s.Set(m, d.Seconds(), labels...)
}

// SetHistogram sets a histogram. counts are those of the buckets up to each of bounds, and of the one above them; sum is the sum of
// all durations.
func (s *Scrape) SetHistogram(m *Metric, bounds []time.Duration, counts []int64, sum time.Duration, labels ...string) {
	buckets, total := make(map[float64]uint64, len(bounds)), uint64(0)
	for i, count := range counts {
		total += uint64(count)
		if i < len(bounds) {
			buckets[bounds[i].Seconds()] = total
		}
	}
	s.values = append(s.values, prometheus.MustNewConstHistogram(m.desc, total, sum.Seconds(), buckets, labels...))
}
