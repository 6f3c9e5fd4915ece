package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/memory/embedding"
	"keepsake/internal/memory/embedding/openai"
)

const secret = "sk-canary-4711"

// serve starts a server, and returns an endpoint that uses it.
func serve(t *testing.T, handle http.HandlerFunc) *openai.Endpoint {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return endpoint(t, openai.Options{URL: server.URL + "/v1/", AllowPrivate: true})
}

func endpoint(t *testing.T, o openai.Options) *openai.Endpoint {
	t.Helper()
	o.Model, o.Key, o.Release, o.Now = "model-1", secret, "test", time.Now
	e := openai.New(o)
	t.Cleanup(e.Close)
	return e
}

func respond(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func wantReason(t *testing.T, name string, err error, want embedding.Reason) {
	t.Helper()
	e, ok := errors.AsType[*embedding.Error](err)
	if !ok || e.Reason != want {
		t.Errorf("%s: got %v, want %s", name, err, want)
	}
	if err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "127.0.0.1")) {
		t.Errorf("%s: the error says too much: %v", name, err)
	}
}

func TestTextsAreSentAsOpenAIExpects(t *testing.T) {
	t.Parallel()
	hostile := "canary \"],\"model\":\"x\"}\x00\n</script>\u2028🦊"
	var got struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}
	var request *http.Request
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		request = r
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		respond(200, `{"object":"list","data":[{"object":"embedding","index":1,"embedding":[0.5,-1e-3]},{"index":0,"embedding":[1,2]}],"model":"m","usage":{"total_tokens":3}}`)(w, r)
	})
	vectors, err := e.Encode(t.Context(), []string{hostile, "b"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]float32{{1, 2}, {0.5, -0.001}}, vectors); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{hostile, "b"}, got.Input); diff != "" || got.Model != "model-1" {
		t.Errorf("model %q: %s", got.Model, diff)
	}
	if request.Method != "POST" || request.URL.Path != "/v1/embeddings" || request.Header.Get("Authorization") != "Bearer "+secret ||
		request.Header.Get("Content-Type") != "application/json" || request.UserAgent() != "Keepsake/test" {
		t.Errorf("got %s %s %v", request.Method, request.URL, request.Header)
	}
}

func TestNonsenseIsNoVector(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"empty": ``, "no JSON": `<html>canary</html>`, "a list": `[]`, "no data": `{}`, "no vectors": `{"data":[]}`, "null": `{"data":[{"index":0,"embedding":null}]}`,
		"too few": `{"data":[{"index":0,"embedding":[1]}]}`, "too many": `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1]},{"index":2,"embedding":[1]}]}`,
		"an index twice": `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`, "a wrong index": `{"data":[{"index":-1,"embedding":[1]},{"index":1,"embedding":[1]}]}`,
		"no index": `{"data":[{"embedding":[1]},{"embedding":[1]}]}`, "NaN": `{"data":[{"index":0,"embedding":[NaN]},{"index":1,"embedding":[1]}]}`,
		"a text":    `{"data":[{"index":0,"embedding":"canary"},{"index":1,"embedding":[1]}]}`,
		"too large": `{"data":[{"index":0,"embedding":[1e39]},{"index":1,"embedding":[1]}]}`,
		"deep":      strings.Repeat(`[`, 100_000), "cut off": `{"data":[{"index":0,"embedding":[1`, "invalid UTF-8": "{\"data\":[{\"index\":0,\"canary\":\"\xff\"}]}",
	} {
		_, err := serve(t, respond(200, body)).Encode(t.Context(), []string{"a", "b"})
		wantReason(t, name, err, embedding.Answer)
	}
}

func TestHugeResponsesAreNotRead(t *testing.T) {
	t.Parallel()
	written := make(chan int64, 1)
	e := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		chunk, n := strings.Repeat(" ", 1<<16), int64(0)
		for range 1 << 12 { // 256 MiB
			m, err := io.WriteString(w, chunk)
			if n += int64(m); err != nil {
				break
			}
		}
		written <- n
	})
	_, err := e.Encode(t.Context(), []string{"a"})
	wantReason(t, "a huge response", err, embedding.Answer)
	if n := <-written; n > 64<<20 {
		t.Errorf("%d bytes were read", n)
	}
}

func TestStatusesHaveReasons(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]embedding.Reason{
		204: embedding.Status, 301: embedding.Redirect, 307: embedding.Redirect, 400: embedding.Rejected, 401: embedding.Credentials, 403: embedding.Credentials,
		404: embedding.Status, 413: embedding.Rejected, 422: embedding.Rejected, 429: embedding.Throttled, 500: embedding.Status, 503: embedding.Throttled,
	} {
		_, err := serve(t, respond(status, `{"error":{"message":"canary"}}`)).Encode(t.Context(), []string{"a"})
		wantReason(t, http.StatusText(status), err, want)
		if e, _ := errors.AsType[*embedding.Error](err); e != nil && (e.RetryAfter == 7*time.Second) != (want == embedding.Throttled) {
			t.Errorf("%d: retry after %s", status, e.RetryAfter)
		}
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	reached := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	t.Cleanup(other.Close)
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	_, err := e.Encode(t.Context(), []string{"canary"})
	wantReason(t, "a redirect", err, embedding.Redirect)
	if reached {
		t.Error("texts were sent to another server")
	}
}

func TestPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	reached := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	t.Cleanup(server.Close)
	port := netip.MustParseAddrPort(server.Listener.Addr().String()).Port()
	lookup := func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	for _, host := range []string{"127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254", "inside.example"} {
		url := "http://" + host + ":" + netip.AddrPortFrom(netip.IPv4Unspecified(), port).String()[len("0.0.0.0:"):] + "/v1"
		_, err := endpoint(t, openai.Options{URL: url, Lookup: lookup}).Encode(t.Context(), []string{"a"})
		wantReason(t, host, err, embedding.Address)
	}
	if reached {
		t.Error("a request arrived")
	}
}

func TestAnEndpointThatIsAwayIsAConnectionError(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	url := server.URL
	server.Close()
	_, err := endpoint(t, openai.Options{URL: url, AllowPrivate: true}).Encode(t.Context(), []string{"a"})
	wantReason(t, "nothing listens", err, embedding.Connection)

	e := serve(t, func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) })
	_, err = e.Encode(t.Context(), []string{"a"})
	wantReason(t, "a closed connection", err, embedding.Connection)
}

func TestASlowEndpointIsATimeout(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	e := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(arrived)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	_, err := e.Encode(ctx, []string{"a"})
	wantReason(t, "a slow response", err, embedding.Timeout)
}
