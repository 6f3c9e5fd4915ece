package upgradetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/programtest"
)

// The two releases: this program, and this program with a further migration.
const (
	previous = "1.0"
	next     = "1.1"
)

func TestMain(m *testing.M) { programtest.Main(m) }

// program builds a release.
func program(t *testing.T, release string) string {
	t.Helper()
	o := programtest.BuildOptions{LDFlags: "-X main.release=" + release}
	if release == next {
		o.Tags = "nextrelease"
	}
	return programtest.Build(t, o)
}

// fleet is instances on one database and one Redis.
type fleet struct {
	t        *testing.T
	programs map[string]string // by release
	database string
	options  []programtest.Option
	key      string // with all scopes
	members  []*member
	turn     atomic.Int64
}

// member is an instance: its folder and its addresses outlive its processes.
type member struct {
	fleet   *fleet
	name    string
	data    string
	listen  string
	backend string
	release string
	process *programtest.Process
	in      atomic.Bool // the balancer sends requests here
}

// newFleet makes a fleet of members that do not run. programs are the paths of its releases.
func newFleet(t *testing.T, programs map[string]string, names ...string) *fleet {
	t.Helper()
	masterKey := filepath.Join(t.TempDir(), "master.key")
	if err := os.WriteFile(masterKey, []byte("c29tZSBrZXkgb2YgMzIgYnl0ZXMgZm9yIHRoZSB0ZXM=\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &fleet{t: t, programs: programs, database: enginetest.Postgres(t)}
	f.options = []programtest.Option{
		programtest.Database(f.database), programtest.Redis(enginetest.Redis(t)),
		// The waits for Redis and the balancer are longer than they take on a busy machine.
		programtest.Env("KEEPSAKE_MASTER_KEY_FILE="+masterKey, "KEEPSAKE_LIMITS_REDIS_WAIT=1m", "KEEPSAKE_SHUTDOWN_DELAY=6s", "KEEPSAKE_LOG_LEVEL=warn"),
	}
	for _, name := range names {
		f.members = append(f.members, &member{
			fleet: f, name: name, data: filepath.Join(t.TempDir(), name), listen: enginetest.FreeAddress(t), backend: enginetest.FreeAddress(t),
		})
	}
	return f
}

// start starts a release, waits until it is ready, and has requests sent to it from then on.
func (m *member) start(release string) {
	f := m.fleet
	f.t.Helper()
	m.release = release
	m.process = programtest.Start(f.t, m.data, append([]programtest.Option{
		programtest.Program(f.programs[release]), programtest.Listen(m.listen, m.backend), programtest.Key(f.key),
	}, f.options...)...)
	f.key = m.process.Key // of the first start of all
	m.in.Store(true)
}

// stop ends the process in order: it says that it is not ready, the balancer sends it nothing more, and it ends.
func (m *member) stop() {
	m.fleet.t.Helper()
	m.process.Signal(syscall.SIGTERM)
	await.Until(m.fleet.t, m.name+" is not ready", func() bool { return !m.process.Ready() })
	m.in.Store(false)
	if code := m.process.ExitCode(); code != 0 {
		m.fleet.t.Fatalf("SIGTERM ended %s with code %d\n%s", m.name, code, m.process.Log.Tail())
	}
}

// doctor is a run of the command doctor on the folder of a member.
func (m *member) doctor() *exec.Cmd {
	return programtest.Command(m.fleet.t, []string{"doctor", "--data", m.data},
		append([]programtest.Option{programtest.Program(m.fleet.programs[m.release])}, m.fleet.options...)...)
}

// ask sends a request to this member.
func (m *member) ask(key, method, path, body string) (int, string, http.Header) {
	m.fleet.t.Helper()
	return m.askAt(m.process.URL, key, method, path, body)
}

// askAt is ask at one of the member's listeners.
func (m *member) askAt(url, key, method, path, body string) (int, string, http.Header) {
	m.fleet.t.Helper()
	req, err := http.NewRequestWithContext(m.fleet.t.Context(), method, url+path, strings.NewReader(body))
	if err != nil {
		m.fleet.t.Fatal(err)
	}
	req.Header.Set("X-API-Key", key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := programtest.Client.Do(req)
	if err != nil {
		m.fleet.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		m.fleet.t.Fatal(err)
	}
	return res.StatusCode, string(text), res.Header
}

// want is ask for an answer that must have a status.
func (m *member) want(status int, key, method, path, body string) string {
	m.fleet.t.Helper()
	got, text, _ := m.ask(key, method, path, body)
	if got != status {
		m.fleet.t.Errorf("%s (%s): %s %s: %d %s, want %d", m.name, m.release, method, path, got, text, status)
	}
	return text
}

// report reports usage of another service, and checks how many of its items are accepted.
func (m *member) report(accepted int, body string) {
	m.fleet.t.Helper()
	status, text, _ := m.askAt(m.process.BackendURL, m.fleet.key, "POST", "/usage", body)
	if status != http.StatusOK || !strings.Contains(text, fmt.Sprintf(`"accepted":%d,`, accepted)) {
		m.fleet.t.Errorf("%s (%s): %s: %d %s, want %d accepted", m.name, m.release, body, status, text, accepted)
	}
}

// shares reports whether the member shares limits with the others.
func (m *member) shares() bool {
	var stats struct{ Limiter struct{ Degraded bool } }
	status, text, _ := m.ask(m.fleet.key, "GET", "/api/v1/admin/cache-stats", "")
	return status == http.StatusOK && json.Unmarshal([]byte(text), &stats) == nil && !stats.Limiter.Degraded
}

// apiKey is a key that was created at a member.
type apiKey struct{ ID, Key string }

func (m *member) createKey(body string) apiKey {
	m.fleet.t.Helper()
	var created apiKey
	if err := json.Unmarshal([]byte(m.want(http.StatusCreated, m.fleet.key, "POST", "/api/v1/developer/api-keys", body)), &created); err != nil {
		m.fleet.t.Fatal(err)
	}
	return created
}

// load starts clients that write and read at all members in turn.
func (f *fleet) load(clients int) *programtest.Load {
	return programtest.StartLoad(f.t, programtest.LoadOptions{
		Clients: clients, Key: f.key, Target: f.next,
		// Idle connections end before the member does that they lead to, as those of a load balancer do.
		IdleTimeout: 500 * time.Millisecond,
	})
}

// next is the address of the member whose turn it is.
func (f *fleet) next() string {
	for {
		if m := f.members[int(f.turn.Add(1))%len(f.members)]; m.in.Load() {
			return "http://" + m.listen
		}
	}
}
