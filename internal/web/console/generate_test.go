package console_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"keepsake/internal/testing/testtier"
)

func TestGeneratedPagesAreCurrent(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "builds the generator")
	dir := t.TempDir()
	sources, err := filepath.Glob("*.templ")
	if err != nil || len(sources) == 0 {
		t.Fatalf("got the pages %v, %v", sources, err)
	}
	for _, name := range sources {
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "sh", "../../../tools/templ.sh", dir).CombinedOutput(); err != nil {
		t.Fatalf("tools/templ.sh: %v: %s", err, out)
	}
	for _, name := range sources {
		name = name[:len(name)-len(".templ")] + "_templ.go"
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what its page generates; run make console (%v)", name, err)
		}
	}
}

func TestProgramBuildsWithoutTheConsole(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "builds the program")
	build := exec.CommandContext(t.Context(), "go", "build", "-tags=noconsole", "-o", filepath.Join(t.TempDir(), "keepsake"), "../../../cmd/keepsake")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	deps, err := exec.CommandContext(t.Context(), "go", "list", "-tags=noconsole", "-deps", "../../../cmd/keepsake").Output()
	if err != nil || bytes.Contains(deps, []byte("keepsake/internal/web/console")) {
		t.Errorf("the program without the console contains it, %v", err)
	}
}
