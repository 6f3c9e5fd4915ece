package app_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/testing/testtier"
)

// connect connects to a listener, over TLS if pool is set.
func connect(t *testing.T, base string, pool *x509.CertPool) net.Conn {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute)) // only ends what hangs
	if u.Scheme == "https" {
		return tls.Client(conn, &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"})
	}
	return conn
}

// Clients that send the whole body before they read see the response on every surface.
func TestLargeBodiesAreAnsweredOnEverySurface(t *testing.T) {
	t.Parallel()
	files, pool := certificate(t)
	plain := apptest.Start(t)
	secure := apptest.Start(t, apptest.With(func(c *config.Config) { c.TLS = files }))
	for _, c := range []struct {
		method, path, key string
		size              int
		media             string
		status            int
	}{
		{"POST", "/api/v1/memories/batch", "", 9 << 20, "application/json", 413},
		{"POST", "/api/v1/memories/batch", "kpsk_wrong", 7 << 20, "application/json", 401},
		{"POST", "/api/v1/search", "", 5 << 20, "application/json", 413},
		{"POST", "/api/v1/memories/import", "", 65 << 20, "application/x-ndjson", 413},
		{"POST", "/api/v1/memories/import", "", 9 << 20, "text/plain", 415},
		{"PUT", "/api/v1/memories/batch", "", 9 << 20, "application/json", 405},
		{"POST", "/api/v1/nope", "", 9 << 20, "application/json", 404},
		{"POST", "/api/v9/nope", "", 9 << 20, "application/json", 404},
		{"POST", "/", "", 9 << 20, "application/json", 405},
		{"POST", "/ai/mcp", "", 9 << 20, "application/json", 413},
		{"POST", "/ai/mcp", "kpsk_wrong", 9 << 20, "application/json", 401},
		{"POST", "/ai/nope", "", 9 << 20, "application/json", 404},
		{"POST", "/console/login", "", 9 << 20, "application/x-www-form-urlencoded", 0},
		{"POST", "/console/nope", "", 9 << 20, "application/x-www-form-urlencoded", 0},
	} {
		for _, p := range []*apptest.Running{plain, secure} {
			t.Run(fmt.Sprint(c.method, " ", c.path, " ", c.status, " ", p.URL[:5]), func(t *testing.T) {
				key := c.key
				if key == "" {
					key = p.Key
				}
				sendAll(t, connect(t, p.URL, pool), c.method+" "+c.path, key, c.media, c.size, c.status)
			})
		}
	}
	for path, status := range map[string]int{"/verify": 413, "/nope": 404, "/metrics": 405} {
		t.Run("backend "+path, func(t *testing.T) {
			sendAll(t, connect(t, plain.BackendURL, nil), "POST "+path, plain.Key, "application/json", 9<<20, status)
		})
	}
}

// sendAll sends a request as a whole and then reads the response; status 0 accepts any error.
func sendAll(t *testing.T, conn net.Conn, start, key, media string, size, status int) {
	t.Helper()
	head := fmt.Sprintf("%s HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", start, key, media, size)
	if _, err := io.Copy(conn, io.MultiReader(strings.NewReader(head), bytes.NewReader(make([]byte, size)))); err != nil {
		t.Fatalf("the body was not taken: %v", err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if status == 0 && resp.StatusCode < 300 || status != 0 && resp.StatusCode != status || status != 0 && !bytes.HasPrefix(text, []byte(`{"error":`)) {
		t.Errorf("got %d %.200s, want %d", resp.StatusCode, text, status)
	}
}

// Over HTTP/2 only the stream ends.
func TestLargeBodiesAreAnsweredOverHTTP2(t *testing.T) {
	t.Parallel()
	files, pool := certificate(t)
	p := apptest.Start(t, apptest.With(func(c *config.Config) { c.TLS = files }))
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}
	defer c.CloseIdleConnections()
	for path, status := range map[string]int{"/api/v1/memories/batch": 413, "/api/v1/nope": 404} {
		req, _ := http.NewRequest(http.MethodPost, p.URL+path, bytes.NewReader(make([]byte, 9<<20)))
		req.Header.Set("X-API-Key", p.Key)
		req.Header.Set("Content-Type", "application/json")
		res, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.ProtoMajor != 2 || res.StatusCode != status || !bytes.HasPrefix(text, []byte(`{"error":`)) {
			t.Errorf("%s: got %s %s %s, %v", path, res.Proto, res.Status, text, err)
		}
	}
}

// Python's urllib sends everything first, and asks to close the connection.
func TestUrllibSeesTheResponseToALargeBody(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "it starts Python and sends 60 MiB")
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	p := apptest.Start(t)
	const script = `
import sys, urllib.request, urllib.error
base, key = sys.argv[1:]
for _ in range(3):
    for path, key_, size, want in (('memories/batch', key, 9<<20, 413), ('memories/batch', 'kpsk_wrong', 7<<20, 401),
            ('search', key, 3<<20, 413), ('nope', key, 2<<20, 404), ('nope', key, 100<<10, 404)):
        r = urllib.request.Request(base+'/api/v1/'+path, b'x'*size, {'X-API-Key': key_, 'Content-Type': 'application/json'})
        try:
            got = urllib.request.urlopen(r).status
        except urllib.error.HTTPError as e:
            got = e.code
            e.read()
        if got != want:
            sys.exit(f'{path} with {size} bytes: got {got}, want {want}')
`
	if out, err := exec.CommandContext(t.Context(), python, "-c", script, p.URL, p.Key).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
