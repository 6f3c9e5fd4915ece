package upgradetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"keepsake/internal/enginetest"
)

// The two releases: this program, and this program with a further migration.
const (
	previous = "1.0"
	next     = "1.1"
)

// programs are the built releases.
var programs = map[string]string{}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	defer enginetest.Stop()
	dir, err := os.MkdirTemp("", "keepsake-upgrade-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	for release, tags := range map[string]string{previous: "", next: "nextrelease"} {
		programs[release] = filepath.Join(dir, "keepsake-"+release)
		build := exec.Command("go", "build", "-tags", tags, "-ldflags", "-X main.release="+release, "-o", programs[release], "keepsake/cmd/keepsake")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build keepsake: %v\n%s", err, out)
			return 1
		}
	}
	return m.Run()
}

// fleet is instances on one database and one Redis.
type fleet struct {
	t         *testing.T
	database  string
	redis     string
	masterKey string
	key       string // with all scopes
	client    http.Client

	mu      sync.Mutex
	members []*member
}

// member is an instance: its folder and its addresses outlive its processes.
type member struct {
	fleet   *fleet
	name    string
	data    string
	listen  string
	backend string
	release string
	process *exec.Cmd
	ended   chan error    // how it ended
	over    chan struct{} // closed then
	said    said
	in      atomic.Bool // the balancer sends requests here
}

