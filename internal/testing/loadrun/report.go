package loadrun

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Report contains what a run measured, without the warm-up.
type Report struct {
	URL           string           `json:"url"`
	StartedAt     time.Time        `json:"startedAt"`
	WarmUpSeconds float64          `json:"warmUpSeconds"`
	Seconds       float64          `json:"seconds"` // measured
	Connections   int              `json:"connections"`
	TargetRate    float64          `json:"targetRate"` // 0: none
	Interrupted   bool             `json:"interrupted"`
	WaitedSeconds float64          `json:"waitedSeconds"` // part of Seconds, because a 429 asked for it
	Total         Line             `json:"total"`
	Operations    []Line           `json:"operations"`
	Statuses      map[string]int64 `json:"statuses"` // by status, or "none" for no response
}

// Line is the result of one kind of request, or of all.
type Line struct {
	Name          string  `json:"name"`
	Requests      int64   `json:"requests"`
	Succeeded     int64   `json:"succeeded"`
	Throttled     int64   `json:"throttled"`     // 429
	Failed        int64   `json:"failed"`        // any other error, or no response
	RatePerSecond float64 `json:"ratePerSecond"` // of those that succeeded
	Latency       Latency `json:"latencyMs"`     // of those that succeeded
}

// Latency is in milliseconds. With a target rate, it counts from when a request was due.
type Latency struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

// results collects what the connections measure.
type results struct {
	mu       *sync.Mutex
	lines    map[string]*line
	statuses map[string]int64
}

type line struct {
	Line
	histogram *hdrhistogram.Histogram // of microseconds
}

// longest is the maximum of a histogram. It exceeds the timeout of a request.
const longest = 2 * time.Hour

func newLine(name string) *line {
	return &line{Line: Line{Name: name}, histogram: hdrhistogram.New(1, longest.Microseconds(), 3)}
}

func newResults(mix Mix) results {
	r := results{mu: &sync.Mutex{}, lines: map[string]*line{}, statuses: map[string]int64{}}
	for name, weight := range mix {
		if weight > 0 {
			r.lines[name] = newLine(name)
		}
	}
	return r
}

// add counts a response; status 0 means none.
func (r *results) add(name string, status int, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if status == 0 {
		r.statuses["none"]++
	} else {
		r.statuses[strconv.Itoa(status)]++
	}
	l := r.lines[name]
	l.Requests++
	switch {
	case status == http.StatusTooManyRequests:
		l.Throttled++
	case status == 0 || status >= http.StatusBadRequest:
		l.Failed++
	default:
		l.Succeeded++
		// The only error is a value out of range.
		_ = l.histogram.RecordValue(min(max(1, took.Microseconds()), longest.Microseconds()))
	}
}

// report summarizes what was measured.
func (r *results) report(measured time.Duration) *Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	total := newLine("total")
	report := &Report{Seconds: measured.Seconds(), Statuses: r.statuses, Operations: []Line{}}
	for _, o := range operations {
		l := r.lines[o.name]
		if l == nil {
			continue
		}
		total.Requests += l.Requests
		total.Succeeded += l.Succeeded
		total.Throttled += l.Throttled
		total.Failed += l.Failed
		total.histogram.Merge(l.histogram)
		report.Operations = append(report.Operations, l.sum(measured))
	}
	report.Total = total.sum(measured)
	return report
}

func (l *line) sum(measured time.Duration) Line {
	if measured > 0 {
		l.RatePerSecond = math.Round(100*float64(l.Succeeded)/measured.Seconds()) / 100
	}
	if l.Succeeded > 0 {
		at := func(quantile float64) float64 { return milliseconds(float64(l.histogram.ValueAtQuantile(quantile))) }
		l.Latency = Latency{
			Mean: milliseconds(l.histogram.Mean()),
			P50:  at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: milliseconds(float64(l.histogram.Max())),
		}
	}
	return l.Line
}

func milliseconds(micros float64) float64 { return math.Round(micros) / 1000 }
