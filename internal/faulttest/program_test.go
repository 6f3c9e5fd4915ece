package faulttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"keepsake/internal/app/apptest"
	"keepsake/internal/enginetest"
)

// binary is the built program.
var binary string

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "keepsake-faulttest-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "keepsake")
	cmd := exec.Command("go", "build", "-o", binary, "keepsake/cmd/keepsake")
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build keepsake: %v\n%s", err, out)
		return 1
	}
	// The folder must be enterable by the other user a test runs the program as.
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer enginetest.Stop()
	return m.Run()
}

// readyWithin is how long a start may take (issue: under 2 s after a crash), patience is when a tester gives up what has no
// bound of its own.
const (
	readyWithin = 2 * time.Second
	patience    = time.Minute
)

// server is the program as a process.
type server struct {
	t       testing.TB
	cmd     *exec.Cmd
	dir     string // data folder
	url     string
	backend string
	key     string // with all scopes
	log     *output
	done    chan struct{}
	started time.Time
	took    time.Duration // from exec to the first good answer
}

// output collects what a process writes.
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

// option changes how a server is started.
type option func(*exec.Cmd)

// env adds environment variables.
func env(list ...string) option {
	return func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, list...) }
}

// flags adds arguments.
func flags(list ...string) option {
	return func(cmd *exec.Cmd) { cmd.Args = append(cmd.Args, list...) }
}

// as runs the program as another user.
func as(id uint32) option {
	return func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
	}
}

// launch starts the program on a folder and does not wait for it to be ready.
func launch(t testing.TB, dir string, options ...option) *server {
	t.Helper()
	listen, backend := enginetest.FreeAddress(t), enginetest.FreeAddress(t)
	cmd := exec.Command(binary, "serve", "--data", dir, "--listen", listen, "--backend-listen", backend)
	cmd.Env = engineEnv(t, clean(os.Environ()), dir)
	cmd.WaitDelay = 5 * time.Second
	for _, o := range options {
		o(cmd)
	}
	s := &server{t: t, cmd: cmd, dir: dir, url: "http://" + listen, backend: "http://" + backend, log: &output{}, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = s.log, s.log
	s.started = time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", binary, err)
	}
	go func() {
		_ = cmd.Wait() // how it ended is in ProcessState
		close(s.done)
	}()
	t.Cleanup(s.kill)
	return s
}

// clean takes out the settings of whoever runs the tests.
func clean(env []string) []string {
	return slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "KEEPSAKE_") })
}

// engineEnv gives the program the database that belongs to a data folder, on an engine that wants one.
func engineEnv(t testing.TB, env []string, dir string) []string {
	t.Helper()
	if url := apptest.DatabaseURL(t, dir); url != "" {
		env = append(env, "KEEPSAKE_DATABASE_URL="+url)
	}
	return env
}

// commandEnv is the environment of a command.
func commandEnv(t testing.TB, args []string) []string {
	t.Helper()
	env := clean(os.Environ())
	if i := slices.Index(args, "--data"); i >= 0 {
		env = engineEnv(t, env, args[i+1])
	}
	return env
}

// start starts the program and waits until it answers. On a new folder it takes the key of the first start and deletes
// first-start.json, as an operator does.
func start(t testing.TB, dir, key string, options ...option) *server {
	t.Helper()
	for try := 1; ; try++ {
		s := launch(t, dir, options...)
		s.key = key
		err := s.ready()
		if err == nil {
			return s
		}
		// A start ends where its database does not answer in time, as happens on a machine that is full of other programs; what
		// watches over processes starts it again.
		if try == 3 || !s.ended() || !strings.Contains(s.log.String(), "the database does not answer") {
			t.Fatalf("%v\n%s", err, s.log)
		}
	}
}

// ready waits until the server answers a request with a key.
func (s *server) ready() error {
	given := s.key
	for time.Since(s.started) < patience {
		select {
		case <-s.done:
			return fmt.Errorf("the server ended: %s", s.cmd.ProcessState)
		default:
		}
		if given == "" { // read again each time: a first start replaces what one that was killed has left
			s.key = firstKey(s.dir)
		}
		if s.key != "" {
			if status, _, err := s.do(context.Background(), http.MethodGet, "/api/v1/health", nil); err == nil && status == http.StatusOK {
				s.took = time.Since(s.started)
				_ = os.Remove(filepath.Join(s.dir, "first-start.json")) // there after a first start only
				return nil
			}
		}
		time.Sleep(2 * time.Millisecond)
	}
	return fmt.Errorf("no good answer from the server in %s", patience)
}

// firstKey reads the key of a first start, empty where there is none.
func firstKey(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, "first-start.json"))
	if err != nil {
		return ""
	}
	var first struct {
		APIKey string `json:"apiKey"`
	}
	if json.Unmarshal(text, &first) != nil {
		return ""
	}
	return first.APIKey
}

