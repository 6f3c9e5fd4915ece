// Command notices writes one file with the licenses and notices of all that a built program contains: Keepsake, Go, data of other
// people, and each module.
//
//	go run ./deploy/notices bin/keepsake bin/NOTICES
package main

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: notices PROGRAM FILE")
		os.Exit(2)
	}
	text, err := notices(os.Args[1])
	if err == nil {
		err = os.WriteFile(os.Args[2], text, 0o644) //nolint:gosec // everybody can read it
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

// notices returns the text of the file for a program that was built from this checkout. The list of modules comes from the
// program, because each system needs other ones.
func notices(program string) ([]byte, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	root, err := run("go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	list := []string{"list", "-m", "-f", "{{.Path}} {{.Version}}\t{{.Dir}}", info.Main.Path}
	for _, module := range info.Deps {
		list = append(list, module.Path)
	}
	listed, err := run("go", list...)
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{} // by path and version
	for line := range strings.Lines(listed) {
		module, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		dirs[strings.TrimSpace(module)] = dir
	}

	checkout := dirs[info.Main.Path]
	parts := []part{{name: info.Main.Path, dir: checkout}, {name: info.GoVersion, dir: root}}
	for _, folder := range data {
		parts = append(parts, part{name: folder, dir: filepath.Join(checkout, folder)})
	}
	for _, module := range info.Deps {
		name := module.Path + " " + module.Version
		if dirs[name] == "" || module.Replace != nil {
			return nil, fmt.Errorf("this checkout does not have %s, which the program contains: build the program again", name)
		}
		parts = append(parts, part{name: name, dir: dirs[name], deep: true})
	}
	var b bytes.Buffer
	for _, p := range parts {
		if err := p.write(&b); err != nil {
			return nil, fmt.Errorf("%s in %s: %w", p.name, p.dir, err)
		}
	}
	return b.Bytes(), nil
}

// data are the folders of other people's data that is in the program.
var data = []string{"internal/base/text/stopwords", "internal/base/vectors"}

// part is something that the program contains.
type part struct {
	name, dir string
	deep      bool // folders below dir can have licenses of their own
}

var (
	license = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)([-._].*)?$`)
	patents = regexp.MustCompile(`(?i)^patents([-._].*)?$`)
)

// write writes the licenses and notices of a part. Its folder must have at least one.
func (p part) write(b *bytes.Buffer) error {
	found := false
	err := filepath.WalkDir(p.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		switch {
		case entry.IsDir() && path != p.dir && (!p.deep || name == "testdata" || strings.HasPrefix(name, ".")):
			return fs.SkipDir
		case entry.IsDir(), filepath.Ext(name) == ".go", !license.MatchString(name) && !patents.MatchString(name):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := filepath.Rel(p.dir, path)
		if err != nil {
			return err
		}
		found = found || license.MatchString(file)
		fmt.Fprintf(b, "%s\n%s: %s\n\n%s\n\n", strings.Repeat("=", 80), p.name, filepath.ToSlash(file), bytes.TrimSpace(text))
		return nil
	})
	if err == nil && !found {
		err = errors.New("found no file LICENSE, COPYING or NOTICE")
	}
	return err
}

// run returns what a command prints.
func run(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, failed.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}
