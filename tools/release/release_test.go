package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestPackagingGivesTheSameBytes packs one program twice, in two folders, and compares the checksums.
func TestPackagingGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	var sums [2]string
	for i := range sums {
		dir := t.TempDir()
		binary, notices := filepath.Join(dir, "keepsake"), filepath.Join(dir, "NOTICES")
		for path, content := range map[string][]byte{binary: data, notices: []byte("licenses")} {
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r := release{version: "0.1.0", at: time.Unix(1_700_000_000, 0).UTC(), root: root, out: t.TempDir()}
		p := program{platform: platform{"linux", "amd64"}, binary: binary, notices: notices}
		if err := r.pack(p); err != nil {
			t.Fatal(err)
		}
		if err := r.image([]program{p}, filepath.Join(dir, "image")); err != nil {
			t.Fatal(err)
		}
		if err := r.checksums(nil); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(r.out, "checksums.txt"))
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = string(text)
	}
	if sums[0] != sums[1] {
		t.Errorf("the same program gave\n%s\nand then\n%s", sums[0], sums[1])
	}
}
