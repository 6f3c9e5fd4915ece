package main

import (
	"database/sql"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/programtest"
)

// TestMain lets scripts run this binary as the command keepsake.
func TestMain(m *testing.M) {
	testscript.Main(withServers{m}, map[string]func(){
		"keepsake": func() { os.Exit(run(os.Args[1:], scripted(os.Args[1:]))) },
	})
}

// withServers stops the database servers that the tests have started.
type withServers struct{ *testing.M }

func (m withServers) Run() int {
	defer programtest.Stop()
	return m.M.Run()
}

// TestScripts runs testdata/script: each file is a session at a prompt. testscript runs this test binary as the command
// keepsake, through run, so the scripts need no program that was built before. They also have these commands:
//
//	rc N args…                  runs keepsake and wants exit code N and, for one that is not 0, one line about it
//	ports NAME…                 sets each NAME to an address that no other script gets
//	taken NAME                  sets NAME to an address that is in use until the script ends
//	ready ADDRESS               waits until the server whose backend listens there is ready
//	terminate                   sends SIGTERM to the servers in the background; wait NAME then wants exit code 0
//	listening ADDRESS           waits until a process listens there
//	refused ADDRESS             waits until no process listens there any more
//	eventually PATTERN args…    runs keepsake until its standard output matches
//	endless URL KEY             begins a POST of NDJSON whose body comes for as long as the script runs
//	fetch STATUS URL [KEY [NAME VALUE]]
//	                            GETs a URL, with a header, and wants a status; the answer goes to the file fetched
//	remove STATUS URL [KEY]     DELETEs a URL like that; the answer goes to the file removed
//	database NAME…              sets each NAME to the address of an empty PostgreSQL database
//	setenv NAME PATTERN FILE    sets a variable to what PATTERN's group matches in a file, stdout included
//	mode OCTAL FILE…            wants each file to have these permissions
//	none PATTERN…               wants no file that matches
//	shorten N FILE              cuts the last N bytes off a file
//	unreleased HOW FOLDER       makes an instance one of an unreleased build, by the name of its version table or the hash in it
//
// and the conditions [sqlite] and [postgres], for what is said or lies in files on one engine alone.
func TestScripts(t *testing.T) {
	t.Parallel()
	p := testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"rc": rc, "taken": taken, "ready": ready, "terminate": terminate, "refused": refused, "endless": endless,
			"listening": listening, "eventually": eventually,
			"ports": ports, "database": database, "mode": mode, "none": none, "shorten": shorten, "unreleased": unreleased,
			"fetch": asker(http.MethodGet, "fetched"), "remove": asker(http.MethodDelete, "removed"), "setenv": setenv,
		},
		RequireExplicitExec: true,
	}
	useEngine(t, &p)
	testscript.Run(t, p)
}

// testKey is the key of a script's test among its values.
type testKey struct{}

// testOf is the test of a script. It ends only that script where something is missing.
func testOf(ts *testscript.TestScript) testing.TB {
	return ts.Value(testKey{}).(testing.TB)
}

func ports(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		ts.Setenv(name, enginetest.FreeAddress(testOf(ts)))
	}
}

func database(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		ts.Setenv(name, enginetest.Postgres(testOf(ts)))
	}
}

func mode(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.ParseUint(args[0], 8, 32)
	ts.Check(err)
	for _, name := range args[1:] {
		info, err := os.Stat(ts.MkAbs(name))
		ts.Check(err)
		if got := info.Mode().Perm(); got != os.FileMode(want) {
			ts.Fatalf("%s has mode %o, want %o", name, got, want)
		}
	}
}

func none(ts *testscript.TestScript, neg bool, args []string) {
	for _, pattern := range args {
		found, err := filepath.Glob(ts.MkAbs(pattern))
		ts.Check(err)
		if len(found) > 0 {
			ts.Fatalf("there are %q", found)
		}
	}
}

func shorten(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.ParseInt(args[0], 10, 64)
	ts.Check(err)
	path := ts.MkAbs(args[1])
	info, err := os.Stat(path)
	ts.Check(err)
	ts.Check(os.Truncate(path, info.Size()-n))
}

