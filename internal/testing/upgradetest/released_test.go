package upgradetest

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// released has a folder for each release, with what deploy/witness created. It does not exist before the first release.
const released = "released"

// A folder of the last release is used by the next one, which changes its schema. Everything in it is still there, and the
// older program refuses it from then on. Before the first release, the folder is one of the current program.
func TestAFolderOfTheLastReleaseIsUpgraded(t *testing.T) {
	t.Parallel()
	apptest.OnSQLite(t, "the folder contains databases of SQLite")
	testtier.Long(t, "builds two releases")
	current := program(t, previous)
	from := newest(t)
	if from == "" {
		from = filepath.Join(t.TempDir(), "witness")
		if said, err := exec.Command("go", "run", "keepsake/deploy/witness", current, from).CombinedOutput(); err != nil {
			t.Fatalf("witness: %v\n%s", err, said)
		}
	}
	w := unpack(t, from)

	p := programtest.Start(t, w.data, programtest.Program(program(t, next)), programtest.Key(w.Key))
	w.isComplete(t, p)
	p.Must(http.StatusCreated, "POST", "/api/v1/documents", map[string]string{"id": "after", "title": "Whitebeam"})
	p.Stop()
	if said, err := programtest.Command(t, []string{"audit", "verify", "--data", w.data}, programtest.Program(program(t, next))).CombinedOutput(); err != nil {
		t.Errorf("audit verify: %v\n%s", err, said)
	}

	before := schemaOf(t, w.data)
	if before != 9001 {
		t.Errorf("the schema has version %d", before)
	}
	older := programtest.Launch(t, w.data, programtest.Program(current))
	if line := older.Refusal(); !strings.Contains(line, "start the newer keepsake") {
		t.Errorf("the older program says %q", line)
	}
	p = programtest.Start(t, w.data, programtest.Program(program(t, next)), programtest.Key(w.Key))
	w.isComplete(t, p)
	p.Must(http.StatusOK, "GET", "/api/v1/documents/after", nil)
	p.Stop()
}

// What a release left is never changed: the next releases are tested with it.
func TestReleasedFoldersAreUnchanged(t *testing.T) {
	t.Parallel()
	for _, version := range versions(t) {
		if err := verify(filepath.Join(released, version)); err != nil {
			t.Errorf("%s: %v", version, err)
		}
	}

	dir := t.TempDir()
	folder, sums := filepath.Join(dir, "folder.tar.gz"), filepath.Join(dir, "checksums.txt")
	write(t, folder, "content")
	write(t, sums, fmt.Sprintf("%x  other.tar.gz\n%x  folder.tar.gz\n", sha256.Sum256([]byte("other")), sha256.Sum256([]byte("content"))))
	if err := verify(dir); err != nil {
		t.Error(err)
	}
	write(t, folder, "changed")
	if err := verify(dir); err == nil {
		t.Error("a changed folder is accepted")
	}
	write(t, sums, "")
	if err := verify(dir); err == nil {
		t.Error("a folder without a checksum is accepted")
	}
}

func TestTheNewestReleaseIsChosen(t *testing.T) {
	t.Parallel()
	got := slices.SortedFunc(slices.Values([]string{"0.10.0", "0.2.0", "1.0.0", "0.2.10", "0.2.9"}), compareVersions)
	if want := []string{"0.2.0", "0.2.9", "0.2.10", "0.10.0", "1.0.0"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// versions are the releases that are kept, from the oldest to the newest.
func versions(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(released)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.SortFunc(names, compareVersions)
	return names
}

func compareVersions(a, b string) int {
	number := func(v string) (n [3]int) {
		_, _ = fmt.Sscanf(v, "%d.%d.%d", &n[0], &n[1], &n[2]) // another name is the oldest
		return n
	}
	x, y := number(a), number(b)
	return cmp.Or(slices.Compare(x[:], y[:]), strings.Compare(a, b))
}

// newest is the folder of the newest release that is kept, or "".
func newest(t *testing.T) string {
	t.Helper()
	all := versions(t)
	if len(all) == 0 {
		return ""
	}
	return filepath.Join(released, all[len(all)-1])
}

// verify returns an error unless folder.tar.gz has its checksum.
func verify(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, "folder.tar.gz"))
	if err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(dir, "checksums.txt"))
	if err != nil {
		return err
	}
	if want := fmt.Sprintf("%x  folder.tar.gz\n", sha256.Sum256(data)); !slices.Contains(slices.Collect(strings.Lines(string(sums))), want) {
		return fmt.Errorf("checksums.txt has no line %q: restore the files of the release", want)
	}
	return nil
}

// witness is what deploy/witness created.
type witness struct {
	data                 string // the folder
	Key, Email, Password string
	Answers              map[string]any // by path
}

// unpack unpacks a witness into a new folder.
func unpack(t *testing.T, from string) *witness {
	t.Helper()
	if err := verify(from); err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile(filepath.Join(from, "folder.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for files := tar.NewReader(z); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
			continue
		}
		text, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, string(text))
	}
	text, err := os.ReadFile(filepath.Join(dir, "witness.json"))
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{data: filepath.Join(dir, "data")}
	if err := json.Unmarshal(text, w); err != nil || w.Key == "" || len(w.Answers) == 0 {
		t.Fatalf("witness.json: %v\n%s", err, text)
	}
	return w
}

// isComplete checks that a process on the folder answers what the release answered, finds the documents, recalls the memories,
// and knows the user's password.
func (w *witness) isComplete(t *testing.T, p *programtest.Process) {
	t.Helper()
	for path, want := range w.Answers {
		if got := p.Must(http.StatusOK, "GET", path, nil); !contains(got, want) {
			t.Errorf("GET %s: %v, want %v", path, got, want)
		}
	}
	for _, found := range []struct {
		method, path string
		body         any
		want         string
	}{
		{"GET", "/api/v1/search?q=october", nil, "quince"},
		{"GET", "/api/v1/search?q=frost&collection=orchard", nil, "medlar"},
		{"GET", "/api/v1/search?q=hecke", nil, "sloe"},
		{"POST", "/api/v1/memories/recall", map[string]string{"subjectId": "p-1", "query": "Which tea?"}, "Prefers tea to coffee."},
		{"POST", "/api/v1/memories/recall", map[string]string{"subjectId": "p-2", "query": "What does she play?"}, "Plays the cello."},
	} {
		if got := p.Must(http.StatusOK, found.method, found.path, found.body); !strings.Contains(fmt.Sprint(got["results"]), found.want) {
			t.Errorf("%s %s: %v, want %q", found.method, found.path, got, found.want)
		}
	}
	p.Must(http.StatusOK, "POST", "/api/auth/login", map[string]string{"email": w.Email, "password": w.Password})
}

// contains reports whether an answer has everything of another one. A later release can answer with more fields.
func contains(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		for name, field := range want {
			if has, is := got[name]; !is || !contains(has, field) {
				return false
			}
		}
		return ok
	case []any:
		got, ok := got.([]any)
		return ok && slices.EqualFunc(got, want, contains)
	default:
		return reflect.DeepEqual(got, want)
	}
}

// schemaOf reads the version of the schema of a folder that no process uses.
func schemaOf(t *testing.T, data string) (version int64) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(data, "main.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), "SELECT max(version_id) FROM schema_migration").Scan(&version); err != nil {
		t.Fatal(err)
	}
	return version
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
