package faulttest

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// filled makes a data folder with some documents and ends its server. It gives the folder and its key.
func filled(t *testing.T) (dir, key string) {
	t.Helper()
	dir = t.TempDir()
	s := start(t, dir, "")
	for i := range 60 {
		s.Must(http.StatusCreated, http.MethodPut, fmt.Sprintf("/api/v1/documents/d%d", i), document(0, strings.Repeat(textOf(0, "d"), 20)))
	}
	return dir, s.stopped()
}

// fingerprint sums up the files of a folder that hold its secrets and data, to show that a refusal changed none.
func fingerprint(t *testing.T, dir string) string {
	t.Helper()
	var sum strings.Builder
	for _, name := range []string{"master.key", "main.db", "keys.db", "first-start.json"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			fmt.Fprintf(&sum, "%s absent\n", name)
			continue
		}
		fmt.Fprintf(&sum, "%s %x\n", name, sha256.Sum256(data))
	}
	return sum.String()
}

// wantRefusal starts the program on a folder, wants one line with these words, and wants the folder left as it was.
func wantRefusal(t *testing.T, dir string, words []string, options ...programtest.Option) {
	t.Helper()
	before := fingerprint(t, dir)
	line := launch(t, dir, options...).Refusal()
	for _, word := range words {
		if !strings.Contains(line, word) {
			t.Errorf("the line %q does not say %q", line, word)
		}
	}
	if after := fingerprint(t, dir); after != before {
		t.Errorf("the refusal changed the folder:\n%s\nto\n%s", before, after)
	}
}

// TestWrongMasterKeyIsReportedAndKept takes the key away and gives others.
func TestWrongMasterKeyIsReportedAndKept(t *testing.T) {
	t.Parallel()
	dir, key := filled(t)
	path := filepath.Join(dir, "master.key")
	right, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wrong := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("w", 32)))
	wrongFile := filepath.Join(t.TempDir(), "wrong")
	write(t, wrongFile, wrong+"\n")

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, dir, []string{"masterKey", "missing"})
	wantRefusal(t, dir, []string{"masterKey"}, programtest.Env("KEEPSAKE_MASTER_KEY="+wrong))
	wantRefusal(t, dir, []string{"masterKey"}, programtest.Env("KEEPSAKE_MASTER_KEY_FILE="+wrongFile))
	wantRefusal(t, dir, []string{"masterKey"}, programtest.Env("KEEPSAKE_MASTER_KEY=too short"))
	wantRefusal(t, dir, []string{"masterKey"}, programtest.Env("KEEPSAKE_MASTER_KEY_FILE="+filepath.Join(dir, "not-there")))
	write(t, path, wrong+"\n")
	wantRefusal(t, dir, []string{"masterKey"})
	write(t, path, "")
	wantRefusal(t, dir, []string{"master"})
	write(t, path, "not base64 at all\n")
	wantRefusal(t, dir, []string{"master"})
	for _, refused := range []string{wrong, "too short", "not base64"} {
		if strings.Contains(launch(t, dir, programtest.Env("KEEPSAKE_MASTER_KEY="+refused)).Refusal(), refused) {
			t.Errorf("the refusal repeats the key %q", refused)
		}
	}

	write(t, path, string(right))
	s := start(t, dir, key)
	s.Must(http.StatusOK, http.MethodGet, "/api/v1/documents/d1", nil)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestMissingDatabaseIsRefused takes each file away, or empties it.
func TestMissingDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	original, key := filled(t)
	other, _ := filled(t)
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"main.db is missing":   func(t *testing.T, dir string) { remove(t, dir, "main.db") },
		"keys.db is missing":   func(t *testing.T, dir string) { remove(t, dir, "keys.db") },
		"main.db is empty":     func(t *testing.T, dir string) { write(t, filepath.Join(dir, "main.db"), "") },
		"keys.db is empty":     func(t *testing.T, dir string) { write(t, filepath.Join(dir, "keys.db"), "") },
		"main.db is text":      func(t *testing.T, dir string) { write(t, filepath.Join(dir, "main.db"), strings.Repeat("text ", 9999)) },
		"keys.db is text":      func(t *testing.T, dir string) { write(t, filepath.Join(dir, "keys.db"), strings.Repeat("text ", 9999)) },
		"main.db is cut off":   func(t *testing.T, dir string) { cut(t, filepath.Join(dir, "main.db")) },
		"keys.db is another's": func(t *testing.T, dir string) { replace(t, dir, other, "keys.db") },
		"main.db is another's": func(t *testing.T, dir string) { replace(t, dir, other, "main.db") },
		"both are another's": func(t *testing.T, dir string) {
			replace(t, dir, other, "keys.db")
			replace(t, dir, other, "main.db")
		},
	} {
		t.Run(name, func(t *testing.T) {
			apptest.OnSQLite(t, "its files are spoilt")
			dir := copyDir(t, original)
			spoil(t, dir)
			wantRefusal(t, dir, nil)
		})
	}
	t.Run("the usage database alone may be lost", func(t *testing.T) {
		apptest.OnSQLite(t, "its file is lost")
		dir := copyDir(t, original)
		remove(t, dir, "usage.db")
		s := launch(t, dir, programtest.Key(key))
		if !s.ReadyOrEnded() { // refusing would be clear too, but not a hang and not a panic
			s.Refusal()
			return
		}
		s.Must(http.StatusOK, http.MethodGet, "/api/v1/health", nil)
	})
	t.Run("a lost index is made again", func(t *testing.T) {
		dir := copyDir(t, original)
		if err := os.RemoveAll(filepath.Join(dir, "index")); err != nil {
			t.Fatal(err)
		}
		s := start(t, dir, key)
		if total := s.Must(http.StatusOK, http.MethodGet, "/api/v1/search?q=ledger", nil)["total"]; total != 60.0 {
			t.Errorf("the index made again finds %v of 60 documents", total)
		}
	})
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	for _, tail := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(filepath.Join(dir, name+tail)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

func replace(t *testing.T, dir, other, name string) {
	t.Helper()
	remove(t, dir, name)
	data, err := os.ReadFile(filepath.Join(other, name))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, name), string(data))
}

// cut takes the second half of a file away.
func cut(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()/2); err != nil {
		t.Fatal(err)
	}
}

// TestASecondServerOnAFolderIsRefused starts two.
func TestASecondServerOnAFolderIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(t, dir, "")
	line := launch(t, dir).Refusal()
	if !strings.Contains(line, "in use") && !strings.Contains(line, "another keepsake") {
		t.Errorf("the line does not say that another process has the folder: %s", line)
	}
	first.Must(http.StatusOK, http.MethodGet, "/api/v1/health", nil)
	if _, err := os.Stat(filepath.Join(dir, "keepsake.sock")); err != nil {
		t.Errorf("the second server took the first one's socket: %v", err)
	}
}

// TestATakenPortIsOneLineAndLeavesNothing starts on a new folder while the port is taken.
func TestATakenPortIsOneLineAndLeavesNothing(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, flag := range []string{"--listen", "--backend-listen"} {
		dir := t.TempDir()
		line := launch(t, dir, programtest.Flags(flag, taken.Addr().String())).Refusal()
		if _, port, _ := net.SplitHostPort(taken.Addr().String()); !strings.Contains(line, port) {
			t.Errorf("the line does not name the port %s: %s", port, line)
		}
		if programtest.FirstKey(dir) != "" {
			t.Errorf("a first start that failed left its secrets behind")
		}
		start(t, dir, "") // and the folder is as good as new
	}
}

// TestOfManyFirstStartsOneWins starts several processes on one new folder at once.
func TestOfManyFirstStartsOneWins(t *testing.T) {
	t.Parallel()
	for range testtier.Rounds(1, 5) {
		dir := t.TempDir()
		var servers []*server
		for range 4 {
			servers = append(servers, launch(t, dir))
		}
		winners := servers // until they have refused
		await.Until(t, "all but one have refused", func() bool {
			winners = slices.DeleteFunc(slices.Clone(winners), func(s *server) bool { return s.Ended() })
			return len(winners) <= 1
		})
		if len(winners) != 1 {
			t.Fatalf("%d of 4 first starts go on, want 1", len(winners))
		}
		for _, s := range servers {
			if s != winners[0] {
				s.Refusal()
			}
		}
		winners[0].AwaitReady()
		keys := winners[0].Must(http.StatusOK, http.MethodGet, "/api/v1/developer/api-keys", nil)
		if items, _ := keys["items"].([]any); len(items) != 1 {
			t.Errorf("%d keys after the race, want the one of the winner", len(items))
		}
		winners[0].Kill()
	}
}

