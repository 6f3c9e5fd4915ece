package programtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/await"
)

// Process is the program as a process. It is killed when the test ends, if it still runs then.
type Process struct {
	Dir        string // the data folder
	URL        string // of the API
	BackendURL string // of the probes
	Key        string // with all scopes, once the process is ready
	Password   string // of admin@localhost, after a first start
	Log        *Output

	t     testing.TB
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process has ended
	over  atomic.Bool   // the test has ended it
}

// Start starts the program on a data folder and waits until it is ready. After a first start it deletes first-start.json,
// as an operator does.
func Start(t testing.TB, dir string, options ...Option) *Process {
	t.Helper()
	p := Launch(t, dir, options...)
	p.AwaitReady()
	return p
}

// Launch starts the program on a data folder and does not wait until it is ready.
func Launch(t testing.TB, dir string, options ...Option) *Process {
	t.Helper()
	l := &launch{t: t}
	for _, o := range options {
		o(l)
	}
	l.addresses()
	p := &Process{
		Dir: dir, URL: "http://" + l.listen, BackendURL: "http://" + l.backend, Key: l.key, Log: &Output{},
		t: t, cmd: l.command(dir), ended: make(chan struct{}),
	}
	p.cmd.Stdout, p.cmd.Stderr = p.Log, p.Log
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start keepsake: %v", err)
	}
	for _, f := range l.files {
		_ = f.Close() // the process has duplicates
	}
	go func() {
		_ = p.cmd.Wait() // ProcessState contains the result
		close(p.ended)
	}()
	t.Cleanup(p.cleanUp)
	return p
}

func (l *launch) command(dir string) *exec.Cmd {
	program := l.program
	if program == "" {
		program = Binary(l.t)
	}
	args := append(slices.Clone(l.through), program, "serve", "--data", dir, "--backend-listen", l.backend)
	if len(l.files) == 0 { // otherwise it inherits its socket
		args = append(args, "--listen", l.listen)
	}
	args = append(args, l.flags...)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(l.environment(dir), l.env...)
	cmd.ExtraFiles = l.files
	cmd.WaitDelay = 5 * time.Second // its children can keep its output open
	if l.user != nil {
		l.user(cmd)
	}
	return cmd
}

// environment returns the environment of the tests without the settings of the person who runs them.
func (l *launch) environment(dir string) []string {
	// A busy machine can keep the database from answering for longer than an operator wants to wait.
	env := append(withoutSettings(), "KEEPSAKE_CLUSTER_START_TIMEOUT=2m")
	url := l.database
	if url == "" {
		url = apptest.DatabaseURL(l.t, dir)
	}
	if url != "" {
		env = append(env, "KEEPSAKE_DATABASE_URL="+url)
	}
	return env
}

func withoutSettings() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "KEEPSAKE_") })
}

// Command is a run of another command than serve. It has the environment that Launch gives a process; args name the data
// folder with --data.
func Command(t testing.TB, args []string, options ...Option) *exec.Cmd {
	t.Helper()
	l := &launch{t: t}
	for _, o := range options {
		o(l)
	}
	program := l.program
	if program == "" {
		program = Binary(t)
	}
	cmd := exec.Command(program, append(slices.Clone(args), l.flags...)...)
	cmd.Env = withoutSettings()
	if i := slices.Index(args, "--data"); i >= 0 {
		cmd.Env = l.environment(args[i+1])
	}
	cmd.Env = append(cmd.Env, l.env...)
	return cmd
}

// Run runs a command to its end and returns its exit code and its output.
func Run(t testing.TB, args ...string) (code int, output string) {
	t.Helper()
	out, err := Command(t, args).CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), string(out)
	}
	if err != nil {
		t.Fatalf("keepsake %v: %v\n%s", args, err, out)
	}
	return 0, string(out)
}

// AwaitReady waits until the process reports that it is ready, as a load balancer does.
func (p *Process) AwaitReady() {
	p.t.Helper()
	if !p.ReadyOrEnded() {
		p.t.Fatalf("the process ended before it was ready: %s\n%s", p.cmd.ProcessState, p.Log)
	}
}

