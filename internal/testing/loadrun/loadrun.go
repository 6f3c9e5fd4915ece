// Package loadrun sends a mix of requests to a deployment, measures the responses, and removes what it stored.
package loadrun

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"

	"keepsake/client"
)

// Options configures a run.
type Options struct {
	URL, Key  string
	UserAgent string
	Transport http.RoundTripper // nil: one that keeps Connections open

	Mix         Mix
	Connections int     // maximum of concurrent requests
	Rate        float64 // requests per second; 0: each connection sends a request as soon as it has the last response
	WarmUp      time.Duration
	Duration    time.Duration // measured, after the warm-up
	Documents   int           // stored before the run, for searches; the run replaces them
	Memories    int           // the same, for recalls

	// Progress is called regularly during a phase. total is 0 if it is unknown.
	Progress func(phase Phase, done, total time.Duration)
}

// Phase is a part of a run.
type Phase string

// The phases, in order.
const (
	Storing   Phase = "storing"
	WarmingUp Phase = "warming up"
	Measuring Phase = "measuring"
	Removing  Phase = "removing"
)

// Error is a mistake in the options.
type Error string

func (e Error) Error() string { return string(e) }

// Check returns an error for invalid options.
func (o *Options) Check() error {
	switch {
	case o.Connections < 1 || o.Connections > 10_000:
		return Error("connections must be from 1 to 10000")
	case !(o.Rate >= 0) || o.Rate > 1e6: // NaN is not
		return Error("the rate must be from 0 to 1000000 requests a second")
	case o.Duration <= 0 || o.Duration > 24*time.Hour:
		return Error("the duration must be more than 0 and at most 24h")
	case o.WarmUp < 0 || o.WarmUp > time.Hour:
		return Error("the warm-up must be from 0 to 1h")
	case o.Documents < 1 || o.Documents > 100_000:
		return Error("documents must be from 1 to 100000")
	case o.Memories < 1 || o.Memories > 100_000:
		return Error("memories must be from 1 to 100000")
	}
	return o.Mix.check()
}

// patience is the timeout of a request.
const patience = time.Minute

// removeTime is the timeout of the removal. Limits can delay each deletion.
const removeTime = 30 * time.Minute

// Run stores what the requests need, sends them, and removes everything again, even after ctx ends. If ctx ends the run, the
// report says so and contains what was measured until then. An error that is returned with a report is about the removal.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	transport, closeIdle := o.transport()
	defer closeIdle()
	statuses := statusTransport{transport}
	connect := func(options ...client.Option) (*client.Client, error) {
		options = append(options, client.HTTPClient(&http.Client{Transport: statuses}), client.UserAgent(o.UserAgent), client.FollowVersions())
		return client.New(o.URL, o.Key, options...)
	}
	load, err := connect(client.Retries(0)) // a refusal is a result
	if err != nil {
		return nil, Error(err.Error())
	}
	patient, err := connect(client.Retries(60), client.MaxWait(2*time.Minute), client.MaxTotalWait(2*time.Hour))
	if err != nil {
		return nil, Error(err.Error())
	}
	m := newMaterial(&o)
	o.progress(Storing, 0, 0)
	report, err := (*Report)(nil), m.store(ctx, patient)
	if err == nil {
		r := &run{Options: &o, material: m, client: load}
		report = r.drive(ctx)
	}
	o.progress(Removing, 0, 0)
	removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
	defer cancel()
	return report, errors.Join(err, m.remove(removing, patient))
}

func (o *Options) progress(phase Phase, done, total time.Duration) {
	if o.Progress != nil {
		o.Progress(phase, done, total)
	}
}

// transport returns a transport with a connection for each concurrent request. HTTP/2 would use one for all.
func (o *Options) transport() (t http.RoundTripper, closeIdle func()) {
	if o.Transport != nil {
		return o.Transport, func() {}
	}
	own := http.DefaultTransport.(*http.Transport).Clone()
	own.Protocols = new(http.Protocols)
	own.Protocols.SetHTTP1(true)
	own.MaxIdleConns, own.MaxIdleConnsPerHost = o.Connections, o.Connections
	return own, own.CloseIdleConnections
}

// statusTransport stores the status of a response in the request's context, because the client returns only those of errors.
type statusTransport struct{ http.RoundTripper }

