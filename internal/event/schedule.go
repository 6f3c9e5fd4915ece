package event

import (
	"slices"
	"time"
)

// delays are the times between the attempts of a delivery. Together they last three days.
var delays = [...]time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour,
	20*time.Hour + 24*time.Minute + 55*time.Second,
}

// MaxTries is how often a delivery is attempted.
const MaxTries = len(delays) + 1

const (
	// jitterShare is the part of a delay by which it can become longer, so that deliveries that failed together are not attempted
	// together again.
	jitterShare = 0.1
	// maxRetryAfter is the longest wait that a receiver can ask for.
	maxRetryAfter = 24 * time.Hour
)

// retryAt returns the time of the attempt after one that failed. tries counts the attempts so far, jitter is from 0 to 1, and
// retryAfter is what the receiver asked for. ok is false after the last attempt.
func retryAt(failed time.Time, tries int, jitter float64, retryAfter time.Duration) (at time.Time, ok bool) {
	if tries < 1 || tries >= MaxTries {
		return time.Time{}, false
	}
	delay := delays[tries-1]
	delay += time.Duration(jitter * jitterShare * float64(delay))
	return failed.Add(max(delay, min(retryAfter, maxRetryAfter))), true
}

// Result is the outcome of one request.
type Result struct {
	Status     int           // of the response; 0 if there was none
	Error      ErrorKind     // empty if the receiver accepted the delivery
	RetryAfter time.Duration // that the receiver asked for
	Duration   time.Duration
}

// ErrorKind says why an attempt failed. It does not tell more about networks that the owner of a webhook cannot see.
type ErrorKind string

// The kinds of errors.
const (
	ErrConnection ErrorKind = "connection_failed" // no connection to an allowed address
	ErrTimeout    ErrorKind = "timeout"
	ErrStatus     ErrorKind = "bad_status" // neither 2xx nor 3xx
	ErrRedirect   ErrorKind = "redirect"   // 3xx, which is not followed
)

const (
	statusGone = 410
	// maxAttempts is how many attempts of a delivery are kept.
	maxAttempts = 20
	// successEvery is how exactly Webhook.LastSuccessAt is kept.
	successEvery = time.Minute
)

// apply adds the result of an attempt to the delivery and to its webhook. health reports whether the webhook changed.
func (d *Delivery) apply(w *Webhook, r Result, now time.Time, jitter float64) (health bool) {
	if d.Tries++; d.TriesSince == nil {
		d.TriesSince = &now
	}
	d.Claim = ""
	d.Attempts = append(slices.Clone(d.Attempts), Attempt{At: now, Status: r.Status, Error: string(r.Error), Duration: r.Duration})
	d.Attempts = d.Attempts[max(0, len(d.Attempts)-maxAttempts):]
	if r.Error == "" {
		d.State, d.DueAt, d.FinishedAt = Delivered, nil, &now
		health = w.FailingSince != nil || w.LastSuccessAt == nil || now.Sub(*w.LastSuccessAt) >= successEvery
		if health {
			w.FailingSince, w.LastSuccessAt = nil, &now
		}
		return health
	}
	if w.FailingSince == nil {
		w.FailingSince, health = &now, true
	}
	if at, ok := retryAt(now, d.Tries, jitter, r.RetryAfter); ok && r.Status != statusGone {
		d.DueAt = &at
		return health
	}
	d.State, d.DueAt, d.FinishedAt = Failed, nil, &now
	reason := DisabledReason("")
	switch {
	case r.Status == statusGone:
		reason = DisabledGone
	case d.Tries >= MaxTries && !w.FailingSince.After(*d.TriesSince): // no other delivery succeeded meanwhile
		reason = DisabledFailing
	}
	if reason != "" && w.DisabledAt == nil {
		w.DisabledAt, w.DisabledReason, health = &now, reason, true
	}
	return health
}

// lane limits the requests to one webhook, so that receivers that do not respond keep nothing from the others.
type lane struct {
	running  int
	failures int // since the last success
	until    time.Time
}

const (
	laneRequests = 4
	lanePauses   = 3 // failures before the first pause
	lanePause    = 5 * time.Second
	lanePauseMax = time.Minute
)

// room returns how many requests can begin now.
func (l *lane) room(now time.Time) int {
	switch {
	case now.Before(l.until):
		return 0
	case l.failures > 0:
		return max(0, 1-l.running)
	default:
		return max(0, laneRequests-l.running)
	}
}

// ended counts the end of a request.
func (l *lane) ended(failed bool, now time.Time) {
	l.running--
	if !failed {
		l.failures, l.until = 0, time.Time{}
		return
	}
	if l.failures++; l.failures >= lanePauses {
		l.until = now.Add(min(lanePause<<min(l.failures-lanePauses, 10), lanePauseMax))
	}
}

// idle reports whether the lane is like a new one.
func (l *lane) idle() bool { return l.running == 0 && l.failures == 0 }
