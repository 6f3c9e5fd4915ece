package deploy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"keepsake/internal/enginetest"
)

// binary is the built program.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	defer enginetest.Stop()
	dir, err := os.MkdirTemp("", "keepsake-deploy-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "keepsake")
	if out, err := exec.Command("go", "build", "-o", binary, "keepsake/cmd/keepsake").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build keepsake: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// Two instances on one database behind a real proxy, with the configuration of this folder; each is stopped and started
// again under load, and no client notices.
func TestInstancesAreReplacedBehindNginx(t *testing.T) {
	replaceBehind(t, func(t *testing.T, p *pair) *exec.Cmd {
		dir := t.TempDir()
		conf := filepath.Join(dir, "nginx.conf")
		text := p.adapt(read(t, "nginx.conf"), "listen 8080", "listen "+p.address)
		// What a package sets up for nginx: where it may write.
		text = strings.Replace(text, "http {", fmt.Sprintf("http {\nclient_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; "+
			"fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;", dir), 1)
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return exec.Command(installed(t, "nginx", "/usr/sbin/nginx"), "-c", conf, "-e", filepath.Join(dir, "error.log"),
			"-g", "daemon off; user root; pid "+filepath.Join(dir, "pid")+";")
	})
}

func TestInstancesAreReplacedBehindCaddy(t *testing.T) {
	replaceBehind(t, func(t *testing.T, p *pair) *exec.Cmd {
		dir := t.TempDir()
		conf := filepath.Join(dir, "Caddyfile")
		text := p.adapt(read(t, "Caddyfile"), "\n:8080 {", "\nhttp://"+p.address+" {", "health_port 8081", "health_port "+p.backendPort)
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(installed(t, "caddy", "/usr/bin/caddy"), "run", "--config", conf, "--adapter", "caddyfile")
		cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir, "HOME="+dir)
		return cmd
	})
}

func installed(t *testing.T, name, elsewhere string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	if _, err := os.Stat(elsewhere); err != nil {
		t.Fatalf("%s is missing: install the package %s", name, name)
	}
	return elsewhere
}

// pair is two instances and the address of what stands before them.
type pair struct {
	t           *testing.T
	members     [2]*member
	address     string // of the proxy
	backendPort string
	key         string
	database    string
	redis       string
	masterKey   string
}

// member is one instance. Each has an address of its own and the same two ports, as containers have.
type member struct {
	pair    *pair
	data    string
	host    string
	port    string
	process *exec.Cmd
	ended   chan error    // how it ended
	over    chan struct{} // closed then
	said    output
}

func newPair(t *testing.T) *pair {
	p := &pair{t: t, database: enginetest.Postgres(t), redis: enginetest.Redis(t), masterKey: filepath.Join(t.TempDir(), "master.key")}
	if err := os.WriteFile(p.masterKey, []byte("c29tZSBrZXkgb2YgMzIgYnl0ZXMgZm9yIHRoZSB0ZXM=\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	port := enginetest.FreePort(t, net.IPv4zero) // at all addresses of this machine
	p.backendPort = enginetest.FreePort(t, net.IPv4zero)
	p.address = enginetest.FreeAddress(t)
	for i := range p.members {
		p.members[i] = &member{pair: p, data: filepath.Join(t.TempDir(), "data"), host: "127.0.0." + strconv.Itoa(2+i), port: port}
	}
	out, err := p.members[0].command("init", "--json").Output()
	if err != nil {
		t.Fatalf("init: %v", err)
	}
	var first struct{ APIKey string }
	if err := json.Unmarshal(out, &first); err != nil {
		t.Fatal(err)
	}
	p.key = first.APIKey
	return p
}

// adapt puts the addresses of this test in place of those of the files.
func (p *pair) adapt(text string, more ...string) string {
	replace := append([]string{
		"keepsake-1:8080", net.JoinHostPort(p.members[0].host, p.members[0].port),
		"keepsake-2:8080", net.JoinHostPort(p.members[1].host, p.members[1].port),
	}, more...)
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(text, replace[i]) {
			p.t.Fatalf("the file does not say %q", replace[i])
		}
	}
	return strings.NewReplacer(replace...).Replace(text)
}

func (m *member) command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(),
		"KEEPSAKE_DATA="+m.data, "KEEPSAKE_DATABASE_URL="+m.pair.database, "KEEPSAKE_REDIS_URL="+m.pair.redis,
		"KEEPSAKE_MASTER_KEY_FILE="+m.pair.masterKey, "KEEPSAKE_LISTEN="+net.JoinHostPort(m.host, m.port),
		"KEEPSAKE_BACKEND_LISTEN="+net.JoinHostPort(m.host, m.pair.backendPort), "KEEPSAKE_TRUSTED_PROXIES=127.0.0.1/32",
		"KEEPSAKE_SHUTDOWN_DELAY=3s", "KEEPSAKE_LOG_LEVEL=warn")
	return cmd
}

// start starts an instance, and waits until it is ready. One whose database does not answer in time ends, as happens on a
// machine that is full of other programs; like what watches over processes it starts that again.
func (m *member) start() {
	t := m.pair.t
	t.Helper()
	ready := "http://" + net.JoinHostPort(m.host, m.pair.backendPort) + "/readyz"
	for deadline, tries := time.Now().Add(2*time.Minute), 0; ; time.Sleep(20 * time.Millisecond) {
		if tries == 0 || m.hasEnded() && tries < 3 && strings.Contains(m.said.String(), "the database does not answer") {
			m.launch()
			tries++
		}
		if answer, err := http.Get(ready); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the instance is not ready: %s", m.said.String())
		}
	}
}

