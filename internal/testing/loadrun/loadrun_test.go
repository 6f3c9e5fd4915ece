package loadrun_test

import (
	"context"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"keepsake/internal/testing/loadrun"
)

func options(t *testing.T, f *fake, mix string) loadrun.Options {
	t.Helper()
	parsed, err := loadrun.ParseMix(mix)
	if err != nil {
		t.Fatal(err)
	}
	return loadrun.Options{
		URL: "http://keepsake.test", Key: "k", Transport: f, Mix: parsed,
		Connections: 4, Duration: 10 * time.Second, Documents: 20, Memories: 30,
	}
}

func run(t *testing.T, ctx context.Context, o loadrun.Options) *loadrun.Report {
	t.Helper()
	report, err := loadrun.Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestARateIsKeptAndTheWarmUpIsNotCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.took = 20 * time.Millisecond
		o := options(t, f, loadrun.DefaultMix)
		o.Rate, o.WarmUp = 50, 2*time.Second
		r := run(t, t.Context(), o)
		if r.Total.Requests != 500 || r.Total.Succeeded != 500 || r.Total.RatePerSecond != 50 || r.Seconds != 10 || r.Statuses["200"] != 500 {
			t.Errorf("got %+v", r)
		}
		if n := len(f.measured); n != 600 {
			t.Errorf("sent %d, want 600 with the warm-up", n)
		}
		for i, at := range f.measured {
			if want := f.measured[0].Add(time.Duration(i) * 20 * time.Millisecond); !at.Equal(want) {
				t.Fatalf("request %d came at %s, want %s", i, at, want)
			}
		}
		if l := r.Total.Latency; math.Abs(l.P50-20) > 0.02 || math.Abs(l.Max-20) > 0.02 {
			t.Errorf("latencies %+v, want 20 ms", l)
		}
		if left := f.left(); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

func TestConnectionsSendOneAfterTheOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.took = 100 * time.Millisecond
		r := run(t, t.Context(), options(t, f, "health"))
		if r.Total.Requests != 400 || f.most != 4 { // 4 connections, 10 each second
			t.Errorf("%d requests, %d at once; want 400 and 4", r.Total.Requests, f.most)
		}
	})
}

// A server that takes 300 ms for each request cannot answer 20 a second on 4 connections. What is late has waited.
func TestWaitingForAConnectionCountsAtARate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.took = 300 * time.Millisecond
		o := options(t, f, "health")
		o.Rate = 20
		r := run(t, t.Context(), o)
		if r.Total.Latency.P50 < 1000 {
			t.Errorf("latencies %+v: the wait of late requests is not in them", r.Total.Latency)
		}
	})
}

func TestNothingIsSentBeforeRetryAfter(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{0, 40} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.took = 50 * time.Millisecond
			var refused, until time.Time
			f.refuse = func(n int, at time.Time) (int, int) {
				switch {
				case at.Before(until) && !at.Equal(refused):
					t.Errorf("rate %g: a request came %s before Retry-After had passed", rate, until.Sub(at))
				case n == 10:
					refused, until = at, at.Add(7*time.Second)
				}
				if at.Equal(refused) {
					return http.StatusTooManyRequests, 7
				}
				return 0, 0
			}
			o := options(t, f, "search,recall")
			o.Rate = rate
			r := run(t, t.Context(), o)
			if r.Total.Throttled == 0 || r.Statuses["429"] != r.Total.Throttled || r.WaitedSeconds != 7 || r.Total.Failed != 0 {
				t.Errorf("rate %g: got %+v", rate, r)
			}
			if after := r.Total.Succeeded; after < 50 || r.Total.Latency.Max > 200 {
				t.Errorf("rate %g: %d succeeded, at most %g ms: the wait ended the run or is in the latencies", rate, after, r.Total.Latency.Max)
			}
			if left := f.left(); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestRefusalsAreCountedAndOnlyTheirConnectionWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.took = 100 * time.Millisecond
		f.refuse = func(n int, _ time.Time) (int, int) {
			if n == 0 {
				return http.StatusServiceUnavailable, 5
			}
			return 0, 0
		}
		r := run(t, t.Context(), options(t, f, "health"))
		if r.Total.Failed != 1 || r.Statuses["503"] != 1 || r.Total.Succeeded != 350 { // one of four connections waits for half of the time
			t.Errorf("got %+v", r)
		}
	})
}

func TestAnInterruptedRunRemovesWhatItStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.took = 100 * time.Millisecond
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		stored := 0
		o := options(t, f, loadrun.DefaultMix)
		o.Progress = func(phase loadrun.Phase, done, _ time.Duration) {
			if phase == loadrun.Measuring && done >= 2*time.Second {
				stored = max(stored, len(f.left()))
				interrupt()
			}
		}
		r := run(t, ctx, o)
		if !r.Interrupted || r.Seconds != 2 || r.Total.Succeeded == 0 {
			t.Errorf("got %+v", r)
		}
		if left := f.left(); stored != 28 || len(left) != 0 {
			t.Errorf("%d names were stored, left behind: %v", stored, left)
		}
	})
}

// A key that may not store anything has stored nothing, so there is nothing to remove, and one line to report.
func TestARefusedStoreIsReportedOnce(t *testing.T) {
	t.Parallel()
	refusing := roundTripper(func(*http.Request) (*http.Response, error) {
		return answer(http.StatusForbidden, 0, `{"error":"insufficient_scope","message":"The scope is missing."}`), nil
	})
	o := options(t, newFake(), loadrun.DefaultMix)
	o.Transport = refusing
	r, err := loadrun.Run(t.Context(), o)
	if r != nil || err == nil || strings.Contains(err.Error(), "removed") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %+v, %v", r, err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestWhatIsLeftBehindIsNamed(t *testing.T) {
	t.Parallel()
	f := newFake()
	failing := roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/subjects/") {
			return answer(http.StatusForbidden, 0, `{"error":"insufficient_scope","message":"The scope is missing."}`), nil
		}
		return f.RoundTrip(r)
	})
	o := options(t, f, loadrun.DefaultMix)
	o.Transport, o.Duration = failing, time.Millisecond
	r, err := loadrun.Run(t.Context(), o)
	if r == nil || err == nil || !strings.Contains(err.Error(), "subjects bench-") || strings.Contains(err.Error(), "documents of") {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestNonsenseIsRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(o *loadrun.Options){
		"no connection":    func(o *loadrun.Options) { o.Connections = 0 },
		"no time":          func(o *loadrun.Options) { o.Duration = 0 },
		"a negative rate":  func(o *loadrun.Options) { o.Rate = -1 },
		"a rate of NaN":    func(o *loadrun.Options) { o.Rate = math.NaN() },
		"an infinite rate": func(o *loadrun.Options) { o.Rate = math.Inf(1) },
		"no warm-up":       func(o *loadrun.Options) { o.WarmUp = -1 },
		"no document":      func(o *loadrun.Options) { o.Documents = 0 },
		"no memory":        func(o *loadrun.Options) { o.Memories = -1 },
		"an empty mix":     func(o *loadrun.Options) { o.Mix = nil },
		"an address":       func(o *loadrun.Options) { o.URL = "nowhere" },
	} {
		o := options(t, newFake(), "health")
		change(&o)
		if _, err := loadrun.Run(t.Context(), o); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v", name, err)
		} else if _, ok := err.(loadrun.Error); !ok {
			t.Errorf("%s: got %T: %v", name, err, err)
		}
	}
	for _, mix := range []string{"", "bogus", "search=x", "search=-1", "search=0", "search,search=2", "search=1,"} {
		if _, err := loadrun.ParseMix(mix); err == nil {
			t.Errorf("the mix %q was taken", mix)
		}
	}
}
