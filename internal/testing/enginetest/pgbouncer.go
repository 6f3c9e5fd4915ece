package enginetest

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// installPgBouncer is the message of a test that is skipped because there is no PgBouncer.
const installPgBouncer = missing("PgBouncer (apt-get install pgbouncer, or brew install pgbouncer)")

// PgBouncer starts a PgBouncer in front of the server and returns its address. Settings other than these have their defaults,
// among them session mode. It ends with the test.
func (s *PostgresServer) PgBouncer(t testing.TB, settings map[string]string) (address string) {
	t.Helper()
	program, err := find("pgbouncer", 1, "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin")
	if err != nil {
		check(t, installPgBouncer)
	}
	dir, remove, err := tempDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
	port, release, err := reservePort(net.IPv4(127, 0, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	server := "host=" + s.dir
	if s.port != 0 {
		server += " port=" + strconv.Itoa(s.port)
	}
	users := filepath.Join(dir, "users")
	all := map[string]string{
		"listen_addr": "127.0.0.1", "listen_port": strconv.Itoa(port), "unix_socket_dir": "",
		"auth_type": "trust", "auth_file": users,
	}
	maps.Copy(all, settings)
	var text strings.Builder
	fmt.Fprintf(&text, "[databases]\n* = %s\n[pgbouncer]\n", server)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&text, "%s = %s\n", name, all[name])
	}
	config := filepath.Join(dir, "pgbouncer.ini")
	for path, content := range map[string]string{config: text.String(), users: fmt.Sprintf("%q \"\"\n", Role)} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var log output
	cmd := exec.Command(program, config)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &log, &log
	ready := log.wait(func(line string) bool { return strings.Contains(line, "process up") })
	wait, err := start(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = wait() // how it ended is in the log
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("the pooler's last words:\n%s", &log)
		}
	})
	select {
	case <-ready:
	case <-ended:
		t.Fatalf("pgbouncer ended while starting:\n%s", &log)
	case <-time.After(time.Minute):
		t.Fatalf("pgbouncer does not start:\n%s", &log)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// PgBouncerURL returns the URL of a database of the server behind an address of PgBouncer.
func PgBouncerURL(address, database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(Role), Host: address, Path: "/" + database}
	return u.String()
}
