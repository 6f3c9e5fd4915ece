package folder_test

import (
	"errors"
	"path/filepath"
	"testing"

	"keepsake/internal/base/folder"
)

func TestAFolderHasOneProcess(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	first, err := folder.Take(dir)
	if err != nil || first.Unclean {
		t.Fatalf("a new folder: %+v, %v", first, err)
	}
	if _, err := folder.Take(dir); !errors.Is(err, folder.ErrInUse) {
		t.Errorf("a second time: %v", err)
	}
	for _, inOrder := range []bool{false, true} {
		if err := first.Release(inOrder); err != nil {
			t.Fatal(err)
		}
		if first, err = folder.Take(dir); err != nil || first.Unclean == inOrder {
			t.Fatalf("after an end in order: %t, got %+v, %v", inOrder, first, err)
		}
	}
	if err := first.Release(true); err != nil {
		t.Error(err)
	}
}