// ReadyOrEnded waits until the process is ready or has ended, and reports whether it is ready.
func (p *Process) ReadyOrEnded() bool {
	p.t.Helper()
	ready := false
	await.Until(p.t, "keepsake is ready", func() bool {
		ended := p.Ended()
		ready = !ended && p.Ready()
		return ready || ended
	})
	if !ready {
		return false
	}
	first := readFirstStart(p.Dir)
	p.Key, p.Password = cmp.Or(p.Key, first.APIKey), first.Password
	_ = os.Remove(filepath.Join(p.Dir, "first-start.json")) // there after a first start only
	return true
}

// Ready asks once whether the process is ready.
func (p *Process) Ready() bool {
	ctx, cancel := context.WithTimeout(context.Background(), clientTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.BackendURL+"/readyz", nil)
	if err != nil {
		return false
	}
	res, err := probes.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// probes uses a new connection for each request, as some load balancers do, so that a stopping process need not wait for it.
var probes = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// FirstKey reads the key that a first start leaves in the data folder. It is empty if there is none.
func FirstKey(dir string) string { return readFirstStart(dir).APIKey }

// firstStart is what a first start leaves in the data folder.
type firstStart struct{ APIKey, Password string }

func readFirstStart(dir string) (first firstStart) {
	text, err := os.ReadFile(filepath.Join(dir, "first-start.json"))
	if err != nil || json.Unmarshal(text, &first) != nil {
		return firstStart{}
	}
	return first
}

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal.
func (p *Process) Signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("send %s: %v", s, err)
	}
}

// Kill ends the process without a warning. It does nothing if the process has ended.
func (p *Process) Kill() {
	p.over.Store(true)
	_ = p.cmd.Process.Kill() // possibly ended already
	<-p.ended
}

// Stop ends the process as an operator does, and fails the test if it does not end in order.
func (p *Process) Stop() {
	p.t.Helper()
	p.over.Store(true)
	p.Signal(syscall.SIGTERM)
	if code := p.ExitCode(); code != 0 {
		p.t.Errorf("SIGTERM ended the process with code %d\n%s", code, p.Log)
	}
}

// ExitCode waits until the process has ended. It is negative after a signal.
func (p *Process) ExitCode() int {
	p.t.Helper()
	await.Receive(p.t, "the process ends", p.ended)
	return p.cmd.ProcessState.ExitCode()
}

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.ended }

// Refusal waits for a start that must fail and returns the only line that it writes outside its log.
func (p *Process) Refusal() string {
	p.t.Helper()
	p.over.Store(true)
	if code := p.ExitCode(); code < 1 || code > 3 {
		p.t.Errorf("exit code %d, want 1, 2 or 3\n%s", code, p.Log)
	}
	var lines []string
	for line := range strings.Lines(p.Log.String()) {
		if !strings.HasPrefix(line, "{") { // a line of the log
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "keepsake: ") {
		p.t.Errorf("want one clear line, got %d:\n%s", len(lines), p.Log)
	}
	return strings.Join(lines, "\n")
}

// MustLive fails the test if the process has ended or has logged a panic.
func (p *Process) MustLive() {
	p.t.Helper()
	if p.Ended() {
		p.t.Fatalf("the process ended: %s\n%s", p.cmd.ProcessState, p.Log.Tail())
	}
	if strings.Contains(p.Log.String(), "panic") {
		p.t.Errorf("a panic:\n%s", p.Log.Tail())
	}
}

// cleanUp kills a process that still runs. If the test has failed, it shows the output of a process that the test did not end.
func (p *Process) cleanUp() {
	show := !p.over.Load()
	p.Kill()
	if show && p.t.Failed() {
		p.t.Logf("keepsake on %s wrote:\n%s", p.Dir, p.Log.Tail())
	}
}

// Output collects what a process writes.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Tail is the end of what was written.
func (o *Output) Tail() string {
	text := o.String()
	return text[max(0, len(text)-4000):]
}
