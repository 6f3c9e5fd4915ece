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

func TestAnExportGetsItsNameWithoutHardLinks(t *testing.T) {
	t.Parallel()
	none := func(written, out string) error {
		return &os.LinkError{Op: "link", Old: written, New: out, Err: errors.ErrUnsupported}
	}
	for name, link := range map[string]func(written, out string) error{"links": os.Link, "no links": none} {
		dir := t.TempDir()
		out := filepath.Join(dir, "out.ndjson")
		write := func(text string) string {
			written := filepath.Join(dir, ".written")
			if err := os.WriteFile(written, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			return written
		}
		if err := publish(write("first"), out, link); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Remove(filepath.Join(dir, ".written")); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if err := publish(write("second"), out, link); !errors.Is(err, errWouldOverwrite) {
			t.Errorf("%s: a second export: %v", name, err)
		}
		if text, err := os.ReadFile(out); err != nil || string(text) != "first" {
			t.Errorf("%s: the file contains %q, %v", name, text, err)
		}
		if err := publish(filepath.Join(dir, "missing"), filepath.Join(dir, "other"), link); err == nil {
			t.Errorf("%s: nothing was given a name", name)
		}
		if _, err := os.Lstat(filepath.Join(dir, "other")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: an empty file is left: %v", name, err)
		}
	}
}
