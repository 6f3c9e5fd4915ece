package main

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
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"keepsake/internal/app/apptest"
)

// A service manager holds the listening socket; one process ends and the next one starts under load.
func TestARestartOnAnInheritedSocketFailsNoRequest(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	socket, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	data, url := filepath.Join(t.TempDir(), "d"), "http://"+l.Addr().String()

	first := startOn(t, socket, data)
	key := firstKey(t, data)
	load := &ledger{url: url, key: key, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}}
	stop := make(chan struct{})
	var workers sync.WaitGroup
	for w := range 8 {
		workers.Go(func() { load.work(w, stop) })
	}
	restarts := 3
	if testing.Short() {
		restarts = 1
	}
	// Between them some requests are answered, however slow the machine is.
	served := func() {
		time.Sleep(300 * time.Millisecond)
		for before, end := load.answered.Load(), time.Now().Add(time.Minute); load.answered.Load() < before+30 && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
	}
	server := first
	for range restarts {
		served()
		endOrderly(t, server)
		server = startOn(t, socket, data)
	}
	served()
	close(stop)
	workers.Wait()

	for _, failure := range load.failures {
		t.Errorf("a request failed: %s", failure)
	}
	if n := load.answered.Load(); n < int64(30*restarts) {
		t.Errorf("only %d requests were answered, too few to tell anything", n)
	}
	for id := range load.stored {
		if status, body, err := load.do("GET", "/api/v1/documents/"+id, ""); err != nil || status != 200 {
			t.Errorf("document %s was acknowledged and is not there: %d %s %v", id, status, body, err)
		}
	}
	t.Logf("%d restarts, %d requests answered, %d failed; the longest took %s",
		restarts, load.answered.Load(), len(load.failures), load.longest.Round(time.Millisecond))
	endOrderly(t, server)
}

// startOn starts the program with an open socket, as a service manager does, and waits until it answers.
func startOn(t *testing.T, socket *os.File, data string) *exec.Cmd {
	t.Helper()
	// The number of the process is only known in the process.
	cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=primary exec keepsake serve "$@"`, "sh",
		"--data", data, "--backend-listen", "127.0.0.1:0", "--log-level", "error")
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "KEEPSAKE_") })
	if url := apptest.DatabaseURL(t, data); url != "" {
		cmd.Env = append(cmd.Env, "KEEPSAKE_DATABASE_URL="+url)
	}
	cmd.ExtraFiles = []*os.File{socket}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line := make([]byte, 256)
	n, err := out.Read(line)
	if err != nil || !strings.Contains(string(line[:n]), "ready at") {
		t.Fatalf("the program did not start: %q %v %s", line[:n], err, &said)
	}
	go io.Copy(io.Discard, out)
	return cmd
}

func endOrderly(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the program did not end in order: %v", err)
	}
}

func firstKey(t *testing.T, data string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(data, "first-start.json"))
	if err != nil {
		t.Fatal(err)
	}
	var first struct{ APIKey string }
	if err := json.Unmarshal(text, &first); err != nil {
		t.Fatal(err)
	}
	return first.APIKey
}

// ledger sends requests and keeps what came of them.
type ledger struct {
	url, key string
	client   *http.Client
	answered atomic.Int64

	mu       sync.Mutex
	stored   map[string]bool // the last document each client was promised
	failures []string
	longest  time.Duration
}

// work sends reads and writes, none of which the client would repeat by itself but the reads.
func (l *ledger) work(worker int, stop <-chan struct{}) {
	last := ""
	for i := 0; ; i++ {
		select {
		case <-stop:
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.stored == nil {
				l.stored = map[string]bool{}
			}
			if last != "" {
				l.stored[last] = true
			}
			return
		default:
		}
		id := fmt.Sprintf("w%d-%d", worker, i)
		began := time.Now()
		status, body, err := l.do("POST", "/api/v1/documents", `{"id":"`+id+`","text":"kept across restarts"}`)
		if err == nil && status == 201 {
			last = id
			status, body, err = l.do("GET", "/api/v1/health", "")
		}
		l.mu.Lock()
		l.longest = max(l.longest, time.Since(began))
		if err != nil || status >= 300 {
			l.failures = append(l.failures, fmt.Sprintf("%s: %d %s %v", id, status, body, err))
		}
		l.mu.Unlock()
	}
}

func (l *ledger) do(method, path, body string) (status int, answer string, err error) {
	req, err := http.NewRequest(method, l.url+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("X-API-Key", l.key)
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPost {
		req.GetBody = nil // so that the transport does not send it again after a failure
	}
	res, err := l.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	l.answered.Add(1)
	return res.StatusCode, string(text), err
}
