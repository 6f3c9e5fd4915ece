package client_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/client"
)

const unavailable = `{"error":"unavailable","message":"m"}`

func newKey() client.NewAPIKey { return client.NewAPIKey{Name: "x", Scopes: []string{"read"}} }

func TestCallWaitsAsLongAsTheServerAsks(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	s := &scripted{now: now, answers: []answer{
		{429, "7", limited},
		{503, "2", unavailable},
		{503, now.Add(20 * time.Second).Format(http.TimeFormat), unavailable}, // 9 s have passed
		{200, "", `{"status":"healthy"}`},
	}}
	h, err := serve(t, s).Health(t.Context())
	if err != nil || h.Status != "healthy" {
		t.Fatalf("got %v, %v", h, err)
	}
	if diff := cmp.Diff([]time.Duration{7 * time.Second, 2 * time.Second, 11 * time.Second}, s.slept); diff != "" {
		t.Error(diff)
	}
}

func TestWaitsWithoutRetryAfterDoubleAndAreRandom(t *testing.T) {
	t.Parallel()
	s := &scripted{answers: []answer{{503, "", unavailable}}}
	c := serve(t, s, client.Retries(7), client.Jitter(func() float64 { return 0.5 }))
	if _, err := c.Health(t.Context()); err == nil {
		t.Error("no error")
	}
	const ms = time.Millisecond
	if diff := cmp.Diff([]time.Duration{150 * ms, 300 * ms, 600 * ms, 1200 * ms, 2400 * ms, 3750 * ms, 3750 * ms}, s.slept); diff != "" {
		t.Error(diff)
	}
}

func TestRetriesAreBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options []client.Option
		answer  answer
		want    int // requests
	}{
		"by default":               {nil, answer{429, "1", limited}, 4},
		"by Retries(0)":            {[]client.Option{client.Retries(0)}, answer{429, "1", limited}, 1},
		"by Retries(0), when lost": {[]client.Option{client.Retries(0)}, answer{lost, "", ""}, 1},
		"by MaxWait":               {[]client.Option{client.MaxWait(5 * time.Second)}, answer{429, "6", limited}, 1},
		"by MaxTotalWait":          {[]client.Option{client.MaxTotalWait(5 * time.Second)}, answer{429, "2", limited}, 3},
		"by the total by default":  {[]client.Option{client.Retries(9)}, answer{429, "50", limited}, 3},
		"after an internal error":  {nil, answer{500, "", `{"error":"internal_error","message":"m"}`}, 1},
		"after lost connections":   {nil, answer{lost, "", ""}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &scripted{answers: []answer{c.answer}}
			_, err := serve(t, s, c.options...).Health(t.Context())
			if err == nil {
				t.Error("no error")
			}
			if len(s.requests) != c.want || len(s.slept) != c.want-1 {
				t.Errorf("got %d requests after %v, want %d", len(s.requests), s.slept, c.want)
			}
			if e, ok := errors.AsType[*client.Error](err); ok && e.Attempts != c.want {
				t.Errorf("the error counts %d attempts, want %d", e.Attempts, c.want)
			}
		})
	}
}

// transport is the function of an http.RoundTripper.
type transport func(r *http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		c, err := client.New("http://localhost", "", client.HTTPClient(&http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
			requests++
			w := httptest.NewRecorder()
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusTooManyRequests)
			w.WriteString(limited)
			return w.Result(), nil
		})}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		started := time.Now()
		time.AfterFunc(29*time.Second, cancel)
		_, err = c.Health(ctx)
		if e, ok := errors.AsType[*client.Error](err); !errors.Is(err, context.Canceled) || !ok || e.Code != "rate_limit_exceeded" {
			t.Errorf("got %v, want the end of the context and the refusal", err)
		}
		if waited := time.Since(started); waited != 29*time.Second || requests != 1 {
			t.Errorf("%d requests and a wait of %s, want one and until the context ended", requests, waited)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &scripted{answers: []answer{{429, "30", limited}}}
	if _, err := serve(t, s).Health(ctx); !errors.Is(err, context.Canceled) || len(s.requests) != 0 {
		t.Errorf("with an ended context: %v and %d requests", err, len(s.requests))
	}
}

