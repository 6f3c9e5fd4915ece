package trace_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"keepsake/internal/base/trace"
)

// collector is an Exporter that keeps what it gets.
type collector struct {
	mu    sync.Mutex
	err   error
	calls int
	spans []*trace.Span
}

func (c *collector) Export(_ context.Context, spans []*trace.Span) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	if c.err == nil {
		c.spans = append(c.spans, spans...)
	}
	return c.err
}

func (c *collector) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

func newTracer(sample float64) (*collector, *trace.Tracer) {
	c := &collector{}
	return c, trace.New(trace.Options{Exporter: c, Sample: sample, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
}

const sent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestTraceparentIsParsed(t *testing.T) {
	t.Parallel()
	p, ok := trace.Parse(sent)
	if !ok || p.Trace.String() != "4bf92f3577b34da6a3ce929d0e0e4736" || p.Span.String() != "00f067aa0ba902b7" || !p.Sampled {
		t.Errorf("got %v %v", p, ok)
	}
	for header, sampled := range map[string]bool{
		strings.TrimSuffix(sent, "1") + "0": false,
		strings.TrimSuffix(sent, "1") + "2": false,
		strings.TrimSuffix(sent, "1") + "3": true,
		"01" + sent[2:]:                     true,
		"cc" + sent[2:] + "-what-comes":     true, // a later version
	} {
		if p, ok := trace.Parse(header); !ok || p.Sampled != sampled {
			t.Errorf("%s: got %v %v", header, p, ok)
		}
	}
	for _, header := range []string{
		"", "00", sent + "-", sent + "-more", "ff" + sent[2:], "01" + sent[2:] + ".", sent[:54], strings.ToUpper(sent),
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
		strings.Replace(sent, "-", "_", 1), strings.Replace(sent, "4bf", "4bg", 1), strings.Replace(sent, "4b", "é", 1), " " + sent,
	} {
		if p, ok := trace.Parse(header); ok || p != (trace.Parent{}) {
			t.Errorf("%q was accepted: %v", header, p)
		}
	}
}

func FuzzTraceparent(f *testing.F) {
	f.Add(sent)
	f.Add("cc" + sent[2:] + "-x")
	f.Fuzz(func(t *testing.T, header string) {
		p, ok := trace.Parse(header)
		if ok && (!strings.Contains(header, p.Trace.String()) || !strings.Contains(header, p.Span.String())) || !ok && p != (trace.Parent{}) {
			t.Errorf("%q: %v %v", header, p, ok)
		}
	})
}

func TestStepsBelongToTheRequest(t *testing.T) {
	t.Parallel()
	c, tracer := newTracer(1)
	request := tracer.Request(trace.Parent{}, time.Now())
	ctx := trace.With(t.Context(), request)
	transaction := trace.From(ctx).Child("transaction", trace.Client)
	statement := transaction.Child("SELECT note", trace.Client)
	statement.Finish(false)
	transaction.Finish(true)
	request.Name = "GET /notes"
	request.Finish(false)
	tracer.Flush(t.Context(), time.Second)
	if len(c.spans) != 3 {
		t.Fatalf("%d spans, want 3", len(c.spans))
	}
	for i, parent := range []trace.SpanID{transaction.ID, request.ID, {}} {
		if s := c.spans[i]; s.Parent != parent || s.Trace != request.Trace || s.ID == (trace.SpanID{}) || s.End.Before(s.Start) || s.Failed != (i == 1) {
			t.Errorf("span %d is %+v", i, s)
		}
	}
	if n := tracer.Stats(); n != (trace.Stats{Exported: 3}) {
		t.Errorf("the statistics are %+v", n)
	}
}

func TestCallerDecidesWhetherItsTraceIsRecorded(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		sample float64
		parent string
		want   bool
	}{
		{1, "", true},
		{0, "", false},
		{1, sent[:54] + "0", false},
		{0, sent, true},
	} {
		c, tracer := newTracer(test.sample)
		parent, _ := trace.Parse(test.parent)
		s := tracer.Request(parent, time.Now())
		if s.Recorded() != test.want || s.Trace == (trace.ID{}) || s.Parent != parent.Span {
			t.Errorf("sample %v with %q: %+v", test.sample, test.parent, s)
		}
		if parent.Trace != (trace.ID{}) && s.Trace != parent.Trace {
			t.Errorf("sample %v with %q began the trace %s", test.sample, test.parent, s.Trace)
		}
		step := s.Child("step", trace.Internal)
		step.Set(trace.Text("a", "b"))
		step.Finish(false)
		s.Finish(false)
		tracer.Flush(t.Context(), time.Second)
		if n := len(c.spans); n != 0 != test.want {
			t.Errorf("sample %v with %q: %d spans", test.sample, test.parent, n)
		}
	}
}

func TestSampleIsAFractionOfTraces(t *testing.T) {
	t.Parallel()
	_, tracer := newTracer(0.25)
	n := 0
	for range 20_000 {
		if tracer.Begin("work", trace.Internal).Recorded() {
			n++
		}
	}
	if n < 4_500 || n > 5_500 { // ten standard deviations
		t.Errorf("%d of 20000 traces were recorded, want about 5000", n)
	}
}

// Without a tracer and a span, the code that traces works and allocates nothing. The test is not parallel, because AllocsPerRun
// counts what other tests allocate.
func TestNothingIsAllocatedWithoutATracer(t *testing.T) {
	ctx := t.Context()
	var tracer *trace.Tracer
	if n := testing.AllocsPerRun(100, func() {
		s := trace.From(ctx)
		step := s.Child("step", trace.Client)
		step.Finish(false)
		if trace.With(ctx, step) != ctx || tracer.Begin("work", trace.Internal) != nil {
			t.Error("a span began")
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func TestQueueOfSpansIsBounded(t *testing.T) {
	t.Parallel()
	c, tracer := newTracer(1)
	for range 3000 {
		tracer.Begin("work", trace.Internal).Finish(false)
	}
	if n := tracer.Stats().Dropped; n != 3000-2048 {
		t.Errorf("%d spans were dropped, want %d", n, 3000-2048)
	}
	tracer.Flush(t.Context(), time.Second)
	if len(c.spans) != 2048 || c.calls != 4 {
		t.Errorf("%d spans in %d batches, want 2048 in 4", len(c.spans), c.calls)
	}
}

func TestSpansAreExportedInTheBackground(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := &collector{}
		tracer := trace.New(trace.Options{Exporter: c, Sample: 1, Now: time.Now, Log: slog.New(slog.NewTextHandler(&log, nil))})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { tracer.Run(ctx) })
		span := func() { tracer.Begin("work", trace.Internal).Finish(false) }

		span()
		time.Sleep(6 * time.Second) // synctest's clock
		synctest.Wait()
		if len(c.spans) != 1 {
			t.Errorf("%d spans after 6 s, want 1", len(c.spans))
		}
		for range 512 {
			span()
		}
		synctest.Wait() // without time passing
		if len(c.spans) != 513 {
			t.Errorf("%d spans after a full batch, want 513", len(c.spans))
		}
		for range 2 {
			c.fail(errors.New("the collector is away"))
			span()
			time.Sleep(6 * time.Second)
			synctest.Wait()
		}
		c.fail(nil)
		span()
		cancel()
		running.Wait()
		if len(c.spans) != 514 {
			t.Errorf("%d spans at the end, want 514", len(c.spans))
		}
		if n := tracer.Stats(); n != (trace.Stats{Exported: 514, Failed: 2}) {
			t.Errorf("the statistics are %+v", n)
		}
		if n := strings.Count(log.String(), "exporting traces failed"); n != 1 || !strings.Contains(log.String(), "exported traces again") {
			t.Errorf("the log is %s", log.String())
		}
	})
}

// stuck is an exporter whose collector does not answer.
type stuck struct{}

func (stuck) Export(ctx context.Context, _ []*trace.Span) error {
	<-ctx.Done()
	return ctx.Err()
}

// A collector that does not answer delays the end of the program by three seconds, however many spans are left.
func TestEndIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tracer := trace.New(trace.Options{Exporter: stuck{}, Sample: 1, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		for range 2048 {
			tracer.Begin("work", trace.Internal).Finish(false)
		}
		began := time.Now()
		tracer.Flush(t.Context(), 3*time.Second)
		if took := time.Since(began); took != 3*time.Second { // synctest's clock
			t.Errorf("the end took %v, want 3s", took)
		}
		if n := tracer.Stats(); n != (trace.Stats{Failed: 2048}) {
			t.Errorf("the statistics are %+v", n)
		}
	})
}

// Only a caller who is known decides that its trace is recorded.
func TestUnknownCallerDecidesNothing(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		sample float64
		parent string
		want   bool
	}{
		{1, "", true},
		{0, "", false},
		{1, sent[:54] + "0", false},
		{1, sent, true},
		{0, sent, false},
	} {
		_, tracer := newTracer(test.sample)
		parent, _ := trace.Parse(test.parent)
		if s := tracer.RequestOf(parent, time.Now()); s.Recorded() != test.want {
			t.Errorf("sample %v with %q: recorded %v", test.sample, test.parent, s.Recorded())
		}
	}
}

func BenchmarkRequestSpan(b *testing.B) {
	for name, sample := range map[string]float64{"Recorded": 1, "NotRecorded": 0} {
		b.Run(name, func(b *testing.B) {
			_, tracer := newTracer(sample)
			b.ReportAllocs()
			for b.Loop() {
				s := tracer.Request(trace.Parent{}, time.Time{})
				s.Set(trace.Text("http.request.method", "GET"), trace.Int("http.response.status_code", 200))
				s.Finish(false)
			}
		})
	}
}