type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{t: t, database: enginetest.Postgres(t), redis: enginetest.Redis(t), masterKey: filepath.Join(t.TempDir(), "master.key")}
	// Idle connections end before a member does that they lead to, as a load balancer has it.
	f.client.Transport = &http.Transport{MaxIdleConnsPerHost: 20, IdleConnTimeout: 500 * time.Millisecond}
	f.client.Timeout = 30 * time.Second
	if err := os.WriteFile(f.masterKey, []byte("c29tZSBrZXkgb2YgMzIgYnl0ZXMgZm9yIHRoZSB0ZXM=\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

// add makes a member that does not run.
func (f *fleet) add(name string) *member {
	m := &member{fleet: f, name: name, data: filepath.Join(f.t.TempDir(), name), listen: enginetest.FreeAddress(f.t), backend: enginetest.FreeAddress(f.t)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members = append(f.members, m)
	return m
}

func (m *member) command(release string, args ...string) *exec.Cmd {
	cmd := exec.Command(programs[release], args...)
	cmd.Env = append(os.Environ(),
		"KEEPSAKE_DATA="+m.data, "KEEPSAKE_DATABASE_URL="+m.fleet.database, "KEEPSAKE_REDIS_URL="+m.fleet.redis,
		"KEEPSAKE_MASTER_KEY_FILE="+m.fleet.masterKey, "KEEPSAKE_LISTEN="+m.listen, "KEEPSAKE_BACKEND_LISTEN="+m.backend,
		"KEEPSAKE_SHUTDOWN_DELAY=4s", "KEEPSAKE_LOG_LEVEL=warn")
	return cmd
}

// init makes the first key.
func (m *member) init(release string) {
	t := m.fleet.t
	t.Helper()
	out, err := m.command(release, "init", "--json").Output()
	if err != nil {
		t.Fatalf("init: %v", err)
	}
	var first struct{ APIKey string }
	if err := json.Unmarshal(out, &first); err != nil {
		t.Fatal(err)
	}
	m.fleet.key = first.APIKey
}

// start starts a release, waits until it is ready, and has requests sent to it while it is.
func (m *member) start(release string) {
	t := m.fleet.t
	t.Helper()
	m.fleet.mu.Lock()
	m.release = release
	m.fleet.mu.Unlock()
	for deadline, tries := time.Now().Add(2*time.Minute), 0; ; time.Sleep(20 * time.Millisecond) {
		// One whose database does not answer in time ends, as happens on a machine that is full of other programs; what watches
		// over processes starts it again.
		if tries == 0 || m.hasEnded() && tries < 3 && strings.Contains(m.said.String(), "the database does not answer") {
			m.launch()
			tries++
		}
		if m.ready() {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s (%s) is not ready: %s", m.name, release, m.said.String())
		}
	}
	m.in.Store(true)
}

func (m *member) launch() {
	t, release := m.fleet.t, m.release
	t.Helper()
	process, ended, over := m.command(release, "serve"), make(chan error, 1), make(chan struct{})
	process.Stderr = &m.said
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { ended <- process.Wait(); close(over) }()
	t.Cleanup(func() {
		_ = process.Process.Kill() // it may have ended
		<-over                     // it writes no more into its folder
		if t.Failed() {
			t.Logf("%s (%s) said:\n%s", m.name, release, m.said.String())
		}
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

// stop ends the process in order.
func (m *member) stop() {
	t := m.fleet.t
	t.Helper()
	if err := m.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for m.ready() {
		time.Sleep(10 * time.Millisecond)
	}
	m.in.Store(false)
	if err := <-m.ended; err != nil {
		t.Fatalf("%s did not end in order: %v\n%s", m.name, err, m.said.String())
	}
}

// ready asks for readiness as a load balancer does.
func (m *member) ready() bool {
	answer, err := http.Get("http://" + m.backend + "/readyz")
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode == http.StatusOK
}

// do sends a request to this member.
func (m *member) do(key, method, path, body string) (int, string) {
	status, text, _ := m.ask(key, method, path, body)
	return status, text
}

// ask is do with the headers of the answer.
func (m *member) ask(key, method, path, body string) (int, string, http.Header) {
	request, err := http.NewRequest(method, "http://"+m.listen+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error(), nil
	}
	request.Header.Set("X-API-Key", key)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := m.fleet.client.Do(request)
	if err != nil {
		return 0, err.Error(), nil
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error(), nil
	}
	return answer.StatusCode, string(text), answer.Header
}

// want is do for an answer that must be as it should.
func (m *member) want(status int, key, method, path, body string) string {
	m.fleet.t.Helper()
	got, text := m.do(key, method, path, body)
	if got != status {
		m.fleet.t.Errorf("%s (%s): %s %s: %d %s, want %d", m.name, m.release, method, path, got, text, status)
	}
	return text
}

// outages is how often Redis did not answer in the 50 ms that a request waits for it, as happens on a busy machine: each
// member then admits its share, until Redis answers again.
func (m *member) outages() int { return strings.Count(m.said.String(), "limits cannot be shared") }

// shares reports whether limits are shared at the moment.
func (m *member) shares() bool {
	var stats struct{ Limiter struct{ Degraded bool } }
	status, text := m.do(m.fleet.key, "GET", "/api/v1/admin/cache-stats", "")
	return status == http.StatusOK && json.Unmarshal([]byte(text), &stats) == nil && !stats.Limiter.Degraded
}

// apiKey is a key that was made at a member.
type apiKey struct{ ID, Key string }

func (m *member) makeKey(body string) apiKey {
	m.fleet.t.Helper()
	var made apiKey
	if err := json.Unmarshal([]byte(m.want(http.StatusCreated, m.fleet.key, "POST", "/api/v1/developer/api-keys", body)), &made); err != nil {
		m.fleet.t.Fatal(err)
	}
	return made
}

// load is clients that read and write at all members in turn until they are told to end. Nothing is tried again.
type load struct {
	fleet    *fleet
	stopping atomic.Bool
	workers  sync.WaitGroup
	turn     atomic.Int64
	answered atomic.Int64

	mu       sync.Mutex
	of       map[string]int // requests by release
	longest  time.Duration
	stored   []string
	failures []string
}

func (f *fleet) begin(clients int) *load {
	l := &load{fleet: f, of: map[string]int{}}
	for n := range clients {
		l.workers.Go(func() {
			for i := 0; !l.stopping.Load(); i++ {
				id := fmt.Sprintf("doc-%d-%d", n, i)
				l.send(http.StatusOK, "GET", "/api/v1/health", "")
				if !l.send(http.StatusCreated, "POST", "/api/v1/documents", `{"id":"`+id+`","collection":"load","title":"one of many"}`) {
					continue
				}
				l.mu.Lock()
				l.stored = append(l.stored, id)
				l.mu.Unlock()
				l.send(http.StatusOK, "GET", "/api/v1/documents/"+id, "")
			}
		})
	}
	return l
}

func (l *load) end() {
	l.stopping.Store(true)
	l.workers.Wait()
}

// next is the member whose turn it is, and its release.
func (l *load) next() (*member, string) {
	l.fleet.mu.Lock()
	defer l.fleet.mu.Unlock()
	for {
		if m := l.fleet.members[int(l.turn.Add(1))%len(l.fleet.members)]; m.in.Load() {
			return m, m.release
		}
	}
}

func (l *load) send(want int, method, path, body string) bool {
	m, release := l.next()
	began := time.Now()
	status, text := m.do(l.fleet.key, method, path, body)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.longest = max(l.longest, time.Since(began))
	l.of[release]++
	switch {
	case status == want:
		l.answered.Add(1)
		return true
	default:
		l.failures = append(l.failures, fmt.Sprintf("%s (%s): %s %s: %d %s", m.name, release, method, path, status, text))
	}
	return false
}

// await waits until that many more requests were answered.
func (l *load) await(more int64) {
	l.fleet.t.Helper()
	from := l.answered.Load()
	for deadline := time.Now().Add(time.Minute); l.answered.Load() < from+more; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			l.fleet.t.Fatal("the load stands still")
		}
	}
}