func TestNoWaitThatOutlivesTheDeadline(t *testing.T) {
	t.Parallel()
	s := &scripted{now: time.Now(), answers: []answer{{429, "40", limited}}}
	c := serve(t, s)
	ctx, cancel := context.WithDeadline(t.Context(), s.now.Add(30*time.Second))
	defer cancel()
	_, err := c.Health(ctx)
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Status != 429 || s.slept != nil {
		t.Errorf("got %v after %v, want the refusal at once", err, s.slept)
	}
}

func TestRepeatedPostKeepsItsIdempotencyKey(t *testing.T) {
	t.Parallel()
	for _, first := range []answer{
		{lost, "", ""},
		{cut, "", `{"id":`},
		{502, "", "<html>"},
		{503, "1", unavailable},
		{504, "", "<html>"},
	} {
		s := &scripted{answers: []answer{first, {201, "", `{"id":"key_1","key":"kpsk_x"}`}}}
		c := serve(t, s)
		for range 2 {
			if _, err := c.CreateAPIKey(t.Context(), newKey()); err != nil {
				t.Fatal(err)
			}
		}
		if len(s.requests) != 3 {
			t.Fatalf("after %d: %d requests, want 3", first.status, len(s.requests))
		}
		one, again, other := s.requests[0], s.requests[1], s.requests[2]
		if one != again {
			t.Errorf("the retry differs: %+v, %+v", one, again)
		}
		if len(one.Idempotency) < 8 || one.Idempotency == other.Idempotency {
			t.Errorf("keys %q and %q", one.Idempotency, other.Idempotency)
		}
		if one.Key != "kpsk_test" || one.Media != "application/json" || one.Body != `{"name":"x","scopes":["read"]}` {
			t.Errorf("sent %+v", one)
		}
	}
}

func TestRunningAttemptIsWaitedFor(t *testing.T) {
	t.Parallel()
	running := answer{409, "", `{"error":"idempotency_in_progress","message":"m"}`}
	s := &scripted{answers: []answer{{lost, "", ""}, running, running, running, running, running, {201, "", `{"id":"key_1"}`}}}
	if k, err := serve(t, s).CreateAPIKey(t.Context(), newKey()); err != nil || k.ID != "key_1" {
		t.Errorf("got %+v, %v", k, err)
	}
	s = &scripted{answers: []answer{running}}
	_, err := serve(t, s, client.MaxTotalWait(2*time.Second)).CreateAPIKey(t.Context(), newKey())
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Status != 409 || len(s.slept) != 3 {
		t.Errorf("got %v after %v, want the conflict after 200, 400 and 800 ms", err, s.slept)
	}
	s = &scripted{answers: []answer{{409, "", `{"error":"conflict","message":"m"}`}}}
	if _, err := serve(t, s).CreateAPIKey(t.Context(), newKey()); err == nil || len(s.requests) != 1 {
		t.Errorf("another conflict: %v after %d requests", err, len(s.requests))
	}
}

func TestCallThatMustNotHappenTwiceIsSentOnce(t *testing.T) {
	t.Parallel()
	for _, a := range []answer{{lost, "", ""}, {cut, "", "{"}, {503, "1", unavailable}} {
		s := &scripted{answers: []answer{a}}
		if _, err := serve(t, s).VerifyAPIKey(t.Context(), client.Inquiry{Key: "kpsk_x"}); err == nil || len(s.requests) != 1 {
			t.Errorf("after %d: %v, %d requests", a.status, err, len(s.requests))
		}
	}
	s := &scripted{answers: []answer{{429, "1", limited}, {200, "", `{"valid":true}`}}}
	if v, err := serve(t, s).VerifyAPIKey(t.Context(), client.Inquiry{Key: "kpsk_x"}); err != nil || !v.Valid {
		t.Errorf("after a limit: %v, %v", v, err)
	}
}

func TestErasureIsRepeatedAsLongAsNoReceiptIsLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first answer
		want  int
	}{{answer{503, "1", unavailable}, 2}, {answer{429, "1", limited}, 2}, {answer{lost, "", ""}, 1}, {answer{504, "", "<html>"}, 1}} {
		s := &scripted{answers: []answer{c.first, {200, "", `{"receiptId":"rcp_1"}`}}}
		if _, err := serve(t, s).EraseSubject(t.Context(), "ada"); len(s.requests) != c.want || (err == nil) != (c.want == 2) {
			t.Errorf("after %d: %v, %d requests, want %d", c.first.status, err, len(s.requests), c.want)
		}
	}
}

