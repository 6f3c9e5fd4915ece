package deploy_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knadh/koanf/parsers/yaml"

	"keepsake/internal/testing/await"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// Three instances behind each proxy for which there is a recipe: requests with one key go to one instance, others take over when it is
// busy or stops, and no client notices. Envoy is in no Debian package.

func TestAKeyStaysAtItsInstanceBehindNginx(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts three instances and nginx")
	keepsKeys(t, func(t *testing.T, p *fleet) *exec.Cmd {
		return nginx(t, p.adapt(read(t, "affinity/nginx.conf"), "listen 8080", "listen "+p.address, "max_conns=64", "max_conns=3", "worker_processes auto", "worker_processes 1"))
	})
}

func TestAKeyStaysAtItsInstanceBehindHAProxy(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts three instances and HAProxy")
	keepsKeys(t, func(t *testing.T, p *fleet) *exec.Cmd {
		text := p.adapt(read(t, "affinity/haproxy.cfg"), "bind :8080", "bind "+p.address, "check port 8081", "check port "+p.backendPort)
		conf := filepath.Join(t.TempDir(), "haproxy.cfg")
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return exec.Command(installed(t, "haproxy", "/usr/sbin/haproxy"), "-db", "-f", conf)
	})
}

func TestAKeyStaysAtItsInstanceBehindCaddy(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts three instances and Caddy")
	keepsKeys(t, func(t *testing.T, p *fleet) *exec.Cmd {
		return caddy(t, p.adapt(read(t, "affinity/Caddyfile"), "\n:8080 {", "\nhttp://"+p.address+" {", "health_port 8081", "health_port "+p.backendPort,
			"unhealthy_request_count 64", "unhealthy_request_count 3"))
	})
}

// keepsKeys tries a proxy that spills the requests of a key when an instance has three or four of them.
func keepsKeys(t *testing.T, proxy func(*testing.T, *fleet) *exec.Cmd) {
	p := newFleet(t, 3)
	runProxy(t, proxy(t, p))
	p.awaitProxy()
	p.believesNoForwardedAddress("http://" + p.address)

	home := map[string]*member{}
	homes := map[*member]int{}
	for i := range 12 {
		made := p.members[0].process.Must(http.StatusCreated, "POST", "/api/v1/developer/api-keys",
			map[string]any{"name": fmt.Sprint("key ", i), "scopes": []string{"read", "write"}})
		key := made["key"].(string)
		home[key] = p.servedBy(func() { p.ask(key) })
		homes[home[key]]++
		for range 3 {
			if got := p.servedBy(func() { p.ask(key) }); got != home[key] {
				t.Errorf("key %d was at %s and is at %s", i, home[key].host, got.host)
			}
		}
	}
	if len(homes) < 2 {
		t.Error("all keys are at one instance")
	}
	var key string
	for key = range home {
		break
	}
	p.spills(key)

	load := programtest.StartLoad(t, programtest.LoadOptions{Clients: 1, Key: key, Target: func() string { return "http://" + p.address }})
	load.Await(30)
	home[key].process.Stop() // the others take over
	load.Await(30)
	p.start(home[key])
	await.Until(t, "the key is at its instance again", func() bool { return home[key].answered() >= 30 })
	load.End()
}

// ask sends a request with a key through the proxy.
func (p *fleet) ask(key string) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, "http://"+p.address+"/api/v1/search?q=stone", http.NoBody)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("X-API-Key", key)
	res, err := programtest.Client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
		p.t.Fatalf("a search is %s, %v", res.Status, err)
	}
}

// servedBy returns the instance that logs the request of fn.
func (p *fleet) servedBy(fn func()) (by *member) {
	p.t.Helper()
	before := make([]int, len(p.members))
	for i, m := range p.members {
		before[i] = m.searches()
	}
	fn()
	await.Until(p.t, "the request is in a log", func() bool {
		for i, m := range p.members {
			if m.searches() > before[i] {
				by = m
			}
		}
		return by != nil
	})
	return by
}

// searches is how many searches an instance has logged since its start.
func (m *member) searches() int {
	return strings.Count(m.process.Log.String(), `"route":"/api/v1/search"`)
}

// spills wants that requests of a key that run at once are at more than one instance, and that none is lost.
func (p *fleet) spills(key string) {
	p.t.Helper()
	const running = 6
	answers := make(chan string, running)
	var bodies []*io.PipeWriter
	for range running {
		body, write := io.Pipe()
		bodies = append(bodies, write)
		req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, "http://"+p.address+"/api/v1/documents/import", body)
		if err != nil {
			p.t.Fatal(err)
		}
		req.Header.Set("X-API-Key", key)
		req.Header.Set("Content-Type", "application/x-ndjson")
		go func() {
			res, err := programtest.Client.Do(req)
			if err != nil {
				answers <- err.Error()
				return
			}
			res.Body.Close()
			answers <- res.Status
		}()
		if _, err := io.WriteString(write, `{"text":"stone"}`+"\n"); err != nil { // the proxy has begun with it
			p.t.Fatal(err)
		}
	}
	for _, body := range bodies {
		body.Close()
	}
	for range running {
		if status := await.Receive(p.t, "an import ends", answers); status != "200 OK" {
			p.t.Errorf("an import is %s", status)
		}
	}
	await.Until(p.t, "more than one instance has imported", func() bool {
		n := 0
		for _, m := range p.members {
			if strings.Contains(m.process.Log.String(), `"route":"/api/v1/documents/import"`) {
				n++
			}
		}
		return n > 1
	})
}

func TestTheRecipeForEnvoyIsYAML(t *testing.T) {
	t.Parallel()
	parsed, err := yaml.Parser().Unmarshal([]byte(read(t, "affinity/envoy.yaml")))
	if _, ok := parsed["static_resources"].(map[string]any); err != nil || !ok {
		t.Errorf("affinity/envoy.yaml: %v", err)
	}
}
