package client

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"
)

// Retries sets how often a call is repeated. The default is 3; 0 means never.
func Retries(n int) Option { return func(c *Client) { c.retry.most = n } }

// MaxWait sets the longest wait before a call is repeated. If the server asks for more, the call returns its error. The
// default is a minute.
func MaxWait(d time.Duration) Option { return func(c *Client) { c.retry.maxWait = d } }

// MaxTotalWait sets how long a call waits in total before its retries. If the next wait would be too long, the call returns
// its error. The default is two minutes.
func MaxTotalWait(d time.Duration) Option { return func(c *Client) { c.retry.maxTotal = d } }

// Clock replaces the time and the waits of retries, for tests that must not wait. sleep returns ctx.Err() if ctx ends
// first.
func Clock(now func() time.Time, sleep func(ctx context.Context, d time.Duration) error) Option {
	return func(c *Client) { c.retry.now, c.retry.sleep = now, sleep }
}

// Jitter replaces the random part of waits, from 0 to 1, for tests that need exact waits.
func Jitter(random func() float64) Option { return func(c *Client) { c.retry.jitter = random } }

// keyOfContext is the key of a context's Idempotency-Key.
type keyOfContext struct{}

// WithIdempotencyKey returns a context whose calls send an Idempotency-Key of 8 to 255 printable characters, if they accept
// one. Without it, each call has a random key. A program that stores the key before the call can repeat the call after a
// crash. Use a key for one call: the same key with another request is an error.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyOfContext{}, key)
}

// idempotencyKey returns the key of ctx, or a random key.
func idempotencyKey(ctx context.Context) string {
	if key, ok := ctx.Value(keyOfContext{}).(string); ok && key != "" {
		return key
	}
	return rand.Text()
}

// retry says how often and when calls are repeated.
type retry struct {
	most     int           // retries
	maxWait  time.Duration // for one retry
	maxTotal time.Duration // for all retries of a call
	now      func() time.Time
	sleep    func(context.Context, time.Duration) error
	jitter   func() float64 // from 0 to 1
}

func defaultRetry() retry {
	return retry{
		most: 3, maxWait: time.Minute, maxTotal: 2 * time.Minute, now: time.Now, sleep: sleep, jitter: mathrand.Float64,
	}
}

// Waits without Retry-After: the first is up to firstWait, each one after it up to twice as long, all up to longestWait.
const (
	firstWait   = 200 * time.Millisecond
	longestWait = 5 * time.Second
)

// backoff returns how long to wait before retry n, from 0: between half and all of a time that doubles.
func (r *retry) backoff(n int) time.Duration {
	longest := longestWait
	if n < 5 {
		longest = min(longest, firstWait<<n)
	}
	return longest/2 + time.Duration(r.jitter()*float64(longest/2))
}

// attempts are those of one call.
type attempts struct {
	*retry
	request  *request
	made     int
	repeated int // without waits for an earlier attempt that still runs
	started  time.Time
	waited   time.Duration
}

func (r *retry) start(request *request) *attempts {
	return &attempts{retry: r, request: request, started: r.now()}
}

// next says whether to repeat the call after err, and how long to wait before that.
func (a *attempts) next(ctx context.Context, err error) (wait time.Duration, again bool) {
	a.made++
	again, running := a.repeatable(err)
	if !again || ctx.Err() != nil || (a.repeated >= a.most && !running) {
		return 0, false
	}
	if e, ok := errors.AsType[*Error](err); ok {
		wait = e.RetryAfter
	}
	if wait == 0 {
		wait = a.backoff(a.made - 1)
	}
	if wait > a.maxWait || a.waited+wait > a.maxTotal {
		return 0, false
	}
	now := a.now()
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(now.Add(wait)) {
		return 0, false // the error says more than the end of the context would
	}
	if w := a.request.within; w > 0 && now.Add(wait).Sub(a.started) > w && !hadNoEffect(err) {
		return 0, false
	}
	a.waited += wait
	if !running {
		a.repeated++
	}
	return wait, true
}

// repeatable reports whether the call can succeed if it is repeated, without a second effect. running means that an earlier
// attempt still runs.
func (a *attempts) repeatable(err error) (again, running bool) {
	if err == nil || a.most == 0 {
		return false, false
	}
	if hadNoEffect(err) {
		return true, false
	}
	e, refused := errors.AsType[*Error](err)
	switch {
	case refused && e.Code == "idempotency_in_progress":
		return a.request.key != "", true
	case refused && e.Code == "unavailable" && a.request.once:
		return true, false // the server's own response, so none was lost
	case refused:
		return e.unavailable() && a.request.repeatable(), false
	}
	lost, ok := errors.AsType[*lostError](err)
	return ok && lost.temporary() && a.request.repeatable(), false
}

// unavailable reports whether the server, or a proxy in front of it, could not handle the request for now.
func (e *Error) unavailable() bool {
	return e.Status == http.StatusBadGateway || e.Status == http.StatusServiceUnavailable || e.Status == http.StatusGatewayTimeout
}

// repeatable reports whether a second attempt has no second effect.
func (r *request) repeatable() bool {
	if r.method == http.MethodPost {
		return r.key != "" || r.safe
	}
	return !r.once // changes are merge patches, and the other methods are idempotent
}

// hadNoEffect reports whether the request was certainly not performed: it exceeded a limit, or there was no connection to
// send it on.
func hadNoEffect(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status == http.StatusTooManyRequests
	}
	lost, ok := errors.AsType[*lostError](err)
	if !ok {
		return false
	}
	operation, ok := errors.AsType[*net.OpError](lost.err)
	return ok && (operation.Op == "dial" || operation.Op == "proxyconnect") && lost.temporary()
}

// lostError is the error of a call without a complete response.
type lostError struct{ err error }

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// temporary reports whether another attempt can get a response. Unknown hosts and wrong certificates stay.
func (e *lostError) temporary() bool {
	if name, ok := errors.AsType[*net.DNSError](e.err); ok && name.IsNotFound {
		return false
	}
	if _, redirected := errors.AsType[*redirectError](e.err); redirected {
		return false
	}
	_, certificate := errors.AsType[*tls.CertificateVerificationError](e.err)
	_, plain := errors.AsType[tls.RecordHeaderError](e.err)
	return !certificate && !plain
}

// retryAfter returns the wait that the header Retry-After asks for: seconds, or an HTTP date. It is 0 if there is none.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
		return time.Duration(max(0, seconds)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
