package sender_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"keepsake/internal/govern/event"
	"keepsake/internal/govern/event/sender"
)

// receiver is an HTTP server on a free port that counts the requests that reach it.
func receiver(t *testing.T, handle http.HandlerFunc) (server *httptest.Server, port string, reached *int) {
	t.Helper()
	reached = new(int)
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*reached++
		handle(w, r)
	}))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return server, u.Port(), reached
}

func newSender(t *testing.T, o sender.Options) *sender.Sender {
	t.Helper()
	o.Now, o.Log, o.Release = time.Now, slog.New(slog.DiscardHandler), "test"
	s := sender.New(o)
	t.Cleanup(s.Close)
	return s
}

func ok(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }

func TestPrivateTargetsAreRefusedWhenConnecting(t *testing.T) {
	t.Parallel()
	_, port, reached := receiver(t, ok)
	names := map[string]string{
		"inside.example": "127.0.0.1", "lan.example": "10.1.2.3", "mapped.example": "::ffff:127.0.0.1", "metadata.example": "169.254.169.254",
	}
	s := newSender(t, sender.Options{Lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
		if a, ok := names[host]; ok {
			return []netip.Addr{netip.MustParseAddr(a)}, nil
		}
		return nil, errors.New("no such host")
	}})
	for _, host := range []string{
		"127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "169.254.169.254", "0.0.0.0", "[::]", "2130706433", "0x7f000001",
		"0177.0.0.1", "127.1", "localhost", "inside.example", "lan.example", "mapped.example", "metadata.example", "[64:ff9b::7f00:1]",
	} {
		result := s.Send(t.Context(), &event.Request{URL: "http://" + host + ":" + port + "/hook", Body: "{}"})
		if result.Error != event.ErrConnection || result.Status != 0 {
			t.Errorf("%s: got %+v", host, result)
		}
	}
	if *reached != 0 {
		t.Errorf("%d requests arrived", *reached)
	}
}

func TestNameThatChangesItsAddressIsCheckedEachTime(t *testing.T) {
	t.Parallel()
	_, port, reached := receiver(t, ok)
	lookups := 0
	s := newSender(t, sender.Options{Lookup: func(context.Context, string) ([]netip.Addr, error) {
		lookups++
		if lookups == 1 {
			return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil // what a check before the request would see
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}})
	for range 3 {
		if result := s.Send(t.Context(), &event.Request{URL: "http://flips.example:" + port}); result.Error != event.ErrConnection {
			t.Errorf("got %+v", result)
		}
	}
	if *reached != 0 || lookups != 3 {
		t.Errorf("%d requests arrived after %d lookups", *reached, lookups)
	}
}

func TestAllowedTargetGetsTheRequest(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body string
	server, port, _ := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		got, body = r, string(text)
		w.WriteHeader(http.StatusAccepted)
	})
	s := newSender(t, sender.Options{AllowPrivate: true, Lookup: func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}})
	for _, target := range []string{server.URL + "/a?b=c", "http://hook.example:" + port + "/a?b=c"} {
		result := s.Send(t.Context(), &event.Request{URL: target, Body: `{"a":1}`, Header: [][2]string{{"webhook-id", "evt_1"}}})
		if result.Error != "" || result.Status != http.StatusAccepted {
			t.Fatalf("got %+v", result)
		}
		if got.Method != "POST" || got.URL.String() != "/a?b=c" || body != `{"a":1}` || got.Header.Get("webhook-id") != "evt_1" ||
			got.UserAgent() != "Keepsake-Webhooks/test" {
			t.Errorf("got %s %s %q %v", got.Method, got.URL, body, got.Header)
		}
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	_, port, reached := receiver(t, ok)
	server, _, _ := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:"+port, http.StatusTemporaryRedirect)
	})
	s := newSender(t, sender.Options{AllowPrivate: true})
	result := s.Send(t.Context(), &event.Request{URL: server.URL})
	if result.Error != event.ErrRedirect || result.Status != http.StatusTemporaryRedirect || *reached != 0 {
		t.Errorf("got %+v, %d requests", result, *reached)
	}
}

func TestResponsesAreJudgedByTheirStatus(t *testing.T) {
	t.Parallel()
	server, _, _ := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/busy":
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/gone":
			w.WriteHeader(http.StatusGone)
		case "/long":
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
		}
	})
	s := newSender(t, sender.Options{AllowPrivate: true})
	for path, want := range map[string]event.Result{
		"/busy": {Status: 503, Error: event.ErrStatus, RetryAfter: 2 * time.Minute},
		"/gone": {Status: 410, Error: event.ErrStatus},
		"/long": {Status: 200},
	} {
		got := s.Send(t.Context(), &event.Request{URL: server.URL + path})
		if got.Duration = 0; got != want {
			t.Errorf("%s: got %+v, want %+v", path, got, want)
		}
	}
	server.Close()
	if got := s.Send(t.Context(), &event.Request{URL: server.URL}); got.Error != event.ErrConnection {
		t.Errorf("without a server: got %+v", got)
	}
}

func TestSilentReceiverIsATimeout(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	server, _, _ := receiver(t, func(_ http.ResponseWriter, r *http.Request) { <-done })
	defer close(done)
	s := newSender(t, sender.Options{AllowPrivate: true, Timeout: 50 * time.Millisecond})
	if got := s.Send(t.Context(), &event.Request{URL: server.URL}); got.Error != event.ErrTimeout {
		t.Errorf("got %+v", got)
	}
}
