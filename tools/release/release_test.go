package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// packed returns a release into a new folder, and a program for it.
func packed(t *testing.T, content []byte) (release, program) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	binary, notices := filepath.Join(dir, "keepsake"), filepath.Join(dir, "NOTICES")
	for path, content := range map[string][]byte{binary: content, notices: []byte("licenses")} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	help := filepath.Join(dir, "help")
	for _, name := range []string{"man/keepsake.1", "man/keepsake-serve.1", "completions/keepsake.bash", "completions/keepsake.fish", "completions/keepsake.ps1", "completions/_keepsake"} {
		if err := os.MkdirAll(filepath.Join(help, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(help, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := release{version: "0.1.0", help: help, at: time.Unix(1_700_000_000, 0).UTC(), root: root, out: t.TempDir()}
	if err := r.writeContact(); err != nil {
		t.Fatal(err)
	}
	return r, program{platform: platform{"linux", "amd64"}, binary: binary, notices: notices}
}

// TestPackagingGivesTheSameBytes packs one program twice, in two folders, and compares the checksums.
func TestPackagingGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	self, err := os.Executable() // the bill of materials is that of a program of Go
	if err != nil {
		t.Fatal(err)
	}
	var sums [2]string
	for i := range sums {
		r, p := packed(t, readFile(t, self))
		if err := r.pack(p); err != nil {
			t.Fatal(err)
		}
		if err := r.image([]program{p}, t.TempDir()); err != nil {
			t.Fatal(err)
		}
		if err := r.python(); err != nil {
			t.Fatal(err)
		}
		if err := r.checksums(nil); err != nil {
			t.Fatal(err)
		}
		sums[i] = string(readFile(t, filepath.Join(r.out, "checksums.txt")))
	}
	if sums[0] != sums[1] {
		t.Errorf("the same program gave\n%s\nand then\n%s", sums[0], sums[1])
	}
}