type statusKey struct{}

func (t statusTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.RoundTripper.RoundTrip(r)
	if status, ok := r.Context().Value(statusKey{}).(*int); ok && err == nil {
		*status = res.StatusCode
	}
	return res, err
}

// run is the part of a run that sends requests.
type run struct {
	*Options
	*material
	client *client.Client

	pace    pace
	results results
}

// drive sends requests until the end of the run or of ctx.
func (r *run) drive(ctx context.Context) *Report {
	begin := time.Now()
	r.pace = pace{start: begin, measure: begin.Add(r.WarmUp), end: begin.Add(r.WarmUp + r.Duration)}
	if r.Rate > 0 {
		r.pace.interval = time.Duration(math.Max(1, float64(time.Second)/r.Rate))
	}
	r.results = newResults(r.Mix)
	watching, done := context.WithCancel(ctx)
	var watch, workers sync.WaitGroup
	watch.Go(func() { r.watch(watching) })
	for n := range r.Connections {
		workers.Go(func() { r.work(ctx, uint64(n)) })
	}
	workers.Wait()
	interrupted := ctx.Err() != nil
	done()
	watch.Wait()
	measured := r.Duration
	if interrupted {
		measured = max(0, time.Since(r.pace.measure))
	}
	report := r.results.report(measured)
	report.URL, report.StartedAt, report.WarmUpSeconds = r.URL, begin.UTC(), r.WarmUp.Seconds()
	report.Connections, report.TargetRate, report.Interrupted = r.Connections, r.Rate, interrupted
	report.WaitedSeconds = r.pace.waited.Seconds()
	return report
}

// watch reports progress while the workers run.
func (r *run) watch(ctx context.Context) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		now := time.Now()
		if now.Before(r.pace.measure) {
			r.progress(WarmingUp, now.Sub(r.pace.start), r.WarmUp)
		} else {
			r.progress(Measuring, min(now.Sub(r.pace.measure), r.Duration), r.Duration)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// work sends one request after another.
func (r *run) work(ctx context.Context, seed uint64) {
	random := newRandom(r.mark, seed)
	for {
		due, ok := r.pace.next(time.Now())
		if !ok || r.wait(ctx, due) != nil {
			return
		}
		begin := time.Now()
		if r.Rate > 0 { // the latency of a late request counts from when it was due
			begin = r.pace.owed(due)
		}
		operation := r.Mix.pick(random)
		status, err := r.send(ctx, func(ctx context.Context) error { return operation.send(ctx, r.client, r.material, random) })
		took := time.Since(begin)
		if ctx.Err() != nil {
			return
		}
		if !begin.Before(r.pace.measure) {
			r.results.add(operation.name, status, took)
		}
		if err != nil && r.yield(ctx, status, err) != nil {
			return
		}
	}
}

// wait waits until a request is due, and longer if the server asks for it.
func (r *run) wait(ctx context.Context, due time.Time) error {
	for {
		until := due
		if resume := r.pace.resumeAt(); resume.After(until) {
			until = resume
		}
		rest := time.Until(until)
		if rest <= 0 {
			return nil
		}
		if err := pause(ctx, rest); err != nil {
			return err
		}
	}
}

// send sends one request. The status is 0 if there was no response.
func (r *run) send(ctx context.Context, call func(ctx context.Context) error) (status int, err error) {
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, statusKey{}, &status), patience)
	defer cancel()
	err = call(ctx)
	if _, refused := errors.AsType[*client.Error](err); err != nil && !refused {
		status = 0 // the response was incomplete
	}
	return status, err
}

// yield waits as a refusal asks for. A limit concerns all connections, anything else only this one.
func (r *run) yield(ctx context.Context, status int, err error) error {
	after := 100 * time.Millisecond
	if e, ok := errors.AsType[*client.Error](err); ok && e.RetryAfter > 0 {
		after = e.RetryAfter
	}
	now := time.Now()
	switch {
	case status == http.StatusTooManyRequests:
		r.pace.pause(now, now.Add(after))
		return nil
	case status == 0 || status == http.StatusServiceUnavailable:
		return pause(ctx, min(after, max(0, r.pace.end.Sub(now))))
	default:
		return nil
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait: %w", ctx.Err())
	}
}