func (m *member) launch() {
	t := m.pair.t
	t.Helper()
	process, ended := m.command("serve"), make(chan error, 1)
	process.Stderr = &m.said
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() { ended <- process.Wait(); close(over) }()
	t.Cleanup(func() {
		_ = process.Process.Kill() // it has ended where nothing fails
		<-over                     // it writes no more into its folder
	})
	m.process, m.ended, m.over = process, ended, over
}

func (m *member) hasEnded() bool {
	select {
	case <-m.over:
		return true
	default:
		return false
	}
}

func (m *member) stop() {
	t := m.pair.t
	t.Helper()
	if err := m.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-m.ended; err != nil {
		t.Fatalf("the instance did not end in order: %v\n%s", err, m.said.String())
	}
}

// enough is how many requests have to be answered between two changes, however slow the machine is.
const enough = 60

// serves waits until that many more are answered, and half a second at least.
func (l *load) serves() {
	before, end := l.answered.Load(), time.Now().Add(time.Minute)
	for time.Sleep(500 * time.Millisecond); l.answered.Load() < before+enough && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
}

func replaceBehind(t *testing.T, proxy func(*testing.T, *pair) *exec.Cmd) {
	t.Parallel()
	p := newPair(t)
	for _, m := range p.members {
		m.start()
	}
	front := proxy(t, p)
	var said output
	front.Stdout, front.Stderr = &said, &said
	if err := front.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = front.Process.Signal(syscall.SIGTERM); _ = front.Wait() })
	p.awaitFront(&said)
	p.believesNoForwardedAddress()

	load := &load{url: "http://" + p.address, key: p.key}
	load.begin(6)
	for _, m := range p.members {
		load.serves() // both do
		m.stop()
		m.start()
	}
	load.serves()
	load.end()
	for _, failure := range load.failures {
		t.Errorf("a request failed: %s", failure)
	}
	if n := load.answered.Load(); n < 3*enough {
		t.Errorf("only %d requests were answered, too few to tell anything", n)
	}
	for id := range load.stored {
		if status, body := load.do("GET", "/api/v1/documents/"+id, "", nil); status != http.StatusOK {
			t.Errorf("document %s was acknowledged and is not there: %d %s", id, status, body)
		}
	}
	t.Logf("2 instances replaced, %d requests answered, %d failed, the longest took %s",
		load.answered.Load(), len(load.failures), load.longest.Round(time.Millisecond))
	for _, m := range p.members {
		m.stop()
	}
}

func (p *pair) awaitFront(said *output) {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if answer, err := http.Get("http://" + p.address + "/api/versions"); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("the proxy does not answer: %s", said.String())
		}
	}
}

// believesNoForwardedAddress: what a client says of its address changes nothing, because the proxy says it anew.
func (p *pair) believesNoForwardedAddress() {
	l := &load{url: "http://" + p.address, key: p.key}
	status, body := l.do("POST", "/api/v1/developer/api-keys", `{"name":"inside","scopes":["read"],"allowedIps":["127.0.0.1/32"]}`, nil)
	var made struct{ Key string }
	if err := json.Unmarshal([]byte(body), &made); err != nil || status != http.StatusCreated {
		p.t.Fatalf("make a key: %d %s", status, body)
	}
	inside := &load{url: l.url, key: made.Key}
	for _, forged := range []string{"203.0.113.9", "127.0.0.1, 203.0.113.9"} {
		if status, body := inside.do("GET", "/api/v1/health", "", http.Header{"X-Forwarded-For": {forged}}); status != http.StatusOK {
			p.t.Errorf("with X-Forwarded-For %s: %d %s", forged, status, body)
		}
	}
}

// output is what an instance prints; it may be read meanwhile.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// load is clients that read and write until they are told to end.
type load struct {
	url, key string
	client   http.Client
	stopping atomic.Bool
	workers  sync.WaitGroup
	answered atomic.Int64

	mu       sync.Mutex
	longest  time.Duration
	stored   map[string]bool
	failures []string
}

func (l *load) begin(clients int) {
	l.stored = map[string]bool{}
	l.client.Transport = &http.Transport{MaxIdleConnsPerHost: clients}
	for n := range clients {
		l.workers.Go(func() {
			for i := 0; !l.stopping.Load(); i++ {
				id := fmt.Sprintf("doc-%d-%d", n, i)
				l.expect(http.StatusOK, "GET", "/api/v1/health", "")
				if !l.expect(http.StatusCreated, "POST", "/api/v1/documents", `{"id":"`+id+`","collection":"load","title":"one of many"}`) {
					continue
				}
				l.mu.Lock()
				l.stored[id] = true
				l.mu.Unlock()
				l.expect(http.StatusOK, "GET", "/api/v1/documents/"+id, "")
			}
		})
	}
}

func (l *load) end() {
	l.stopping.Store(true)
	l.workers.Wait()
}

func (l *load) expect(want int, method, path, body string) bool {
	began := time.Now()
	status, answer := l.do(method, path, body, nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.longest = max(l.longest, time.Since(began))
	if status == want {
		l.answered.Add(1)
		return true
	}
	l.failures = append(l.failures, fmt.Sprintf("%s %s: %d %s", method, path, status, answer))
	return false
}

// do gives the status and the body of an answer, 0 and the error where there was none.
func (l *load) do(method, path, body string, header http.Header) (int, string) {
	request, err := http.NewRequest(method, l.url+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	for name, values := range header {
		request.Header[name] = values
	}
	request.Header.Set("X-API-Key", l.key)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := l.client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(text)
}
