package client_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"keepsake/client"
)

// otherOrigins starts servers of other origins, which count what they get.
func otherOrigins(t *testing.T) (addresses map[string]string, got *atomic.Int64) {
	t.Helper()
	got = new(atomic.Int64)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.Add(1)
		body, _ := io.ReadAll(r.Body)
		t.Errorf("%s of another origin got the key %q and %d bytes", r.Method, r.Header.Get("X-API-Key"), len(body))
	})
	plain, secure := httptest.NewServer(h), httptest.NewTLSServer(h)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	port := plain.URL[strings.LastIndex(plain.URL, ":"):]
	return map[string]string{
		"another port": plain.URL, "https": secure.URL, "another host": "http://localhost" + port, "another scheme": "ftp://127.0.0.1/x",
	}, got
}

func TestRedirectToAnotherOriginIsNotFollowed(t *testing.T) {
	t.Parallel()
	addresses, got := otherOrigins(t)
	for name, to := range addresses {
		for _, status := range []int{301, 302, 303, 307, 308} {
			var calls atomic.Int64
			here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				calls.Add(1)
				http.Redirect(w, r, to+"/secret?q=text", status)
			}))
			c, err := client.New(here.URL, "kpsk_secret", client.AccessToken("token"))
			if err != nil {
				t.Fatal(err)
			}
			_, health := c.Health(t.Context())
			_, key := c.CreateAPIKey(t.Context(), client.NewAPIKey{Name: "n", Scopes: []string{"read"}})
			for _, err := range []error{health, key} {
				if err == nil || !strings.Contains(err.Error(), "redirects to "+to[:strings.Index(to, "://")+3]) || strings.Contains(err.Error(), "q=text") {
					t.Errorf("%d to %s: got %v", status, name, err)
				}
			}
			if calls.Load() != 2 {
				t.Errorf("%d to %s: the call was sent %d times, want once each", status, name, calls.Load())
			}
			here.Close()
		}
	}
	if got.Load() != 0 {
		t.Errorf("other origins got %d requests", got.Load())
	}
}

// A proxy can redirect within its origin.
func TestRedirectWithinTheOriginIsFollowed(t *testing.T) {
	t.Parallel()
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/moved") {
			http.Redirect(w, r, "/moved"+r.URL.Path, http.StatusPermanentRedirect)
			return
		}
		if r.Header.Get("X-API-Key") == "" {
			t.Error("the key is lost")
		}
		io.WriteString(w, `{"status":"healthy"}`)
	}))
	defer here.Close()
	c, err := client.New(here.URL, "kpsk_secret")
	if err != nil {
		t.Fatal(err)
	}
	if h, err := c.Health(t.Context()); err != nil || h.Status != "healthy" {
		t.Errorf("got %+v, %v", h, err)
	}
}