// TestAKilledFirstStartIsDoneAgain kills a first start at any moment. The next start finishes or repeats it, and the key
// that lies in the folder then is one that works.
func TestAKilledFirstStartIsDoneAgain(t *testing.T) {
	t.Parallel()
	rounds := testtier.Rounds(3, 25)
	for round := range rounds {
		after := 500 * time.Millisecond * time.Duration(round) / time.Duration(rounds-1) // a first start takes some 200 ms
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			s := launch(t, dir)
			time.Sleep(after)
			s.Kill()
			s = start(t, dir, "")
			keys := s.Must(http.StatusOK, http.MethodGet, "/api/v1/developer/api-keys", nil)
			if items, _ := keys["items"].([]any); len(items) != 1 {
				t.Errorf("%d keys after a first start that was killed after %s, want one", len(items), after)
			}
			s.Kill()
		})
	}
}

// TestInitRefusesAFolderThatIsInitialised races init with init, and runs it on a folder that has been initialised.
func TestInitRefusesAFolderThatIsInitialised(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	codes := make(chan int, 4)
	for range 4 {
		go func() {
			code, _ := programtest.Run(t, "init", "--data", dir, "--json")
			codes <- code
		}()
	}
	made := 0
	for range 4 {
		switch code := <-codes; code {
		case 0:
			made++
		case 1, 3: // refused, or not let in while another is at work
		default:
			t.Errorf("init ended with code %d", code)
		}
	}
	if made != 1 {
		t.Errorf("%d of 4 inits say that they made the folder, want 1", made)
	}
	before := fingerprint(t, dir)
	if code, out := programtest.Run(t, "init", "--data", dir, "--json"); code != 3 {
		t.Errorf("init on an initialised folder: code %d, want 3\n%s", code, out)
	}
	if fingerprint(t, dir) != before {
		t.Errorf("init changed an initialised folder")
	}
}

// TestOnlyTheOwnerCanReadSecretFiles looks at the modes of what a first start makes.
func TestOnlyTheOwnerCanReadSecretFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := launch(t, dir)
	await.Until(t, "the first start leaves its key", func() bool { return programtest.FirstKey(dir) != "" || s.Ended() })
	for _, name := range []string{"first-start.json", "master.key"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Errorf("%v\n%s", err, s.Log)
		} else if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o, want 600", name, info.Mode().Perm())
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the data folder: %v, %v; want mode 700", info, err)
	}
}

// TestAWrongSettingIsOneLineThatNamesIt gives settings that cannot be.
func TestAWrongSettingIsOneLineThatNamesIt(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keepsake.yaml")
	write(t, file, "log:\n  lvel: debug\n")
	for name, with := range map[string]programtest.Option{
		"listen":         programtest.Flags("--listen", "nowhere"),
		"trusted":        programtest.Flags("--trusted-proxies", "10.0.0.0/99"),
		"log.level":      programtest.Env("KEEPSAKE_LOG_LEVEL=shouting"),
		"COLOUR":         programtest.Env("KEEPSAKE_COLOUR=red"),
		"lvel":           programtest.Flags("--config", file),
		"not-there.yaml": programtest.Flags("--config", filepath.Join(t.TempDir(), "not-there.yaml")),
		"tls":            programtest.Flags("--tls-cert", "/not/there.pem"),
	} {
		dir := filepath.Join(t.TempDir(), "data")
		if line := launch(t, dir, with).Refusal(); !strings.Contains(strings.ToLower(line), strings.ToLower(name)) {
			t.Errorf("the line %q does not name %s", line, name)
		}
		if _, err := os.Stat(filepath.Join(dir, "main.db")); err == nil {
			t.Errorf("a wrong setting (%s) made a database", name)
		}
	}
}