// restart starts a server on the folder of one that was killed, which has to be quick: where the machine is so full that a
// start in order takes longer than half of that, it may take twice as long as such a start did. Besides a start is late by
// chance there; one that waits for something is late each time, also after one more kill.
func restart(t testing.TB, inOrder time.Duration, dir, key string, options ...option) *server {
	t.Helper()
	most := max(readyWithin, 2*inOrder)
	var late []time.Duration
	for {
		s := start(t, dir, key, options...)
		if s.took <= most {
			return s
		}
		if late = append(late, s.took); len(late) == 5 {
			t.Errorf("the start after a kill took %v, want under %s once", late, most)
			return s
		}
		s.kill()
	}
}

// promptly does what may take so long, and once more where it took longer, five times in all: where other programs take the
// machine it is late by chance, where the server waits for something it is late each time.
func promptly(t testing.TB, most time.Duration, what string, do func()) {
	t.Helper()
	var late []time.Duration
	for range 5 {
		began := time.Now()
		do()
		took := time.Since(began)
		if took <= most {
			return
		}
		late = append(late, took)
	}
	t.Errorf("%s took %v, want at most %s once", what, late, most)
}

// kill ends the process as a power cut does, as far as a process can see.
func (s *server) kill() {
	_ = s.cmd.Process.Kill() // it may have ended
	<-s.done
}

// stop ends it as an operator does.
func (s *server) stop() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatalf("SIGTERM: %v", err)
	}
	select {
	case <-s.done:
		if code := s.cmd.ProcessState.ExitCode(); code != 0 {
			s.t.Errorf("SIGTERM ended the server with code %d\n%s", code, s.log)
		}
	case <-time.After(patience):
		s.t.Fatalf("the server is still there %s after SIGTERM\n%s", patience, s.log)
	}
}

// refuses waits for a start that must fail and gives its one line.
func (s *server) refuses() string {
	s.t.Helper()
	select {
	case <-s.done:
	case <-time.After(patience):
		s.t.Fatalf("the server started, or hangs; it must refuse\n%s", s.log)
	}
	if code := s.cmd.ProcessState.ExitCode(); code == 0 || code > 3 || code < 0 {
		s.t.Errorf("exit code %d, want 1, 2 or 3\n%s", code, s.log)
	}
	// What was logged before is not the message; neither may be a stack.
	var lines []string
	for line := range strings.Lines(s.log.String()) {
		if !strings.HasPrefix(line, "{") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "keepsake: ") {
		s.t.Errorf("want one clear line, got %d:\n%s", len(lines), s.log)
	}
	return strings.Join(lines, "\n")
}

// client never waits for ever and opens as many connections as it needs.
var client = &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// do sends a request with the server's key; a body that is not nil is JSON.
func (s *server) do(ctx context.Context, method, path string, body any) (int, []byte, error) {
	media, text := "", []byte(nil)
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return 0, nil, err
		}
		media = "application/json"
	}
	return s.raw(ctx, s.key, method, path, media, text)
}

func (s *server) raw(ctx context.Context, key, method, path, media string, body []byte, headers ...string) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("X-API-Key", key)
	if media != "" {
		req.Header.Set("Content-Type", media)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	return res.StatusCode, answer, err
}

// must sends a request that has to have one status and gives the answer's JSON.
func (s *server) must(status int, method, path string, body any) map[string]any {
	s.t.Helper()
	got, text, err := s.do(context.Background(), method, path, body)
	if err != nil || got != status {
		s.t.Fatalf("%s %s: %d %s %v, want %d\nlog:\n%s", method, path, got, text, err, status, tail(s.log.String()))
	}
	if len(text) == 0 {
		return nil
	}
	var answer map[string]any
	if err := json.Unmarshal(text, &answer); err != nil {
		s.t.Fatalf("%s %s: %s is not JSON: %v", method, path, text, err)
	}
	return answer
}

// ended reports whether the process is over.
func (s *server) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// lives fails the test when the process has ended or has panicked.
func (s *server) lives() {
	s.t.Helper()
	select {
	case <-s.done:
		s.t.Fatalf("the server ended: %s\n%s", s.cmd.ProcessState, tail(s.log.String()))
	default:
	}
	if log := s.log.String(); strings.Contains(log, "panic") {
		s.t.Errorf("a panic:\n%s", tail(log))
	}
}

func tail(text string) string { return text[max(0, len(text)-4000):] }

// run runs the program to its end and gives exit code and output.
func run(t testing.TB, args ...string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = commandEnv(t, args)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("keepsake %v: %v\n%s", args, err, out)
	}
	if exit != nil {
		return exit.ExitCode(), string(out)
	}
	return 0, string(out)
}

// copyDir copies a data folder whose server has ended, without its socket.
func copyDir(t testing.TB, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "data")
	apptest.Share(from, to)
	err := filepath.Walk(from, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		switch {
		case info.IsDir():
			return os.MkdirAll(target, 0o700)
		case !info.Mode().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, info.Mode().Perm())
	})
	if err != nil {
		t.Fatalf("copy %s: %v", from, err)
	}
	return to
}
