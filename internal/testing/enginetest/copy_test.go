package enginetest

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAFolderIsPreparedOnce(t *testing.T) {
	t.Parallel()
	prepared := 0
	for range 3 {
		dir := FolderCopy(t, "prepared once", func(dir string) error {
			prepared++
			return os.WriteFile(filepath.Join(dir, "file"), []byte("content"), 0o600)
		})
		path := filepath.Join(dir, "file")
		if content, err := os.ReadFile(path); err != nil || string(content) != "content" {
			t.Errorf("the file holds %q, %v", content, err)
		}
		if err := os.Remove(path); err != nil { // the next copy has it
			t.Fatal(err)
		}
	}
	if prepared != 1 {
		t.Errorf("prepared %d times", prepared)
	}
}