func unreleased(ts *testscript.TestScript, neg bool, args []string) {
	statements := map[string]string{
		"name": "ALTER TABLE schema_migration RENAME TO schema_version",
		"hash": "UPDATE schema_migration SET hash = 'of an unreleased build' WHERE version_id = 1",
	}
	statement, dir := statements[args[0]], ts.MkAbs(args[1])
	driver, source := "sqlite", filepath.Join(dir, "main.db")
	if server := ts.Getenv(serverVariable); server != "" {
		url, err := databaseOf(server, dir)
		ts.Check(err)
		driver, source = "pgx", url
		statement = strings.Replace(statement, "schema_migration", "keepsake.schema_migration", 1)
	}
	db, err := sql.Open(driver, source)
	ts.Check(err)
	_, err = db.Exec(statement)
	ts.Check(errors.Join(err, db.Close()))
}

func rc(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: rc N args…")
	}
	code := 0
	if err := ts.Exec("keepsake", args[1:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("run keepsake: %v", err)
		}
		code = exit.ExitCode()
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
	if said := ts.ReadFile("stderr"); code != 0 && strings.Count(said, "\n") != 1 {
		ts.Fatalf("want one line about what went wrong, got %q", said)
	}
}

func taken(ts *testscript.TestScript, neg bool, args []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { l.Close() })
	ts.Setenv(args[0], l.Addr().String())
}

func ready(ts *testscript.TestScript, neg bool, args []string) {
	await.Until(testOf(ts), args[0]+" is ready", func() bool {
		res, err := http.Get("http://" + args[0] + "/readyz")
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
}

func terminate(ts *testscript.TestScript, neg bool, args []string) {
	for _, cmd := range ts.BackgroundCmds() {
		ts.Check(cmd.Process.Signal(syscall.SIGTERM))
	}
}

func listening(ts *testscript.TestScript, neg bool, args []string) {
	await.Until(testOf(ts), "a process listens at "+args[0], func() bool {
		conn, err := net.Dial("tcp", args[0])
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

func eventually(ts *testscript.TestScript, neg bool, args []string) {
	pattern := regexp.MustCompile(args[0])
	await.Until(testOf(ts), "keepsake "+strings.Join(args[1:], " ")+" prints "+args[0], func() bool {
		ts.Check(ts.Exec("keepsake", args[1:]...))
		return pattern.MatchString(ts.ReadFile("stdout"))
	})
}

func refused(ts *testscript.TestScript, neg bool, args []string) {
	await.Until(testOf(ts), args[0]+" accepts no connections", func() bool {
		conn, err := net.Dial("tcp", args[0])
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
}

func endless(ts *testscript.TestScript, neg bool, args []string) {
	body, w := io.Pipe()
	req, err := http.NewRequest(http.MethodPost, args[0], body)
	ts.Check(err)
	req.Header.Set("X-API-Key", args[1])
	req.Header.Set("Content-Type", "application/x-ndjson")
	req.Header.Set("Expect", "100-continue") // the body is asked for once the server works on the request
	patient := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Hour}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if res, err := patient.Do(req); err == nil {
			res.Body.Close()
		}
	}()
	_, err = io.WriteString(w, `{"title":"first"}`+"\n")
	ts.Check(err)
	ts.Defer(func() {
		w.Close()
		<-ended
	})
}

// asker is a command that sends a request, and keeps the answer in a file.
func asker(method, file string) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		req, err := http.NewRequestWithContext(testOf(ts).Context(), method, args[1], http.NoBody)
		ts.Check(err)
		if len(args) > 2 {
			req.Header.Set("X-API-Key", args[2])
		}
		if len(args) > 4 {
			req.Header.Set(args[3], args[4])
		}
		res, err := http.DefaultClient.Do(req)
		ts.Check(err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(file), body, 0o600))
		if strconv.Itoa(res.StatusCode) != args[0] {
			ts.Fatalf("%s answers %s, want %s: %s", args[1], res.Status, args[0], body)
		}
	}
}

func setenv(ts *testscript.TestScript, neg bool, args []string) {
	match := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile(args[2]))
	if match == nil {
		ts.Fatalf("%s is not in %s", args[1], args[2])
	}
	ts.Setenv(args[0], match[1])
}
