package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const typescriptFolder = "clients/typescript"

// typescript writes the TypeScript client as a package of npm, with the version of the release. npm compiles it in dir, a copy of
// what is committed, and tries to publish it without doing so. Without npm there is no package, and list says so.
func (r *release) typescript(dir string) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return nil
	}
	fmt.Fprintln(os.Stderr, "building the TypeScript client")
	if err := r.copyTypeScript(dir); err != nil {
		return err
	}
	tag := "latest"
	if strings.Contains(r.version, "-") {
		tag = "next" // npm installs it only for those who ask for it
	}
	name := "keepsake-client-" + r.version + ".tgz"
	for _, args := range [][]string{
		{"ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"},
		{"version", "--no-git-tag-version", "--silent", r.version},
		{"run", "--silent", "build"},
		{"pack", "--ignore-scripts", "--silent"},
		{"publish", "--dry-run", "--ignore-scripts", "--silent", "--tag", tag, name},
	} {
		if _, err := command(dir, nil, npm, args...); err != nil {
			return err
		}
	}
	packed, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer packed.Close()
	files, err := packedFiles(packed)
	if err != nil {
		return err
	}
	return create(filepath.Join(r.out, name), func(w io.Writer) error {
		z := gzip.NewWriter(w)
		if err := writeTar(z, files, r.at); err != nil {
			return err
		}
		return z.Close()
	})
}

// copyTypeScript copies the files that are committed, and the license, into dir.
func (r *release) copyTypeScript(dir string) error {
	names, err := command(r.root, nil, "git", "ls-files", typescriptFolder)
	if err != nil {
		return err
	}
	from := map[string]string{"LICENSE": "LICENSE"}
	for name := range strings.SplitSeq(names, "\n") {
		from[strings.TrimPrefix(name, typescriptFolder+"/")] = name
	}
	for name, source := range from {
		data, err := os.ReadFile(filepath.Join(r.root, source))
		if err != nil {
			return err
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// packedFiles reads a package of npm. Its files are sorted, because versions of npm pack in different orders.
func packedFiles(packed io.Reader) ([]file, error) {
	z, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	var files []file
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.name, b.name) })
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		var data bytes.Buffer
		if _, err := io.Copy(&data, t); err != nil { //nolint:gosec // npm has just packed it
			return nil, err
		}
		files = append(files, file{name: h.Name, mode: 0o644, data: data.Bytes()})
	}
}
