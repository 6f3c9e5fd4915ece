package deploy_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

func TestMain(m *testing.M) { programtest.Main(m) }

// Two instances on one database behind a real proxy, with the configuration of this folder; each is stopped and started
// again under load, and no client notices.
func TestInstancesAreReplacedBehindNginx(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "two instances wait through their shutdown delay behind nginx")
	replaceBehind(t, func(t *testing.T, p *fleet) *exec.Cmd {
		return nginx(t, p.adapt(read(t, "nginx.conf"), "listen 8080", "listen "+p.address))
	})
}

func TestInstancesAreReplacedBehindCaddy(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "two instances wait through their shutdown delay behind Caddy")
	replaceBehind(t, func(t *testing.T, p *fleet) *exec.Cmd {
		return caddy(t, p.adapt(read(t, "Caddyfile"), "\n:8080 {", "\nhttp://"+p.address+" {", "health_port 8081", "health_port "+p.backendPort))
	})
}

// nginx is the command that runs nginx with a configuration.
func nginx(t *testing.T, text string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	conf := filepath.Join(dir, "nginx.conf")
	// What a package sets up for nginx: where it may write.
	text = strings.Replace(text, "http {", fmt.Sprintf("http {\nclient_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; "+
		"fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;", dir), 1)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return exec.Command(installed(t, "nginx", "/usr/sbin/nginx"), "-c", conf, "-e", filepath.Join(dir, "error.log"),
		"-g", "daemon off; user root; pid "+filepath.Join(dir, "pid")+";")
}

// caddy is the command that runs Caddy with a Caddyfile.
func caddy(t *testing.T, text string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	conf := filepath.Join(dir, "Caddyfile")
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(installed(t, "caddy", "/usr/bin/caddy"), "run", "--config", conf, "--adapter", "caddyfile")
	cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir, "HOME="+dir)
	return cmd
}

// runProxy runs a proxy until the test ends.
func runProxy(t *testing.T, front *exec.Cmd) {
	t.Helper()
	var printed programtest.Output
	front.Stdout, front.Stderr = &printed, &printed
	if err := front.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = front.Process.Signal(syscall.SIGTERM)
		_ = front.Wait()
		if t.Failed() {
			t.Logf("the proxy printed:\n%s", printed.Tail())
		}
	})
}

func installed(t *testing.T, name, elsewhere string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	if _, err := os.Stat(elsewhere); err != nil {
		testtier.Missing(t, name+": install the package "+name)
	}
	return elsewhere
}

// fleet is several instances and the address of the proxy before them.
type fleet struct {
	t           *testing.T
	members     []*member
	address     string // of the proxy
	backendPort string
	key         string
	options     []programtest.Option
}

// member is one instance. Each has an address of its own and the same two ports, as containers have.
type member struct {
	data    string
	host    string
	port    string
	process *programtest.Process
}

func newFleet(t *testing.T, instances int) *fleet {
	masterKey := filepath.Join(t.TempDir(), "master.key")
	if err := os.WriteFile(masterKey, []byte("c29tZSBrZXkgb2YgMzIgYnl0ZXMgZm9yIHRoZSB0ZXM=\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &fleet{t: t, options: []programtest.Option{
		programtest.Database(enginetest.Postgres(t)), programtest.Redis(enginetest.Redis(t)),
		// The delay is longer than a proxy on a busy machine needs to see that an instance stops.
		programtest.Env("KEEPSAKE_MASTER_KEY_FILE="+masterKey, "KEEPSAKE_TRUSTED_PROXIES=127.0.0.1/32", "KEEPSAKE_SHUTDOWN_DELAY=5s"),
	}}
	port := enginetest.FreePort(t, net.IPv4zero) // at all addresses of this machine
	p.backendPort = enginetest.FreePort(t, net.IPv4zero)
	// Caddy listens at all addresses, also if its configuration names one.
	p.address = net.JoinHostPort("127.0.0.1", enginetest.FreePort(t, net.IPv4zero))
	for i := range instances {
		p.members = append(p.members, &member{data: filepath.Join(t.TempDir(), "data"), host: "127.0.0." + strconv.Itoa(2+i), port: port})
	}
	for _, m := range p.members {
		p.start(m)
		p.key = p.members[0].process.Key
	}
	return p
}

// adapt puts the addresses of this test in place of those of the files.
func (p *fleet) adapt(text string, more ...string) string {
	var replace []string
	for i, m := range p.members {
		replace = append(replace, fmt.Sprintf("keepsake-%d:8080", i+1), net.JoinHostPort(m.host, m.port))
	}
	replace = append(replace, more...)
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(text, replace[i]) {
			p.t.Fatalf("the file does not say %q", replace[i])
		}
	}
	return strings.NewReplacer(replace...).Replace(text)
}

func (p *fleet) start(m *member) {
	p.t.Helper()
	listen := programtest.Listen(net.JoinHostPort(m.host, m.port), net.JoinHostPort(m.host, p.backendPort))
	m.process = programtest.Start(p.t, m.data, append([]programtest.Option{listen, programtest.Key(p.key)}, p.options...)...)
}

// answered is how many requests an instance has answered since its start.
func (m *member) answered() int { return strings.Count(m.process.Log.String(), `"msg":"request"`) }

// allServe waits until each instance has answered more requests of the proxy.
func (p *fleet) allServe() {
	p.t.Helper()
	for _, m := range p.members {
		from := m.answered()
		await.Until(p.t, "the proxy sends requests to "+m.host, func() bool { return m.answered() >= from+30 })
	}
}

func replaceBehind(t *testing.T, proxy func(*testing.T, *fleet) *exec.Cmd) {
	p := newFleet(t, 2)
	runProxy(t, proxy(t, p))
	url := "http://" + p.address
	p.awaitProxy()
	p.believesNoForwardedAddress(url)

	load := programtest.StartLoad(t, programtest.LoadOptions{Clients: 3, Key: p.key, Target: func() string { return url }})
	for _, m := range p.members {
		p.allServe()
		m.process.Stop()
		p.start(m)
	}
	p.allServe()
	load.End()
	for _, m := range p.members {
		m.process.Signal(syscall.SIGTERM)
	}
	for _, m := range p.members {
		if code := m.process.ExitCode(); code != 0 {
			t.Errorf("SIGTERM ended %s with code %d", m.host, code)
		}
	}
}

// awaitProxy waits until the proxy answers.
func (p *fleet) awaitProxy() {
	p.t.Helper()
	await.Until(p.t, "the proxy answers", func() bool {
		res, err := http.Get("http://" + p.address + "/api/versions")
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
}

// believesNoForwardedAddress wants that what a client says about its address changes nothing: the proxy replaces it.
func (p *fleet) believesNoForwardedAddress(url string) {
	p.t.Helper()
	created := p.members[0].process.Must(http.StatusCreated, "POST", "/api/v1/developer/api-keys",
		map[string]any{"name": "inside", "scopes": []string{"read"}, "allowedIps": []string{"127.0.0.1/32"}})
	key := created["key"].(string)
	for _, forged := range []string{"203.0.113.9", "127.0.0.1, 203.0.113.9"} {
		req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, url+"/api/v1/health", http.NoBody)
		if err != nil {
			p.t.Fatal(err)
		}
		req.Header.Set("X-API-Key", key)
		req.Header.Set("X-Forwarded-For", forged)
		res, err := programtest.Client.Do(req)
		if err != nil {
			p.t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			p.t.Errorf("with X-Forwarded-For %s: %s", forged, res.Status)
		}
	}
}
