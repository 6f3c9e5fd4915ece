// Module gives the project another module path: in go.mod, in imports, and in all texts that name its packages.
//
//	go run ./deploy/module example.com/you/keepsake
//
// Run it in the root of the repository, or as `make module PATH=example.com/you/keepsake`. Without an argument it takes the
// path from the environment variable MODULE_PATH.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

func main() {
	to := os.Getenv("MODULE_PATH")
	if len(os.Args) > 1 {
		to = os.Args[1]
	}
	n, err := move(".", to)
	if err != nil {
		fmt.Fprintln(os.Stderr, "module:", err)
		os.Exit(1)
	}
	fmt.Printf("The module path is now %s; %d files changed.\n", to, n)
}

var (
	moduleLine = regexp.MustCompile(`(?m)^module (\S+)$`)
	pathForm   = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*(\.[a-z0-9-]+)+(/[A-Za-z0-9_~-]+(\.[A-Za-z0-9_~-]+)*)+$`)
	versioned  = regexp.MustCompile(`/v[0-9]+$`)
)

// checkPath refuses what cannot be the path of a module that others download.
func checkPath(path string) error {
	switch {
	case path == "":
		return errors.New("set the module path: make module PATH=example.com/you/keepsake")
	case versioned.MatchString(path):
		return fmt.Errorf("%q ends in a version, which only releases from v2 on have; leave it out", path)
	case !pathForm.MatchString(path):
		return fmt.Errorf("%q is not a module path: write a host in lower case and a path without spaces, such as example.com/you/keepsake", path)
	}
	return nil
}

// move gives the modules below root the path to, and returns how many files that changed. It reads and checks every file
// before it writes the first.
func move(root, to string) (int, error) {
	if err := checkPath(to); err != nil {
		return 0, err
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return 0, fmt.Errorf("run this in the root of the repository: %w", err)
	}
	m := moduleLine.FindSubmatch(mod)
	if m == nil {
		return 0, errors.New("go.mod has no module line")
	}
	from := string(m[1])
	if from == to {
		return 0, fmt.Errorf("the module path is %s already", to)
	}
	folders, err := topFolders(root)
	if err != nil {
		return 0, err
	}
	changed := map[string][]byte{}
	err = eachFile(root, func(path string) error {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		after, err := rewrite(filepath.Base(path), text, from, to, folders)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if !bytes.Equal(text, after) {
			changed[path] = after
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	for path, text := range changed {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return 0, err
		}
	}
	return len(changed), nil
}

// topFolders returns the folders of the root, which in texts follow the module path.
func topFolders(root string) ([]string, error) {
	entries, err := os.ReadDir(root)
	var folders []string
	for _, e := range entries {
		if e.IsDir() && !skipped(e.Name()) {
			folders = append(folders, regexp.QuoteMeta(e.Name()))
		}
	}
	return folders, err
}

func skipped(folder string) bool {
	return strings.HasPrefix(folder, ".") || folder == "node_modules" || folder == "bin" || folder == "keepsake-data"
}

// eachFile calls fn for the files that can name packages.
func eachFile(root string, fn func(path string) error) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if path != root && skipped(entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		switch filepath.Ext(path) {
		case ".go", ".templ", ".mod", ".md", ".sh", ".txtar", ".yml", ".yaml":
			return fn(path)
		}
		if name := entry.Name(); name == "Makefile" || name == "Dockerfile" {
			return fn(path)
		}
		return nil
	})
}

// rewrite returns the text of a file in which packages below the module path from are below to. In code, every from/ that
// begins a path is one, also if the package is an example of a test. Other texts name hosts and folders as well, so there
// one of folders must follow.
func rewrite(name string, text []byte, from, to string, folders []string) ([]byte, error) {
	next := `(?:` + strings.Join(folders, "|") + `)(?:$|[^A-Za-z0-9_])`
	code := strings.HasSuffix(name, ".go") || strings.HasSuffix(name, ".templ")
	if code {
		next = `[a-z."]`
	}
	after := regexp.MustCompile(`(?m)(^|[^A-Za-z0-9_./:-])`+regexp.QuoteMeta(from)+`(/`+next+`)`).ReplaceAll(text, []byte("${1}"+to+"${2}"))
	if name == "go.mod" {
		after = regexp.MustCompile(`(?m)^module `+regexp.QuoteMeta(from)+`$`).ReplaceAll(after, []byte("module "+to))
	}
	if !strings.HasSuffix(name, ".go") {
		return after, nil
	}
	after, err := rewriteRootImport(after, from, to)
	if err != nil || strings.HasSuffix(name, "_templ.go") {
		return after, err // generated code keeps its generator's format
	}
	if bytes.Equal(after, text) {
		return text, nil
	}
	return format.Source(after)
}

// rewriteRootImport changes the import of the package in the root. Its path is one word, which other strings can be too.
func rewriteRootImport(text []byte, from, to string) ([]byte, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", text, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	for _, spec := range file.Imports {
		if spec.Path.Value != strconv.Quote(from) {
			continue
		}
		at := files.Position(spec.Path.Pos()).Offset
		return bytes.Join([][]byte{text[:at], []byte(strconv.Quote(to)), text[at+len(spec.Path.Value):]}, nil), nil
	}
	return text, nil
}
