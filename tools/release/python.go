package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

const (
	pythonFolder = "clients/python"
	pythonSource = "src/keepsake/"
)

// pythonProject is what clients/python/pyproject.toml says about the package.
type pythonProject struct {
	Project struct {
		Name           string              `toml:"name"`
		Description    string              `toml:"description"`
		License        string              `toml:"license"`
		RequiresPython string              `toml:"requires-python"`
		Dependencies   []string            `toml:"dependencies"`
		Optional       map[string][]string `toml:"optional-dependencies"`
		Classifiers    []string            `toml:"classifiers"`
	} `toml:"project"`
}

// python writes the Python client as a wheel and as a source distribution. Both have the version of the release, as Python writes it.
func (r *release) python() error {
	names, err := command(r.root, nil, "git", "ls-files", pythonFolder)
	if err != nil {
		return err
	}
	version := pythonVersion(r.version)
	texts := map[string][]byte{}
	for name := range strings.SplitSeq(names, "\n") {
		short := strings.TrimPrefix(name, pythonFolder+"/")
		if texts[short], err = os.ReadFile(filepath.Join(r.root, name)); err != nil {
			return err
		}
	}
	if texts["LICENSE"], err = os.ReadFile(filepath.Join(r.root, "LICENSE")); err != nil {
		return err
	}
	const at = pythonSource + "_version.py"
	texts[at] = bytes.ReplaceAll(texts[at], []byte(`"0.0.0"`), []byte(`"`+version+`"`))
	var p pythonProject
	if err := toml.Unmarshal(texts["pyproject.toml"], &p); err != nil {
		return fmt.Errorf("pyproject.toml: %w", err)
	}
	metadata := p.metadata(version, string(texts["README.md"]))
	if err := r.wheel(version, texts, metadata); err != nil {
		return err
	}
	return r.sourceDistribution(version, texts, metadata)
}

// wheel writes the package as pip installs it: a zip with the modules, and a folder that describes them.
func (r *release) wheel(version string, texts map[string][]byte, metadata string) error {
	info := "keepsake-" + version + ".dist-info/"
	contents := map[string][]byte{
		info + "METADATA":         []byte(metadata),
		info + "WHEEL":            []byte("Wheel-Version: 1.0\nGenerator: keepsake\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
		info + "licenses/LICENSE": texts["LICENSE"],
	}
	for name, text := range texts {
		if module, ok := strings.CutPrefix(name, pythonSource); ok {
			contents["keepsake/"+module] = text
		}
	}
	var record strings.Builder
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		sum := sha256.Sum256(contents[name])
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(contents[name]))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	files := entries("", contents)
	files = append(files, file{name: info + "RECORD", mode: 0o644, data: []byte(record.String())})
	path := filepath.Join(r.out, "keepsake-"+version+"-py3-none-any.whl")
	return create(path, func(w io.Writer) error { return writeZip(w, files, r.at) })
}

// sourceDistribution writes what hatchling builds the same wheel from.
func (r *release) sourceDistribution(version string, texts map[string][]byte, metadata string) error {
	folder := "keepsake-" + version
	contents := map[string][]byte{"PKG-INFO": []byte(metadata)}
	for name, text := range texts {
		if strings.HasPrefix(name, "src/") || strings.HasPrefix(name, "tests/") || !strings.Contains(name, "/") {
			contents[name] = text
		}
	}
	return create(filepath.Join(r.out, folder+".tar.gz"), func(w io.Writer) error {
		z := gzip.NewWriter(w)
		if err := writeTar(z, entries(folder+"/", contents), r.at); err != nil {
			return err
		}
		return z.Close()
	})
}

// entries returns the files of an archive in the order of their names.
func entries(prefix string, contents map[string][]byte) []file {
	var files []file
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		files = append(files, file{name: prefix + name, mode: 0o644, data: contents[name]})
	}
	return files
}

// metadata returns the description of the package in the form of Python's core metadata.
func (p *pythonProject) metadata(version, readme string) string {
	var b strings.Builder
	line := func(name, value string) { fmt.Fprintf(&b, "%s: %s\n", name, value) }
	line("Metadata-Version", "2.4")
	line("Name", p.Project.Name)
	line("Version", version)
	line("Summary", p.Project.Description)
	line("License-Expression", p.Project.License)
	line("License-File", "LICENSE")
	for _, c := range p.Project.Classifiers {
		line("Classifier", c)
	}
	line("Requires-Python", p.Project.RequiresPython)
	for _, d := range p.Project.Dependencies {
		line("Requires-Dist", d)
	}
	for _, extra := range slices.Sorted(maps.Keys(p.Project.Optional)) {
		line("Provides-Extra", extra)
		for _, d := range p.Project.Optional[extra] {
			line("Requires-Dist", d+"; extra == '"+extra+"'")
		}
	}
	line("Description-Content-Type", "text/markdown")
	return b.String() + "\n" + readme
}

var prerelease = regexp.MustCompile(`^(alpha|beta|rc)\.?(\d*)$`)

// pythonVersion returns a version as Python writes it: 0.1.0-rc.1 is 0.1.0rc1. A pre-release of another name becomes a development
// version, which sorts before the release, too.
func pythonVersion(version string) string {
	number, pre, found := strings.Cut(version, "-")
	if !found {
		return version
	}
	if match := prerelease.FindStringSubmatch(pre); match != nil {
		short := map[string]string{"alpha": "a", "beta": "b", "rc": "rc"}[match[1]]
		if match[2] == "" {
			match[2] = "0"
		}
		return number + short + match[2]
	}
	return number + ".dev0+" + strings.ToLower(strings.ReplaceAll(pre, "-", "."))
}
