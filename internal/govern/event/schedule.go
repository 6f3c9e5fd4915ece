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
	health = w.observe(r, now)
	if r.Error == "" {
		d.State, d.DueAt, d.FinishedAt = Delivered, nil, &now
		return health
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
		w.DisabledAt, w.DisabledReason = &now, reason
	}
	return health
}

// SlowAfter is from when on a response is slow.
const SlowAfter = 2 * time.Second

// After pauseFrom failures without a success between them, nothing is sent for a while, which doubles with each further one.
const (
	pauseFrom = 3
	pauseMin  = 5 * time.Second
	pauseMax  = time.Minute
)

// observe adds the result of an attempt to what is known of a receiver, and reports whether that changed.
func (w *Webhook) observe(r Result, now time.Time) (changed bool) {
	slow := r.Error == ErrTimeout || r.Duration >= SlowAfter
	changed = slow != w.Slow
	w.Slow = slow
	if r.Error == "" {
		if w.FailingSince != nil || w.Failures > 0 || w.LastSuccessAt == nil || now.Sub(*w.LastSuccessAt) >= successEvery {
			w.FailingSince, w.Failures, w.PausedUntil, w.LastSuccessAt, changed = nil, 0, nil, &now, true
		}
		return changed
	}
	if w.FailingSince == nil {
		w.FailingSince = &now
	}
	if w.Failures++; w.Failures >= pauseFrom {
		until := now.Add(min(pauseMin<<min(w.Failures-pauseFrom, 10), pauseMax))
		w.PausedUntil = &until
	}
	return true
}
