package deploy_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// An instance answers 503 for one workspace whose index it does not have yet. A proxy passes that on, and does not take the instance
// to be down: the others are served as before.

func TestA503OfOneKeyDoesNotReachOthersBehindNginx(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts nginx")
	passesOn(t, 2, func(p *fleet) *exec.Cmd {
		return nginx(t, p.adapt(read(t, "nginx.conf"), "listen 8080", "listen "+p.address))
	})
	passesOn(t, 3, func(p *fleet) *exec.Cmd {
		return nginx(t, p.adapt(read(t, "affinity/nginx.conf"), "listen 8080", "listen "+p.address))
	})
}

func TestA503OfOneKeyDoesNotReachOthersBehindHAProxy(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts HAProxy")
	passesOn(t, 3, func(p *fleet) *exec.Cmd {
		text := p.adapt(read(t, "affinity/haproxy.cfg"), "bind :8080", "bind "+p.address, "check port 8081", "check port "+p.backendPort)
		conf := filepath.Join(t.TempDir(), "haproxy.cfg")
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return exec.Command(installed(t, "haproxy", "/usr/sbin/haproxy"), "-db", "-f", conf)
	})
}

func TestA503OfOneKeyDoesNotReachOthersBehindCaddy(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts Caddy")
	for folder, instances := range map[string]int{".": 2, "affinity": 3} {
		passesOn(t, instances, func(p *fleet) *exec.Cmd {
			return caddy(t, p.adapt(read(t, folder+"/Caddyfile"), "\n:8080 {", "\nhttp://"+p.address+" {", "health_port 8081", "health_port "+p.backendPort))
		})
	}
}

// passesOn sends requests with a key for which every instance answers 503, and after each of them one with another key.
func passesOn(t *testing.T, instances int, proxy func(p *fleet) *exec.Cmd) {
	t.Helper()
	var refused atomic.Int64
	p := &fleet{t: t, backendPort: enginetest.FreePort(t, net.IPv4zero), address: net.JoinHostPort("127.0.0.1", enginetest.FreePort(t, net.IPv4zero))}
	port := enginetest.FreePort(t, net.IPv4zero)
	for i := range instances {
		m := &member{host: fmt.Sprint("127.0.0.", 2+i), port: port}
		p.members = append(p.members, m)
		for _, port := range []string{m.port, p.backendPort} {
			serveAt(t, net.JoinHostPort(m.host, port), func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("X-API-Key") == "without an index" {
					refused.Add(1)
					w.Header().Set("Retry-After", "1")
					w.WriteHeader(http.StatusServiceUnavailable)
				}
			})
		}
	}
	runProxy(t, proxy(p))
	p.awaitProxy()
	const each = 20
	for i := range each {
		if got := p.status("without an index"); got != http.StatusServiceUnavailable {
			t.Errorf("the request without an index is %d", got)
		}
		if got := p.status(fmt.Sprint("key ", i)); got != http.StatusOK {
			t.Errorf("after it, a request with key %d is %d", i, got)
		}
	}
	if n := refused.Load(); n != each {
		t.Errorf("%d requests were asked %d times", each, n)
	}
}

// serveAt serves at an address until the test ends.
func serveAt(t *testing.T, address string, h http.HandlerFunc) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
}

// status is that of a search with a key.
func (p *fleet) status(key string) int {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, "http://"+p.address+"/api/v1/search?q=stone", http.NoBody)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("X-API-Key", key)
	answer, err := programtest.Client.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}
