package event

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/problem"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestRetriesLastThreeDays(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		jitter float64
		want   time.Duration
	}{{0, 72 * time.Hour}, {1, 79*time.Hour + 12*time.Minute}} {
		at, tries := noon, 1
		for {
			next, ok := retryAt(at, tries, test.jitter, 0)
			if !ok {
				break
			}
			at, tries = next, tries+1
		}
		if got := at.Sub(noon); got != test.want || tries != MaxTries {
			t.Errorf("with jitter %v: %d attempts in %s, want %d in %s", test.jitter, tries, got, MaxTries, test.want)
		}
	}
}

func TestReceiverCanAskForALongerWait(t *testing.T) {
	t.Parallel()
	for ask, want := range map[time.Duration]time.Duration{
		time.Second: 5 * time.Second, time.Hour: time.Hour, 100 * time.Hour: 24 * time.Hour,
	} {
		if at, ok := retryAt(noon, 1, 0, ask); !ok || at.Sub(noon) != want {
			t.Errorf("asked for %s: got %s, %v", ask, at.Sub(noon), ok)
		}
	}
}

func TestWebhookIsDisabledAfterLastingFailure(t *testing.T) {
	t.Parallel()
	refused, accepted := Result{Status: 500, Error: ErrStatus}, Result{Status: 204}
	w, d, at := &Webhook{}, &Delivery{State: Pending}, noon
	for d.State == Pending {
		d.apply(w, refused, at, 0)
		if d.DueAt != nil {
			at = *d.DueAt
		}
	}
	if d.State != Failed || d.Tries != MaxTries || w.DisabledReason != DisabledFailing || !w.DisabledAt.Equal(noon.Add(72*time.Hour)) {
		t.Errorf("got %+v, %+v", d, w)
	}

	// A delivery that succeeds meanwhile shows that the receiver works.
	w, d, at = &Webhook{}, &Delivery{State: Pending}, noon
	for d.State == Pending {
		d.apply(w, refused, at, 0)
		if d.Tries == 3 {
			(&Delivery{State: Pending}).apply(w, accepted, at, 0)
		}
		if d.DueAt != nil {
			at = *d.DueAt
		}
	}
	if d.State != Failed || w.DisabledAt != nil || w.LastSuccessAt == nil {
		t.Errorf("got %+v, %+v", d, w)
	}
}

func TestGoneReceiverDisablesItsWebhookAtOnce(t *testing.T) {
	t.Parallel()
	w, d := &Webhook{}, &Delivery{State: Pending}
	if health := d.apply(w, Result{Status: 410, Error: ErrStatus}, noon, 0); !health || d.State != Failed || w.DisabledReason != DisabledGone {
		t.Errorf("got %v, %+v, %+v", health, d, w)
	}
}

func TestHealthIsWrittenOnlyWhenItChanges(t *testing.T) {
	t.Parallel()
	w := &Webhook{}
	var got []bool
	for _, step := range []struct {
		result Result
		after  time.Duration
	}{
		{Result{Status: 200}, 0},
		{Result{Status: 200}, time.Second},
		{Result{Error: ErrTimeout}, 2 * time.Second},
		{Result{Error: ErrTimeout}, 3 * time.Second},
		{Result{Status: 200}, 4 * time.Second},
		{Result{Status: 200}, 2 * time.Minute},
	} {
		got = append(got, (&Delivery{}).apply(w, step.result, noon.Add(step.after), 0))
	}
	if diff := cmp.Diff([]bool{true, false, true, true, true, true}, got); diff != "" {
		t.Error(diff)
	}
}

func TestOnlyTheNewestAttemptsAreKept(t *testing.T) {
	t.Parallel()
	d := &Delivery{}
	for i := range 2 * maxAttempts {
		d.Tries = 0 // replayed
		d.apply(&Webhook{}, Result{Status: 500, Error: ErrStatus}, noon.Add(time.Duration(i)*time.Hour), 0)
	}
	if n := len(d.Attempts); n != maxAttempts || !d.Attempts[n-1].At.Equal(noon.Add((2*maxAttempts-1)*time.Hour)) {
		t.Errorf("%d attempts, the last at %s", n, d.Attempts[n-1].At)
	}
}

func TestAFailingReceiverIsPaused(t *testing.T) {
	t.Parallel()
	w := &Webhook{}
	var pauses []time.Duration
	for range 8 {
		w.observe(Result{Status: 500, Error: ErrStatus}, noon)
		pause := time.Duration(0)
		if w.PausedUntil != nil {
			pause = w.PausedUntil.Sub(noon)
		}
		pauses = append(pauses, pause/time.Second)
	}
	if diff := cmp.Diff([]time.Duration{0, 0, 5, 10, 20, 40, 60, 60}, pauses); diff != "" {
		t.Error(diff)
	}
	for range 100 {
		w.observe(Result{Status: 500, Error: ErrStatus}, noon)
	}
	if pause := w.PausedUntil.Sub(noon); pause != pauseMax {
		t.Errorf("a pause of %s", pause)
	}
	if !w.observe(Result{Status: 200}, noon) || w.PausedUntil != nil || w.Failures != 0 {
		t.Errorf("after a success: %+v", w)
	}
}

func TestAReceiverIsSlowUntilItIsNot(t *testing.T) {
	t.Parallel()
	w := &Webhook{}
	var got []bool
	for _, r := range []Result{
		{Status: 200, Duration: SlowAfter - 1}, {Status: 200, Duration: SlowAfter}, {Error: ErrTimeout}, {Error: ErrConnection}, {Status: 200},
	} {
		w.observe(r, noon)
		got = append(got, w.Slow)
	}
	if diff := cmp.Diff([]bool{false, true, true, false, false}, got); diff != "" {
		t.Error(diff)
	}
}

func issueOf(err error) problem.Issue {
	p, ok := problem.As(err)
	if !ok {
		return ""
	}
	return p.Details.Issue
}

func TestURLsAreChecked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://example.org": "", "http://example.org:8443/a?b=c": "", "http://[2001:db8::1]:80/": "", "http://127.0.0.1:1/": "",
		"": "required", "example.org": "format", "ftp://example.org": "format", "http://": "format", "https:example.org": "format",
		"http://example.org:99999": "format", "http://a b": "format", "http://exämple.org": "format", "javascript:alert(1)": "format",
		"http://u:p@example.org": "not_allowed", "http://example.org/#a": "not_allowed", "http://example.org/\n": "format",
		"http://example.org/" + fmt.Sprintf("%02048d", 0): "too_long",
	} {
		got := ""
		if err := checkURL(text); err != nil {
			got = string(issueOf(err))
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
