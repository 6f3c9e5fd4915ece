package enginetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Role is the role of the tests: an ordinary one that owns its databases, like the role that an operator gives the service.
const Role = "keepsake"

// superuser can connect to every server, but only through its socket.
const superuser = "postgres"

// installPostgres is the message of a test that is skipped because there is no server.
const installPostgres = missing("a PostgreSQL server, version 15 or later (apt-get install postgresql, or brew install postgresql)")

// postgresFolders are the folders of the server if it is not in PATH: on Debian and Red Hat, from its sources, from Homebrew
// and from Postgres.app.
var postgresFolders = []string{
	"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin",
	"/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin", "/opt/homebrew/bin", "/usr/local/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// PostgresOptions configures a server. The zero value is a server on a Unix socket without durability.
type PostgresOptions struct {
	TCP      bool              // also listens on a port of 127.0.0.1
	Password string            // of Role over TCP; empty: none
	Fsync    bool              // commits wait for the disk, as in production
	Settings map[string]string // further settings of postgresql.conf
	Log      io.Writer         // also receives the server's log
}

// PostgresServer is a server with its own folder.
type PostgresServer struct {
	opt    PostgresOptions
	bin    string // folder of the programs
	dir    string
	port   int
	log    output
	serial atomic.Int64 // numbers databases
	own    bool         // it belongs to one test

	templates sync.Map // name → func() (database string, err error)

	mu    sync.Mutex
	cmd   *exec.Cmd
	ended chan struct{} // closed when cmd has ended
}

// shared is the server that the tests of this binary share.
var shared = sync.OnceValues(func() (*PostgresServer, error) {
	// Databases live for a test and are dropped, so there is nothing to vacuum.
	s, remove, err := newPostgres(PostgresOptions{Settings: map[string]string{"autovacuum": "off"}})
	if err != nil {
		return nil, err
	}
	onStop(remove)
	return s, nil
})

// Postgres returns the URL of an empty database on the shared server. It is dropped when the test ends.
func Postgres(t testing.TB) (url string) {
	t.Helper()
	s, err := shared()
	check(t, err)
	return s.Database(t)
}

// PostgresCopy returns the URL of a copy of the database that prepare fills. prepare is called once for each name, and must
// leave no connection open.
func PostgresCopy(t testing.TB, name string, prepare func(ctx context.Context, url string) error) (url string) {
	t.Helper()
	s, err := shared()
	check(t, err)
	return s.URL(s.copyOf(t, name, prepare))
}

// SharedPostgres returns the server that Postgres uses.
func SharedPostgres(t testing.TB) *PostgresServer {
	t.Helper()
	s, err := shared()
	check(t, err)
	return s
}

// StartPostgres starts a private server, which the test can stop and start again. It ends with the test.
func StartPostgres(t testing.TB, opt PostgresOptions) *PostgresServer {
	t.Helper()
	s, remove, err := newPostgres(opt)
	check(t, err)
	s.own = true
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the server's last words:\n%s", &s.log)
		}
		remove()
	})
	return s
}

func findPostgres() (string, error) {
	return find("postgres", 15, postgresFolders...)
}

func newPostgres(opt PostgresOptions) (*PostgresServer, func(), error) {
	program, err := findPostgres()
	if err != nil {
		return nil, nil, installPostgres
	}
	dir, remove, err := tempDir()
	if err != nil {
		return nil, nil, fmt.Errorf("make a folder for postgres: %w", err)
	}
	s := &PostgresServer{opt: opt, bin: filepath.Dir(program), dir: dir}
	if opt.TCP {
		port, release, err := reservePort(net.IPv4(127, 0, 0, 1))
		if err != nil {
			remove()
			return nil, nil, err
		}
		s.port = port
		files := remove
		remove = func() { files(); release() }
	}
	if err := s.init(); err != nil {
		remove()
		return nil, nil, err
	}
	return s, func() {
		_ = s.stop(syscall.SIGQUIT)
		remove()
	}, nil
}

