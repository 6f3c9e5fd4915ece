// Package metrics writes metrics in the text format of Prometheus.
//
// A metric is declared once, with its labels and a meaning. Values are read when they are asked for: most of the program counts
// anyway, for analytics, limits and cache statistics, so a request pays nothing for metrics.
//
// Every label has few values that the program knows: routes, statuses, names of caches. Never a key, a workspace, a person, a path
// or anything else that callers choose.
package metrics

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
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
}

// Registry is a list of metrics with the functions that read them.
type Registry struct {
	metrics []*Metric
	read    []func(ctx context.Context, s *Scrape)
}

var wellFormed = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// Add adds metrics that read sets. It panics if a metric is declared twice or not well formed.
func (r *Registry) Add(read func(ctx context.Context, s *Scrape), list ...*Metric) {
	for _, m := range list {
		if !wellFormed.MatchString(m.Name) || m.Help == "" || strings.HasSuffix(m.Name, "_total") != (m.Type == Counter) {
			panic(fmt.Sprintf("metrics: %q is not well formed", m.Name))
		}
		for _, known := range r.metrics {
			if known.Name == m.Name {
				panic(fmt.Sprintf("metrics: %s is declared twice", m.Name))
			}
		}
		r.metrics = append(r.metrics, m)
	}
	r.read = append(r.read, read)
}

// Metrics lists the metrics in the order in which they were added.
func (r *Registry) Metrics() []Metric {
	list := make([]Metric, len(r.metrics))
	for i, m := range r.metrics {
		list[i] = *m
	}
	return list
}

// Write returns all metrics as text. A metric without a value has no lines, also none about its type.
func (r *Registry) Write(ctx context.Context) []byte {
	s := &Scrape{lines: make(map[*Metric][]byte, len(r.metrics))}
	for _, read := range r.read {
		read(ctx, s)
	}
	var text []byte
	for _, m := range r.metrics {
		lines := s.lines[m]
		if lines == nil {
			continue
		}
		text = append(text, "# HELP "+m.Name+" "+escapeHelp.Replace(m.Help)+"\n# TYPE "+m.Name+" "+string(m.Type)+"\n"...)
		text = append(text, lines...)
	}
	return text
}

// Scrape takes the values of metrics.
type Scrape struct{ lines map[*Metric][]byte }

// Set sets a counter or gauge. The values of its labels are in the order of Metric.Labels.
func (s *Scrape) Set(m *Metric, value float64, labels ...string) {
	s.lines[m] = appendSample(s.lines[m], m, "", labels, "", value)
}

// SetBool sets a gauge to 1 or 0.
func (s *Scrape) SetBool(m *Metric, value bool, labels ...string) {
	if value {
		s.Set(m, 1, labels...)
		return
	}
	s.Set(m, 0, labels...)
}

// SetSeconds sets a counter or gauge to a duration.
func (s *Scrape) SetSeconds(m *Metric, value time.Duration, labels ...string) {
	s.Set(m, value.Seconds(), labels...)
}

// SetHistogram sets a histogram. counts are those of the buckets up to each of bounds, and of the one above them; sum is the sum of
// all durations.
func (s *Scrape) SetHistogram(m *Metric, bounds []time.Duration, counts []int64, sum time.Duration, labels ...string) {
	lines, total := s.lines[m], int64(0)
	for i, count := range counts {
		total += count
		bound := "+Inf"
		if i < len(bounds) {
			bound = formatFloat(bounds[i].Seconds())
		}
		lines = appendSample(lines, m, "_bucket", labels, bound, float64(total))
	}
	lines = appendSample(lines, m, "_sum", labels, "", sum.Seconds())
	s.lines[m] = appendSample(lines, m, "_count", labels, "", float64(total))
}

// appendSample appends a line. bound is the label le of a bucket; empty for none.
func appendSample(to []byte, m *Metric, suffix string, labels []string, bound string, value float64) []byte {
	if len(labels) != len(m.Labels) {
		panic(fmt.Sprintf("metrics: %s has %d labels, not %d", m.Name, len(m.Labels), len(labels)))
	}
	to = append(append(to, m.Name...), suffix...)
	open := byte('{')
	for i, name := range m.Labels {
		to, open = appendLabel(append(to, open), name, labels[i]), ','
	}
	if bound != "" {
		to, open = appendLabel(append(to, open), "le", bound), ','
	}
	if open == ',' {
		to = append(to, '}')
	}
	return append(append(append(to, ' '), formatFloat(value)...), '\n')
}

func appendLabel(to []byte, name, value string) []byte {
	return append(append(append(append(to, name...), `="`...), escapeLabel.Replace(value)...), '"')
}

var (
	escapeLabel = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	escapeHelp  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
)

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
