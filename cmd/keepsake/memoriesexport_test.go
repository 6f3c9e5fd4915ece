package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestAFailedExportLeavesNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out := filepath.Join(dir, "out.ndjson")
	st := &stage{out: io.Discard}
	lost := errors.New("the server is gone")
	_, err := st.exportLines(out, func(w *lineCounter) error {
		if _, err := io.WriteString(w, "{}\n{"); err != nil {
			return err
		}
		if _, err := os.Lstat(out); err == nil {
			t.Error("half an export has the name of a whole one")
		}
		return lost
	})
	if !errors.Is(err, lost) {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	whole := func(w *lineCounter) error { _, err := io.WriteString(w, "{}\n"); return err }
	if lines, err := st.exportLines(out, whole); err != nil || lines != 1 {
		t.Errorf("%d lines, %v", lines, err)
	}
	if info, err := os.Stat(out); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := st.exportLines(out, whole); !errors.Is(err, errWouldOverwrite) {
		t.Errorf("got %v", err)
	}
}
