package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"keepsake/internal/store"
	"keepsake/internal/testing/enginetest"
)

// TestMain checks that no goroutine is left. Those of database/sql end a moment after Close has returned, so the check is
// repeated until there are none or until it is sure that one hangs.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		err := goleak.Find()
		for end := time.Now().Add(2 * time.Minute); err != nil && time.Now().Before(end); err = goleak.Find() {
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// emptyInstance is a folder with an instance that holds nothing. Opening it takes less than making one.
func emptyInstance(t *testing.T) (dir string) {
	t.Helper()
	return enginetest.FolderCopy(t, "empty", func(dir string) error {
		e, err := Open(context.Background(), Options{Dir: dir})
		if err != nil {
			return err
		}
		return e.Close()
	})
}

// started is a folder with the traces of a first start in it, closed in order.
func started(t *testing.T) (dir string) {
	t.Helper()
	return enginetest.FolderCopy(t, "started", func(dir string) error {
		_, err := firstStart(dir)
		return err
	})
}

// otherInstance is like started, of another instance.
func otherInstance(t *testing.T) (dir string) {
	t.Helper()
	return enginetest.FolderCopy(t, "other", func(dir string) error {
		_, err := firstStart(dir)
		return err
	})
}

// firstStart makes an instance with a secret and closes it in order.
func firstStart(dir string) (instance string, err error) {
	ctx := context.Background()
	e, err := Open(ctx, Options{Dir: dir})
	if err != nil {
		return "", err
	}
	err = e.keys.Run(ctx, func(ctx context.Context) error {
		_, err := e.keys.In(ctx).Exec(ctx, "INSERT INTO wrapped_secret (name, sealed, created_at) VALUES ('pepper', x'00', 1)")
		return err
	})
	instance, readErr := store.New(e).Secrets.InstanceID(ctx)
	return instance, errors.Join(err, readErr, e.Close())
}

// wantRefused says that Open answers one line with these words in it and changes no file.
func wantRefused(t *testing.T, dir string, words ...string) {
	t.Helper()
	before := listing(t, dir)
	e, err := Open(t.Context(), Options{Dir: dir})
	if err == nil {
		e.Close()
		t.Fatal("it opened")
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %v", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error does not say %q: %v", w, err)
		}
	}
	if after := listing(t, dir); after != before {
		t.Errorf("the folder held\n%snow it holds\n%s", before, after)
	}
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, ".db") {
			content, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(name + " " + string(rune('0'+len(content)%10)) + "\n")
		}
	}
	return b.String()
}

func TestFolderIsMadeAndOpenedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	instance, err := firstStart(dir)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.db-*")); err != nil || len(left) > 0 {
		t.Errorf("Close left %v behind, error %v", left, err)
	}
	for _, file := range []string{mainFile, keysFile, usageFile} {
		if info, err := os.Stat(filepath.Join(dir, file)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, error %v; want 0600", file, info.Mode(), err)
		}
	}
	e := open(t, dir)
	again, err := store.New(e).Secrets.InstanceID(t.Context())
	if err != nil || again != instance {
		t.Errorf("instance %q, error %v; want %q", again, err, instance)
	}
	if err := e.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	for _, pragma := range []struct{ name, want string }{{"journal_mode", "wal"}, {"synchronous", "2"}, {"foreign_keys", "1"}} {
		for _, d := range e.files() {
			var got string
			if err := d.session.conn.QueryRowContext(t.Context(), "PRAGMA "+pragma.name).Scan(&got); err != nil || got != pragma.want {
				t.Errorf("%s: %s is %s, error %v; want %s", d.file, pragma.name, got, err, pragma.want)
			}
		}
	}
}

func TestSecondOpenerIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, dir)
	if _, err := Open(t.Context(), Options{Dir: dir}); !errors.Is(err, ErrInUse) {
		t.Errorf("got %v, want ErrInUse", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
}

func TestOfManyOpenersOneWins(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	engines := make([]*Engine, 8)
	var all sync.WaitGroup
	for i := range engines {
		all.Go(func() {
			var err error
			if engines[i], err = Open(t.Context(), Options{Dir: dir}); err != nil && !errors.Is(err, ErrInUse) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	won := 0
	for _, e := range engines {
		if e != nil {
			won++
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if won != 1 {
		t.Errorf("%d openers won, want 1", won)
	}
}

func TestFilesThatContradictEachOtherAreRefused(t *testing.T) {
	t.Parallel()
	remove := func(t *testing.T, dir, file string) {
		if err := os.Remove(filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	empty := func(t *testing.T, dir, file string) {
		if err := os.Truncate(filepath.Join(dir, file), 0); err != nil {
			t.Fatal(err)
		}
	}
	foreign := func(t *testing.T, dir, file string) {
		other := otherInstance(t)
		content, err := os.ReadFile(filepath.Join(other, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, dir, file string)
		file   string
		words  []string
	}{
		{"keys.db removed", remove, keysFile, []string{"keys.db is missing"}},
		{"keys.db emptied", empty, keysFile, []string{"keys.db is missing or empty"}},
		{"keys.db of another instance", foreign, keysFile, []string{"different instances"}},
		{"main.db removed", remove, mainFile, []string{"main.db is missing"}},
		{"main.db emptied", empty, mainFile, []string{"main.db is missing or empty"}},
		{"main.db of another instance", foreign, mainFile, []string{"different instances"}},
		{"usage.db of another instance", foreign, usageFile, []string{"usage.db belongs to another instance"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := started(t)
			c.damage(t, dir, c.file)
			wantRefused(t, dir, c.words...)
			wantRefused(t, dir, c.words...) // and the first refusal has not prepared a second start
		})
	}
}

// Counters are not worth a refused start: nothing that a client stored is in them.
func TestMissingUsageIsMadeAnewWithAWarning(t *testing.T) {
	t.Parallel()
	dir := started(t)
	if err := os.Remove(filepath.Join(dir, usageFile)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		var log lockedBuffer
		e, err := Open(t.Context(), Options{Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(log.String(), "usage.db is missing"); got != want {
			t.Errorf("warned %v, want %v: %s", got, want, log.String())
		}
	}
}

func TestDamagedFilesAreRefused(t *testing.T) {
	t.Parallel()
	overwrite := func(at int64, with string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteAt([]byte(with), at); err != nil {
				t.Fatal(err)
			}
		}
	}
	cut := func(size int64) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			if err := os.Truncate(path, size); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, damage := range map[string]func(t *testing.T, path string){
		"another header":    overwrite(0, "not a database at all"),
		"a few bytes":       cut(7),
		"the first half":    cut(2048),
		"the first page":    cut(4096),
		"a schema of noise": overwrite(100, strings.Repeat("\xa5", 3996)),
	} {
		for _, file := range []string{mainFile, keysFile, usageFile} {
			t.Run(file+" with "+name, func(t *testing.T) {
				t.Parallel()
				dir := started(t)
				damage(t, filepath.Join(dir, file))
				wantRefused(t, dir, file, "damaged")
			})
		}
	}
}

func TestNewerSchema(t *testing.T) {
	t.Parallel()
	newer := func(t *testing.T, oldest string, statements ...string) (dir string) {
		dir = t.TempDir()
		e := open(t, dir)
		for _, s := range append(statements, "INSERT INTO schema_migration (version_id, is_applied, hash, oldest) VALUES (9999, 1, 'of a newer release', "+oldest+")") {
			if _, err := e.main.Once(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	t.Run("ThatSaysWeAreTooOld", func(t *testing.T) {
		t.Parallel()
		wantRefused(t, newer(t, "9999"), mainFile, "9999", "newer")
	})
	t.Run("ThatWeCanLiveWith", func(t *testing.T) {
		t.Parallel()
		e := open(t, newer(t, "1", "ALTER TABLE workspace ADD COLUMN more TEXT NOT NULL DEFAULT ''"))
		if err := e.Ready(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestFolderThatCannotBeWrittenIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, where := range []string{file, filepath.Join(file, "below")} {
		if _, err := Open(t.Context(), Options{Dir: where}); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one line", where, err)
		}
	}
}

// killedDir makes this test binary, run again, end without Close.
const killedDir = "KEEPSAKE_TEST_KILLED_DIR"

func TestAfterAnUncleanStopTheFilesAreChecked(t *testing.T) {
	if dir := os.Getenv(killedDir); dir != "" {
		e, err := Open(t.Context(), Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		table(t, e)
		if err := e.main.Run(t.Context(), inserting(e, 1)); err != nil {
			t.Fatal(err)
		}
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if err := self.Kill(); err != nil {
			t.Fatal(err)
		}
		select {}
	}
	t.Parallel()
	dir := started(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestAfterAnUncleanStopTheFilesAreChecked$")
	cmd.Env = append(os.Environ(), killedDir+"="+dir)
	if out, err := cmd.CombinedOutput(); err == nil || bytes.Contains(out, []byte("FAIL")) {
		t.Fatalf("the helper was not killed: %v\n%s", err, out)
	}

	var log lockedBuffer
	e, err := Open(t.Context(), Options{Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, e, 1)
	e.check.Wait()
	if !strings.Contains(log.String(), "checked files after an unclean stop") {
		t.Errorf("nothing was checked: %s", log.String())
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if orderly := open(t, dir); orderly.stopCheck != nil {
		t.Error("the files are checked after an orderly stop, too")
	}
}

func TestDamageFoundInTheBackgroundIsReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, dir)
	table(t, e)
	if err := e.main.Run(t.Context(), fill(e, 1)); err != nil {
		t.Fatal(err)
	}
	if err := e.main.Run(t.Context(), inserting(e, 2)); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, mainFile)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	// Pages of the long row name their successors; noise there shows in a check and nowhere else.
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xa5}, 8192), info.Size()/2); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "keepsake.lock"), []byte("running\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the damage is still there the next time
		var log lockedBuffer
		e, err := Open(t.Context(), Options{Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		e.check.Wait()
		if err := e.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "main.db is damaged") {
			t.Errorf("ready with damage: %v", err)
		}
		if !strings.Contains(log.String(), "found damage") {
			t.Errorf("the log has no word of it: %s", log.String())
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