// init creates the server's files and starts it.
func (s *PostgresServer) init() error {
	if err := copyCluster(s.dir); err != nil {
		return err
	}
	if err := s.configure(); err != nil {
		return err
	}
	if err := s.run(); err != nil {
		return err
	}
	create := "CREATE ROLE " + Role + " LOGIN"
	if s.opt.Password != "" {
		create += " PASSWORD '" + strings.ReplaceAll(s.opt.Password, "'", "''") + "'"
	}
	return s.exec(context.Background(), create)
}

func (s *PostgresServer) configure() error {
	settings := map[string]string{
		"listen_addresses": "''", "unix_socket_directories": "'" + s.dir + "'", "max_connections": "300",
		"shared_buffers": "'32MB'", "min_wal_size": "'8MB'", "max_wal_size": "'256MB'", "lc_messages": "'C'",
		"fsync": "off", "full_page_writes": "off",
	}
	if s.opt.Fsync {
		settings["fsync"], settings["full_page_writes"] = "on", "on"
	}
	if s.opt.TCP {
		settings["listen_addresses"], settings["port"] = "'127.0.0.1'", strconv.Itoa(s.port)
	}
	maps.Copy(settings, s.opt.Settings)
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&text, "%s = %s\n", name, settings[name])
	}
	if err := os.WriteFile(filepath.Join(s.data(), "postgresql.auto.conf"), []byte(text.String()), 0o644); err != nil {
		return err
	}
	if s.opt.Password == "" {
		return nil
	}
	const who = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
	return os.WriteFile(filepath.Join(s.data(), "pg_hba.conf"), []byte(who), 0o644)
}

func (s *PostgresServer) data() string { return filepath.Join(s.dir, "data") }

// Files returns the folder of the server's databases and its write-ahead log.
func (s *PostgresServer) Files() string { return s.dir }

// run starts the server and waits until it accepts connections.
func (s *PostgresServer) run() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	cmd := exec.Command(filepath.Join(s.bin, "postgres"), "-D", s.data())
	cmd.Dir = s.dir
	cmd.Stdout, cmd.Stderr = &s.log, &s.log
	if s.opt.Log != nil {
		cmd.Stderr = io.MultiWriter(&s.log, s.opt.Log)
	}
	ready := s.log.wait(func(line string) bool { return strings.Contains(line, "is ready to accept") })
	wait, err := start(cmd, syscall.SIGQUIT)
	if err != nil {
		return fmt.Errorf("start postgres: %w", err)
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
		return fmt.Errorf("postgres ended while starting:\n%s", &s.log)
	case <-time.After(time.Minute):
		return fmt.Errorf("postgres does not start:\n%s", &s.log)
	}
}

// stop stops the server with a signal and waits for its end. It does nothing if the server has stopped.
func (s *PostgresServer) stop(signal syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return nil
	}
	if err := s.signalAll(resumeSignal); err != nil { // a paused process receives no other signal
		return err
	}
	if err := s.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.ended:
	case <-time.After(time.Minute):
		return fmt.Errorf("postgres does not stop:\n%s", &s.log)
	}
	s.cmd = nil
	return nil
}

