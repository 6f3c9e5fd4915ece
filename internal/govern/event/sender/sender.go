// Package sender sends webhook deliveries over HTTP, only to addresses that are allowed.
package sender

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"keepsake/internal/base/outbound"
	"keepsake/internal/govern/event"
)

// Options is what a Sender needs.
type Options struct {
	// AllowPrivate permits addresses that are not on the public internet.
	AllowPrivate bool
	// Lookup resolves the name of a host. The system's resolver if nil.
	Lookup  func(ctx context.Context, host string) ([]netip.Addr, error)
	Release string        // of the program, for User-Agent
	Timeout time.Duration // of a request; 15 s if zero
	Now     func() time.Time
	Log     *slog.Logger
}

// Sender implements event.Sender.
type Sender struct {
	o      Options
	client *http.Client
}

const (
	defaultTimeout = 15 * time.Second
	// maxResponse is how much of a response is read, so that the connection can be used again. Nothing of it is kept.
	maxResponse = 64 << 10
)

// New returns a Sender.
func New(o Options) *Sender {
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	return &Sender{o: o, client: outbound.NewClient(outbound.Options{AllowPrivate: o.AllowPrivate, Lookup: o.Lookup, MaxPerHost: 2})}
}

// Close closes idle connections.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// Send implements event.Sender. It sends the request once and follows no redirect.
func (s *Sender) Send(ctx context.Context, r *event.Request) event.Result {
	began := s.o.Now()
	result := s.send(ctx, r)
	result.Duration = max(0, s.o.Now().Sub(began))
	return result
}

func (s *Sender) send(ctx context.Context, r *event.Request) event.Result {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, strings.NewReader(r.Body))
	if err != nil {
		return event.Result{Error: event.ErrConnection}
	}
	request.Header.Set("User-Agent", "Keepsake-Webhooks/"+s.o.Release)
	for _, h := range r.Header {
		request.Header.Set(h[0], h[1])
	}
	response, err := s.client.Do(request)
	if err != nil {
		return s.failure(ctx, err)
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, maxResponse) // the status has decided
	return resultOf(response, s.o.Now())
}

// failure returns the result of a request without a response. The error itself is not shown to the owner of the webhook, because
// it describes the network of this machine.
func (s *Sender) failure(ctx context.Context, err error) event.Result {
	if errors.Is(err, outbound.ErrAddress) {
		s.o.Log.Warn("refused to deliver to an address that is not on the public internet; see webhooks.allowPrivate")
	}
	var timeout net.Error
	if ctx.Err() != nil || errors.As(err, &timeout) && timeout.Timeout() {
		return event.Result{Error: event.ErrTimeout}
	}
	return event.Result{Error: event.ErrConnection}
}

func resultOf(response *http.Response, now time.Time) event.Result {
	result := event.Result{Status: response.StatusCode}
	switch {
	case response.StatusCode >= 200 && response.StatusCode < 300:
	case response.StatusCode >= 300 && response.StatusCode < 400:
		result.Error = event.ErrRedirect
	default:
		result.Error = event.ErrStatus
	}
	if response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable {
		result.RetryAfter = outbound.RetryAfter(response.Header.Get("Retry-After"), now)
	}
	return result
}
