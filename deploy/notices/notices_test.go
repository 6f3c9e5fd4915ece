package main

import (
	"bytes"
	"debug/buildinfo"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"keepsake/internal/testing/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }

func TestNoticesNameAllThatTheProgramContains(t *testing.T) {
	t.Parallel()
	program := programtest.Binary(t)
	text, err := notices(program)
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"keepsake: LICENSE\n", info.GoVersion + ": LICENSE\n", "modernc.org/sqlite "}
	for _, module := range info.Deps {
		want = append(want, module.Path+" "+module.Version+": ")
	}
	for _, name := range want {
		if !bytes.Contains(text, []byte("\n"+name)) {
			t.Errorf("the notices lack %s", name)
		}
	}
	for _, part := range []string{"modernc.org/sqlite", "github.com/prometheus/client_golang"} {
		_, after, _ := strings.Cut(string(text), "\n"+part+" ")
		if !strings.Contains(after, "Copyright") {
			t.Errorf("the notices have no license text of %s", part)
		}
	}
}

// TestNoticesHaveThoseOfOurData finds each NOTICE of data that others made.
func TestNoticesHaveThoseOfOurData(t *testing.T) {
	t.Parallel()
	const root = "../.."
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !license.MatchString(entry.Name()) || strings.HasSuffix(path, ".go") {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, known := range data {
			if known == filepath.ToSlash(folder) {
				return nil
			}
		}
		t.Errorf("%s has a notice, but is not in data", folder)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestPartWithoutLicenseIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"PATENTS", "license.go", "sub/LICENSE"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := part{name: "example.org/m v1.0.0", dir: dir, deep: true}
	if err := p.write(new(bytes.Buffer)); err == nil {
		t.Error("a module without a license was accepted")
	}
	if err := os.WriteFile(filepath.Join(dir, "COPYING.md"), []byte("all rights granted"), 0o600); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := p.write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"v1.0.0: COPYING.md\n\nall rights granted\n", "v1.0.0: PATENTS\n", "v1.0.0: sub/LICENSE\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the notices lack %q:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "license.go") {
		t.Error("code is among the notices")
	}
}
