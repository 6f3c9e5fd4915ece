package enginetest

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// folders are the files of prepared folders: name → func() (files map[string][]byte, err error).
var folders sync.Map

// FolderCopy returns a private copy of the folder that prepare creates. prepare is called once for each name, and must leave
// no file open.
func FolderCopy(t testing.TB, name string, prepare func(dir string) error) (dir string) {
	t.Helper()
	dir = t.TempDir()
	CopyInto(t, dir, name, prepare)
	return dir
}

// CopyInto is FolderCopy into an empty folder.
func CopyInto(t testing.TB, dir, name string, prepare func(dir string) error) {
	t.Helper()
	made, _ := folders.LoadOrStore(name, sync.OnceValues(func() (map[string][]byte, error) {
		return prepared(prepare)
	}))
	files, err := made.(func() (map[string][]byte, error))()
	if err != nil {
		t.Fatalf("prepare the folder %q: %v", name, err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// prepared reads the files that prepare creates.
func prepared(prepare func(dir string) error) (files map[string][]byte, err error) {
	dir, err := os.MkdirTemp("", "keepsake-folder-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := prepare(dir); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	files = map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			return nil, fmt.Errorf("read what was prepared: %w", err)
		}
	}
	return files, nil
}
