//go:build unix

package app_test

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"keepsake/internal/app"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
)

// listenAtPath serves the API on a socket in a folder of its own.
func listenAtPath(path string, proxies ...netip.Prefix) apptest.Option {
	return func(cfg *config.Config, _ *app.Deps) { cfg.Listen, cfg.TrustedProxies = "unix:"+path, proxies }
}

// over returns a client whose connections go to a socket.
func over(t *testing.T, path string) *http.Client {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// remaining asks without a credential, as a proxy does for a client, and returns what the client's address has left.
func remaining(t *testing.T, c *http.Client, client string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/api/versions", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Forwarded-For", client)
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("got %s", res.Status)
	}
	return res.Header.Get("X-RateLimit-Remaining")
}

func TestListenOnASocket(t *testing.T) {
	t.Parallel()
	path := shortPath(t)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Data, cfg.Listen = t.TempDir(), "unix:"+path
	wantListenError(t, cfg, path+" is not a socket; choose another path")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	left, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: path})
	if err != nil {
		t.Fatal(err)
	}
	wantListenError(t, cfg, "another program is listening on "+path+"; stop it or choose another path")
	left.SetUnlinkOnClose(false) // as if the program had been killed
	left.Close()

	t.Run("Serve", func(t *testing.T) {
		p := apptest.Start(t, listenAtPath(path))
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o660 {
			t.Errorf("the socket has mode %v, %v", info.Mode(), err)
		}
		if p.URL != "http://localhost" || p.App.PrimaryAddress() != "unix:"+path {
			t.Errorf("the address is %s, the URL %s", p.App.PrimaryAddress(), p.URL)
		}
		c := over(t, path)
		if first, second := remaining(t, c, "192.0.2.1"), remaining(t, c, "192.0.2.2"); first != "29" || second != "28" {
			t.Errorf("clients of an untrusted proxy have %s and %s left", first, second)
		}
	})
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}

	apptest.Start(t, listenAtPath(path, netip.MustParsePrefix("127.0.0.1/32")))
	c := over(t, path)
	if first, second := remaining(t, c, "192.0.2.1"), remaining(t, c, "192.0.2.2"); first != "29" || second != "29" {
		t.Errorf("clients of a trusted proxy have %s and %s left", first, second)
	}
}

func wantListenError(t *testing.T, cfg config.Config, reason string) {
	t.Helper()
	a, err := app.New(t.Context(), cfg, apptest.Silent())
	if err == nil {
		a.Close()
		t.Fatal("the program started")
	}
	if want := "setting listen: " + reason; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

// shortPath returns a path in a new folder that is short enough for a socket, which the folder of a test is not everywhere.
func shortPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "k")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "api.sock")
}
