// Package metrics reads metrics when Prometheus asks for them, and writes them in its text format.
//
// A metric is declared once, with its labels and a meaning. Most of the program counts anyway, for analytics, limits and cache
// statistics, so a request pays nothing for metrics.
//
// Every label has few values that the program knows: routes, statuses, names of caches. Never a key, a workspace, a person, a path
// or anything else that callers choose.
package metrics

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
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
	Summary   Type = "summary"   // quantiles, with a sum and a count
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
	declared map[string]bool
	read     []func(ctx context.Context, s *Scrape)
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
		r.declared[m.Name] = true
	}
	r.read = append(r.read, read)
}

// Write returns all metrics as text, by name and labels. A metric without a value has no lines.
func (r *Registry) Write(ctx context.Context) ([]byte, error) {
	s := &Scrape{}
	for _, read := range r.read {
		read(ctx, s)
	}
	slices.SortFunc(s.values, func(a, b value) int {
		return cmp.Or(cmp.Compare(a.of.Name, b.of.Name), cmp.Compare(a.labels, b.labels))
	})
	var text bytes.Buffer
	for i, v := range s.values {
		switch {
		case i == 0 || s.values[i-1].of != v.of:
			fmt.Fprintf(&text, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", v.of.Name, escapeHelp.Replace(v.of.Help), v.of.Type)
		case s.values[i-1].labels == v.labels:
			return nil, fmt.Errorf("write metrics: %s is set twice with the same labels", v.of.Name)
		}
		text.Write(v.lines)
	}
	return text.Bytes(), nil
}

// Scrape takes the values of metrics.
type Scrape struct{ values []value }

// value is the value of a metric with some labels: one line, or several of a histogram or summary.
type value struct {
	of     *Metric
	labels string
	lines  []byte
}

// Set sets a counter or gauge. The values of its labels are in the order of Metric.Labels.
func (s *Scrape) Set(m *Metric, number float64, labels ...string) {
	v := newValue(m, labels)
	v.add("", "", number)
	s.values = append(s.values, v)
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
	v, total := newValue(m, labels), int64(0)
	for i, count := range counts {
		total += count
		bound := "+Inf"
		if i < len(bounds) {
			bound = formatFloat(bounds[i].Seconds())
		}
		v.add("_bucket", `le="`+bound+`"`, float64(total))
	}
	v.add("_sum", "", sum.Seconds())
	v.add("_count", "", float64(total))
	s.values = append(s.values, v)
}

// SetSummary sets a summary. The quantiles are at equal distances, from the minimum to the maximum.
func (s *Scrape) SetSummary(m *Metric, quantiles []time.Duration, sum time.Duration, count int64, labels ...string) {
	v := newValue(m, labels)
	for i, d := range quantiles {
		v.add("", `quantile="`+formatFloat(float64(i)/float64(len(quantiles)-1))+`"`, d.Seconds())
	}
	v.add("_sum", "", sum.Seconds())
	v.add("_count", "", float64(count))
	s.values = append(s.values, v)
}

func newValue(m *Metric, values []string) value {
	if len(values) != len(m.Labels) {
		panic(fmt.Sprintf("metrics: %s has %d labels, not %d", m.Name, len(m.Labels), len(values)))
	}
	pairs := make([]string, len(values))
	for i, name := range m.Labels {
		pairs[i] = name + `="` + escapeLabel.Replace(strings.ToValidUTF8(values[i], "�")) + `"`
	}
	slices.Sort(pairs) // by name, like the clients of Prometheus
	return value{of: m, labels: strings.Join(pairs, ",")}
}

// add adds a line. extra is one more label, or "".
func (v *value) add(suffix, extra string, number float64) {
	labels := v.labels
	if labels != "" && extra != "" {
		labels += ","
	}
	if labels += extra; labels != "" {
		labels = "{" + labels + "}"
	}
	v.lines = fmt.Appendf(v.lines, "%s%s%s %s\n", v.of.Name, suffix, labels, formatFloat(number))
}

var (
	escapeLabel = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	escapeHelp  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
)

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
