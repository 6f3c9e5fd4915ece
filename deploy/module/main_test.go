package main

import (
	"errors"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"keepsake/internal/testing/testtier"
)

const newPath = "example.com/you/memory"

// tree is a project with the path oldhome, and each file as it is under newPath. Its name is not this project's, so this
// test holds under every path.
var tree = map[string][2]string{
	"go.mod":         {"module oldhome\n\ngo 1.26\n", "module example.com/you/memory\n\ngo 1.26\n"},
	"tools/go.mod":   {"module oldhome/tools\n", "module example.com/you/memory/tools\n"},
	"client/api.go":  {"package client\n\nconst Agent = \"oldhome\"\n", "package client\n\nconst Agent = \"oldhome\"\n"},
	"client/x.templ": {"import \"oldhome/client\"\n", "import \"example.com/you/memory/client\"\n"},
	"cmd/main.go": {
		"package main\n\nimport (\n\t\"oldhome\"\n\t\"oldhome/client\"\n)\n\nvar in, all, cut = \"oldhome\", \"-gcflags=oldhome/...=-x\", \"oldhome/\"\n\nvar _, _ = \"/etc/oldhome/client\", \"oldhome/0.1\"\n",
		"package main\n\nimport (\n\t\"example.com/you/memory\"\n\t\"example.com/you/memory/client\"\n)\n\nvar in, all, cut = \"oldhome\", \"-gcflags=example.com/you/memory/...=-x\", \"example.com/you/memory/\"\n\nvar _, _ = \"/etc/oldhome/client\", \"oldhome/0.1\"\n",
	},
	"docs/client.md": {
		"`oldhome/client` is in /etc/oldhome/client and at host:oldhome/ and oldhome/clients.\n",
		"`example.com/you/memory/client` is in /etc/oldhome/client and at host:oldhome/ and oldhome/clients.\n",
	},
	".git/x.md": {"oldhome/client\n", "oldhome/client\n"},
}

// planted returns a folder with the tree.
func planted(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range tree {
		put(t, filepath.Join(dir, name), text[0])
	}
	return dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// is checks the texts of the tree: before, or after.
func is(t *testing.T, dir string, version int) {
	t.Helper()
	for name, text := range tree {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(got) != text[version] {
			t.Errorf("%s is %q, %v; want %q", name, got, err, text[version])
		}
	}
}

func TestTheModulePathIsRewrittenWhereItIsAPath(t *testing.T) {
	t.Parallel()
	dir := planted(t)
	if n, err := move(dir, newPath); err != nil || n != 5 {
		t.Fatalf("move: %d, %v", n, err)
	}
	is(t, dir, 1)
	if _, err := move(dir, "oldhome.example/x"); err != nil { // and on to a third
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "tools/go.mod")); err != nil || string(text) != "module oldhome.example/x/tools\n" {
		t.Errorf("after the second move: %q, %v", text, err)
	}
}

// badPaths are refused.
var badPaths = []string{
	"", " ", "keepsake", "Example.com/you/keepsake", "example.com/you/keep sake", "example.com", "example.com/", "https://example.com/you/x",
	"example.com//x", "example.com/../x", "example.com/.x", "example.com/x.", "/example.com/x", "example.com/x/v2", `example.com/x"`, "example.com/'x'", "example.com/$HOME",
}

func TestABadModulePathChangesNothing(t *testing.T) {
	t.Parallel()
	dir := planted(t)
	for _, path := range badPaths {
		if _, err := move(dir, path); err == nil {
			t.Errorf("move to %q: no error", path)
		}
	}
	put(t, filepath.Join(dir, "cmd/broken.go"), "no Go")
	if _, err := move(dir, newPath); err == nil {
		t.Error("no error about a file that cannot be read as Go")
	}
	is(t, dir, 0)
}

// make exports the variables of its command line, so PATH=… would hide every program from the recipe.
func TestMakeModuleFindsProgramsDespitePATH(t *testing.T) {
	t.Parallel()
	dir := planted(t)
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "deploy/module/main.go"), string(program))
	rules, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "Makefile"), string(rules))
	for _, path := range badPaths {
		if out, err := makeModule(t, dir, strings.ReplaceAll(path, "$", "$$")); err == nil || strings.Count(out, "module: ") != 1 {
			t.Errorf("make module PATH=%q: %v\n%s", path, err, out)
		}
	}
	is(t, dir, 0)
	if out, err := makeModule(t, dir, newPath); err != nil || !strings.Contains(out, "The module path is now "+newPath) {
		t.Fatalf("make module: %v\n%s", err, out)
	}
	is(t, dir, 1)
}

func makeModule(t *testing.T, dir, path string) (string, error) {
	t.Helper()
	make, err := exec.LookPath("make")
	if err != nil {
		testtier.Missing(t, "make")
	}
	cmd := exec.CommandContext(t.Context(), make, "module", "PATH="+path)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// project returns a copy of this project.
func project(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && path != "../.." && (skipped(name) || name == "wt") {
			return fs.SkipDir
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		below, err := filepath.Rel("../..", path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(dir, below)), 0o755)
		}
		return errors.Join(err, os.WriteFile(filepath.Join(dir, below), text, 0o644))
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestEveryImportHasTheNewPath reads the imports of all files, also of those that only other systems, tests and tags compile.
func TestEveryImportHasTheNewPath(t *testing.T) {
	t.Parallel()
	dir := project(t)
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	old := string(moduleLine.FindSubmatch(mod)[1])
	if _, err := move(dir, newPath); err != nil {
		t.Fatal(err)
	}
	moved := 0
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			below, ours := strings.CutPrefix(imported+"/", newPath+"/")
			if _, err := os.Stat(filepath.Join(dir, below)); ours && err != nil {
				t.Errorf("%s imports %s, which does not exist", path, imported)
			} else if ours {
				moved++
			}
			if strings.HasPrefix(imported+"/", old+"/") {
				t.Errorf("%s still imports %s", path, imported)
			}
		}
		return nil
	})
	if err != nil || moved < 1000 {
		t.Errorf("%d imports have the new path: %v", moved, err)
	}
}

// TestTheProjectWorksUnderAnotherModulePath compiles the program, which is most of the project, and the tests that read its tree.
func TestTheProjectWorksUnderAnotherModulePath(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "compiles the program under another path")
	dir := project(t)
	if out, err := makeModule(t, dir, newPath); err != nil {
		t.Fatalf("make module: %v\n%s", err, out)
	}
	program := filepath.Join(t.TempDir(), "keepsake.exe")
	for _, args := range [][]string{
		{"go", "build", "-o", program, "./cmd/keepsake"},
		{program, "version"},
		{"go", "test", "-vet=off", "./internal/testing/suite"},
		{"go", "test", "-vet=off", "-run=^Test(EveryFolderIsOnTheMap|Imports|TheImportTable|Rooms|TypesHave)", "./internal/app"},
	} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%.5000s", strings.Join(args, " "), err, out)
		}
	}
}
