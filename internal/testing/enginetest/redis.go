package enginetest

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// installRedis is the message of a test that is skipped because there is no server.
const installRedis = missing("a Redis or Valkey server, version 7 or later (apt-get install redis-server, or brew install redis)")

// RedisOptions configures a server. The zero value is a server on a Unix socket that stores nothing on disk.
type RedisOptions struct {
	TCP      bool     // listens on a port of 127.0.0.1 instead
	Password string   // of clients; empty: none
	Settings []string // further arguments of the program
	Network  *Network // the network of the server, which must be its only one; nil: this machine's
}

// RedisServer is a server with its own folder.
type RedisServer struct {
	opt     RedisOptions
	program string
	dir     string
	port    int
	log     output

	mu    sync.Mutex
	cmd   *exec.Cmd
	ended chan struct{} // closed when cmd has ended
}

// Redis starts a private, empty server and returns its URL. It ends with the test.
func Redis(t testing.TB) (url string) {
	t.Helper()
	return StartRedis(t, RedisOptions{}).URL()
}

// StartRedis starts a private server, which the test can stop and start again. It ends with the test.
func StartRedis(t testing.TB, opt RedisOptions) *RedisServer {
	t.Helper()
	s, remove, err := newRedis(opt)
	check(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the server's last words:\n%s", &s.log)
		}
		remove()
	})
	return s
}

func newRedis(opt RedisOptions) (*RedisServer, func(), error) {
	program, err := find("redis-server", 7, "/usr/local/bin", "/opt/redis/bin", "/opt/homebrew/bin")
	if err != nil {
		if program, err = find("valkey-server", 7, "/usr/local/bin", "/opt/valkey/bin", "/opt/homebrew/bin"); err != nil {
			return nil, nil, installRedis
		}
	}
	dir, remove, err := tempDir()
	if err != nil {
		return nil, nil, fmt.Errorf("make a folder for redis: %w", err)
	}
	s := &RedisServer{opt: opt, program: program, dir: dir}
	switch {
	case opt.Network != nil:
		s.port = 6379
	case opt.TCP:
		var release func()
		if s.port, release, err = reservePort(net.IPv4(127, 0, 0, 1)); err == nil {
			files := remove
			remove = func() { files(); release() }
		}
	}
	if err == nil {
		err = s.run()
	}
	if err != nil {
		remove()
		return nil, nil, err
	}
	return s, func() {
		_ = s.stop(syscall.SIGKILL)
		remove()
	}, nil
}

func (s *RedisServer) socket() string { return filepath.Join(s.dir, "redis.sock") }

// run starts the server and waits until it accepts connections.
func (s *RedisServer) run() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	args := []string{"--save", "", "--appendonly", "no", "--dir", s.dir, "--daemonize", "no", "--port", strconv.Itoa(s.port)}
	switch {
	case s.opt.Network != nil:
		args = append(args, "--bind", s.opt.Network.address.String(), "--protected-mode", "no")
	case s.opt.TCP:
		args = append(args, "--bind", "127.0.0.1")
	default:
		args = append(args, "--unixsocket", s.socket(), "--unixsocketperm", "777")
	}
	if s.opt.Password != "" {
		args = append(args, "--requirepass", s.opt.Password)
	}
	args = append(args, s.opt.Settings...)
	cmd, begin := exec.Command(s.program, args...), start
	if s.opt.Network != nil {
		cmd, begin = s.opt.Network.command(s.program, args...), startAsIs
	}
	cmd.Dir = s.dir
	cmd.Stdout, cmd.Stderr = &s.log, &s.log
	ready := s.log.wait(func(line string) bool {
		return strings.Contains(line, "eady to accept connections") // "The server is now ready …", or "Ready …"
	})
	wait, err := begin(cmd, syscall.SIGKILL)
	if err != nil {
		return fmt.Errorf("start redis: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = wait() // how it ended is in the log
		close(ended)
	}()
	s.cmd, s.ended = cmd, ended
	select {
	case <-ready:
		return nil
	case <-ended:
		s.cmd = nil
		return fmt.Errorf("redis ended while starting:\n%s", &s.log)
	case <-time.After(time.Minute):
		return fmt.Errorf("redis does not start:\n%s", &s.log)
	}
}

// stop stops the server with a signal and waits for its end. It does nothing if the server has stopped.
func (s *RedisServer) stop(signal syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return nil
	}
	for _, signal := range []syscall.Signal{resumeSignal, signal} { // a paused process receives no other signal
		if err := s.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
	}
	select {
	case <-s.ended:
	case <-time.After(time.Minute):
		return fmt.Errorf("redis does not stop:\n%s", &s.log)
	}
	s.cmd = nil
	return nil
}

// Files returns the folder of the server's files.
func (s *RedisServer) Files() string { return s.dir }

// Stop shuts the server down in order.
func (s *RedisServer) Stop(t testing.TB) { s.must(t, s.stop(syscall.SIGTERM)) }

// Kill kills the server.
func (s *RedisServer) Kill(t testing.TB) { s.must(t, s.stop(syscall.SIGKILL)) }

// Start starts a server that was stopped, at the same address.
func (s *RedisServer) Start(t testing.TB) { s.must(t, s.run()) }

// Pause stops the server (SIGSTOP). Connections stay open without a response.
func (s *RedisServer) Pause(t testing.TB) { s.must(t, s.signal(pauseSignal)) }

// Resume continues a paused server.
func (s *RedisServer) Resume(t testing.TB) { s.must(t, s.signal(resumeSignal)) }

// Flush deletes everything in the server.
func (s *RedisServer) Flush(t testing.TB) { s.Do(t, "FLUSHALL") }

func (s *RedisServer) signal(signal syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return errors.New("redis is not running")
	}
	return s.cmd.Process.Signal(signal)
}

func (s *RedisServer) must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// URL returns the server's address for the setting redisUrl.
func (s *RedisServer) URL() string {
	user := ""
	if s.opt.Password != "" {
		user = ":" + s.opt.Password + "@"
	}
	if s.overTCP() {
		return "redis://" + user + s.Address()
	}
	return "unix://" + user + s.socket()
}

func (s *RedisServer) overTCP() bool { return s.opt.TCP || s.opt.Network != nil }

// Address returns the TCP address of a server with RedisOptions.TCP or a Network.
func (s *RedisServer) Address() string {
	host := "127.0.0.1"
	if s.opt.Network != nil {
		host = s.opt.Network.address.String()
	}
	return net.JoinHostPort(host, strconv.Itoa(s.port))
}

// Do runs a command, whose arguments contain no spaces, and returns the first line of the reply.
func (s *RedisServer) Do(t testing.TB, command string) string {
	t.Helper()
	network, address := "unix", s.socket()
	if s.overTCP() {
		network, address = "tcp", s.Address()
	}
	c, err := net.DialTimeout(network, address, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s.must(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	lines := bufio.NewReader(c)
	if s.opt.Password != "" {
		command = "AUTH " + s.opt.Password + "\r\n" + command
	}
	if _, err := fmt.Fprintf(c, "%s\r\n", command); err != nil {
		t.Fatal(err)
	}
	answer, err := lines.ReadString('\n')
	if err == nil && s.opt.Password != "" {
		answer, err = lines.ReadString('\n')
	}
	if err != nil || strings.HasPrefix(answer, "-") {
		t.Fatalf("redis: %q, %v", answer, err)
	}
	return strings.TrimRight(answer, "\r\n")
}