// Stop shuts the server down in order: it closes its connections, and its data is on the disk.
func (s *PostgresServer) Stop(t testing.TB) {
	t.Helper()
	if err := s.stop(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
}

// StopImmediately stops the server as a crash would: it recovers from its log at the next start.
func (s *PostgresServer) StopImmediately(t testing.TB) {
	t.Helper()
	if err := s.stop(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
}

// Start starts a server that was stopped, at the same address.
func (s *PostgresServer) Start(t testing.TB) {
	t.Helper()
	if err := s.run(); err != nil {
		t.Fatal(err)
	}
}

// StartAsStandby starts a stopped server that is read-only until SELECT pg_promote().
func (s *PostgresServer) StartAsStandby(t testing.TB) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.data(), "standby.signal"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s.Start(t)
}

// Pause stops every process of the server (SIGSTOP). Connections stay open without a response.
func (s *PostgresServer) Pause(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.signalAll(pauseSignal); err != nil {
		t.Fatal(err)
	}
}

// Resume continues a paused server.
func (s *PostgresServer) Resume(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.signalAll(resumeSignal); err != nil {
		t.Fatal(err)
	}
}

// signalAll signals the server and then its children, so that it cannot create another child in between.
func (s *PostgresServer) signalAll(signal syscall.Signal) error {
	if s.cmd == nil {
		return errors.New("postgres is not running")
	}
	pid := s.cmd.Process.Pid
	if err := s.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	list, err := children(pid)
	if err != nil {
		return err
	}
	for _, child := range list {
		if err := kill(child, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

// URL returns the URL of a database, for Role and through the socket.
func (s *PostgresServer) URL(database string) string { return s.url(Role, database) }

func (s *PostgresServer) url(role, database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(role), Path: "/" + database}
	q := url.Values{"host": {s.dir}}
	if s.port != 0 {
		q.Set("port", strconv.Itoa(s.port))
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// Address returns the server's TCP address.
func (s *PostgresServer) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// TCPURL returns the URL of a database at an address: the server's own, or that of a proxy.
func (s *PostgresServer) TCPURL(address, database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(Role), Host: address, Path: "/" + database, RawQuery: "sslmode=disable"}
	if s.opt.Password != "" {
		u.User = url.UserPassword(Role, s.opt.Password)
	}
	return u.String()
}

// Database creates an empty database and returns its URL. It is dropped when the test ends.
func (s *PostgresServer) Database(t testing.TB) (url string) {
	t.Helper()
	name := s.NewDatabase(t)
	return s.URL(name)
}

// NewDatabase creates an empty database and returns its name. It is dropped when the test ends.
func (s *PostgresServer) NewDatabase(t testing.TB) (name string) {
	t.Helper()
	return s.database(t, "template0")
}

func (s *PostgresServer) database(t testing.TB, template string) (name string) {
	t.Helper()
	name, err := s.create(template)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.own { // its databases are deleted with it
			return
		}
		s.Exec(t, "DROP DATABASE "+name+" WITH (FORCE)")
	})
	return name
}

func (s *PostgresServer) create(template string) (name string, err error) {
	name = "test" + strconv.FormatInt(s.serial.Add(1), 10)
	return name, s.exec(context.Background(), "CREATE DATABASE "+name+" OWNER "+Role+" STRATEGY FILE_COPY TEMPLATE "+template)
}

// copyOf returns a copy of the database that prepare fills once.
func (s *PostgresServer) copyOf(t testing.TB, name string, prepare func(ctx context.Context, url string) error) string {
	t.Helper()
	made, _ := s.templates.LoadOrStore(name, sync.OnceValues(func() (string, error) {
		database, err := s.create("template0")
		if err == nil {
			err = prepare(context.Background(), s.URL(database))
		}
		return database, err
	}))
	template, err := made.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	return s.database(t, template)
}

// Count runs a query that returns one number. Names without a schema refer to the given schema.
func Count(t testing.TB, url, schema, query string) (n int64) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "SET search_path TO "+schema); err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRow(ctx, query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// Exec runs a statement as the superuser.
func (s *PostgresServer) Exec(t testing.TB, statement string) {
	t.Helper()
	if err := s.exec(context.WithoutCancel(t.Context()), statement); err != nil {
		t.Fatal(err)
	}
}

// ExecIn executes statements in the database of a URL as its role, and returns the first value of the last result.
func ExecIn(t testing.TB, url, statements string) (value string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	results, err := conn.PgConn().Exec(ctx, statements).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
	for _, result := range results {
		if len(result.Rows) > 0 {
			value = string(result.Rows[0][0])
		}
	}
	return value
}

func (s *PostgresServer) exec(ctx context.Context, statement string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.url(superuser, "postgres"))
	if err != nil {
		return fmt.Errorf("connect to postgres: %w\n%s", err, &s.log)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}