// refusing is a transport that cannot connect at first.
type refusing struct {
	times int
	err   error
}

func (r *refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	if r.times--; r.times >= 0 {
		return nil, r.err
	}
	return http.DefaultTransport.RoundTrip(req)
}

func TestCallWithoutConnectionIsSentLater(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	reset := &net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset by peer")}
	unknown := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "x", IsNotFound: true}}
	for name, c := range map[string]struct {
		err  error
		once bool
		ok   bool
	}{
		"refused":                 {refused, false, true},
		"refused, not repeatable": {refused, true, true},
		"reset":                   {reset, false, true},
		"reset, not repeatable":   {reset, true, false},
		"unknown host":            {unknown, false, false},
		"unknown host, no retry":  {unknown, true, false},
	} {
		s := &scripted{answers: []answer{{200, "", `{}`}}}
		caller := serve(t, s, client.HTTPClient(&http.Client{Transport: &refusing{2, c.err}}))
		var err error
		if c.once {
			_, err = caller.Login(t.Context(), "ada@example.org", "password")
		} else {
			_, err = caller.Health(t.Context())
		}
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRefreshIsNotRepeatedTooLate(t *testing.T) {
	t.Parallel()
	for after, want := range map[string]int{"5": 2, "9": 1} {
		s := &scripted{answers: []answer{{503, after, unavailable}, {200, "", `{"accessToken":"t"}`}}}
		_, err := serve(t, s).Refresh(t.Context(), "r")
		if len(s.requests) != want || (err == nil) != (want == 2) {
			t.Errorf("after %s s: %v, %d requests, want %d", after, err, len(s.requests), want)
		}
	}
}

func TestLogoutWhoseFirstResponseIsLostSucceeds(t *testing.T) {
	t.Parallel()
	ended := answer{401, "", `{"error":"invalid_token","message":"m"}`}
	if err := serve(t, &scripted{answers: []answer{{lost, "", ""}, ended}}).Logout(t.Context()); err != nil {
		t.Errorf("got %v", err)
	}
	if err := serve(t, &scripted{answers: []answer{ended}}).Logout(t.Context()); err == nil {
		t.Error("a logout without a session succeeds")
	}
}

func TestCallerChoosesTheIdempotencyKey(t *testing.T) {
	t.Parallel()
	s := &scripted{answers: []answer{{200, "", `{}`}}}
	c := serve(t, s)
	ctx := client.WithIdempotencyKey(t.Context(), "order-4711")
	if _, err := c.CreateAPIKey(ctx, newKey()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Health(ctx); err != nil {
		t.Fatal(err)
	}
	lines := strings.Repeat(`{"id":"a"}`+"\n", partLines+1)
	if _, err := c.ImportDocuments(ctx, strings.NewReader(lines), nil); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, r := range s.requests {
		keys = append(keys, r.Idempotency)
	}
	if diff := cmp.Diff([]string{"order-4711", "", "order-4711", "order-4711-5001"}, keys); diff != "" {
		t.Error(diff)
	}
}

func TestOnlyMemoriesWithIDsAreImportedAgain(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]int{
		`{"id":"a","text":"x"}` + "\n" + `{"id":"b"}`:   2,
		`{"id":"a","text":"x"}` + "\n" + `{"text":"y"}`: 1,
		`{"id":""}`: 1,
		`{`:         1,
	} {
		s := &scripted{answers: []answer{{503, "1", unavailable}, {200, "", `{"received":1}`}}}
		_, err := serve(t, s).ImportMemories(t.Context(), strings.NewReader(body), nil)
		if len(s.requests) != want || (err == nil) != (want == 2) {
			t.Errorf("%s: %d requests, %v; want %d", body, len(s.requests), err, want)
		}
		if (s.requests[0].Idempotency != "") != (want == 2) {
			t.Errorf("%s: the Idempotency-Key is %q", body, s.requests[0].Idempotency)
		}
	}
}
