package deploy_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"keepsake/internal/testing/testtier"
)

// targets are the systems and processors for which a release has an archive.
var targets = []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64", "windows_amd64", "windows_arm64"}

// checkArchives wants an archive for each target, with the program of that target and the same texts, and no other archive.
func checkArchives(t *testing.T, out string) {
	var want, got []string
	for _, target := range targets {
		want = append(want, archiveOf(target))
	}
	for _, end := range []string{".tar.gz", ".zip"} {
		found, err := filepath.Glob(filepath.Join(out, "keepsake_*"+end))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			got = append(got, filepath.Base(path))
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Fatalf("the release has the archives %q, want %q", got, want)
	}
	texts := []string{
		"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "NOTICES", "README.md", "SECURITY.md",
		"completions/_keepsake", "completions/keepsake.bash", "completions/keepsake.fish", "completions/keepsake.ps1",
	}
	for _, command := range commandsWithPages(t, out) {
		texts = append(texts, "man/"+command+".1")
	}
	for _, target := range targets {
		files := archived(t, filepath.Join(out, archiveOf(target)))
		program := "keepsake"
		if strings.HasPrefix(target, "windows") {
			program = "keepsake.exe"
		}
		if got, want := slices.Sorted(maps.Keys(files)), slices.Sorted(slices.Values(append([]string{program}, texts...))); !slices.Equal(got, want) {
			t.Errorf("the archive for %s has the files %q, want %q", target, got, want)
			continue
		}
		for name, f := range files {
			mode := fs.FileMode(0o644)
			if name == program {
				mode = 0o755
			}
			if f.mode.Perm() != mode || len(f.data) == 0 {
				t.Errorf("%s for %s has mode %o and %d bytes", name, target, f.mode.Perm(), len(f.data))
			}
		}
		if got := builtFor(t, files[program].data); got != target {
			t.Errorf("the program for %s is built for %s", target, got)
		}
		if notices := string(files["NOTICES"].data); !strings.Contains(notices, "modernc.org/sqlite") {
			t.Errorf("the notices for %s do not name SQLite", target)
		}
	}
}

// archiveOf is the name of the archive for a target.
func archiveOf(target string) string {
	if strings.HasPrefix(target, "windows") {
		return "keepsake_0.1.0_" + target + ".zip"
	}
	return "keepsake_0.1.0_" + target + ".tar.gz"
}

// commandsWithPages returns the names of the manual pages that the program of this system writes.
func commandsWithPages(t *testing.T, out string) []string {
	t.Helper()
	dir := t.TempDir()
	unpack(t, filepath.Join(out, archiveOf("linux_"+runtime.GOARCH)), dir)
	pages := filepath.Join(dir, "pages")
	if said, err := exec.Command(filepath.Join(dir, "keepsake"), "man", "--out", pages).CombinedOutput(); err != nil {
		t.Fatalf("keepsake man: %v\n%s", err, said)
	}
	entries, err := os.ReadDir(pages)
	if err != nil || len(entries) < 20 {
		t.Fatalf("the program has %d manual pages: %v", len(entries), err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".1"))
	}
	return names
}

// builtFor is the target of a program, as Go writes it into every program.
func builtFor(t *testing.T, program []byte) string {
	t.Helper()
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if settings["CGO_ENABLED"] != "0" || settings["vcs.modified"] != "false" {
		t.Errorf("a program is built with %v", settings)
	}
	return settings["GOOS"] + "_" + settings["GOARCH"]
}

// archivedFile is a file in an archive.
type archivedFile struct {
	mode fs.FileMode
	data []byte
}

// archived returns the files of a zip or a compressed tar by their names.
func archived(t *testing.T, path string) map[string]archivedFile {
	t.Helper()
	files := map[string]archivedFile{}
	add := func(name string, mode fs.FileMode, in io.Reader) {
		data, err := io.ReadAll(in)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if _, twice := files[name]; twice {
			t.Errorf("%s has %s twice", path, name)
		}
		files[name] = archivedFile{mode, data}
	}
	if strings.HasSuffix(path, ".zip") {
		z, err := zip.OpenReader(path)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		for _, f := range z.File {
			in, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			add(f.Name, f.Mode(), in)
			in.Close()
		}
		return files
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for entries := tar.NewReader(z); ; {
		h, err := entries.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		add(h.Name, h.FileInfo().Mode(), entries)
	}
}

// sumsOf returns the checksums of a release by the names of its files.
func sumsOf(t *testing.T, out string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	for line := range strings.Lines(read(t, filepath.Join(out, "checksums.txt"))) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if _, twice := sums[name]; !ok || twice {
			t.Errorf("checksums.txt has the line %q", line)
		}
		sums[name] = sum
	}
	return sums
}

// checkSums wants the right checksum of every file that users download.
func checkSums(t *testing.T, out string) {
	sums := sumsOf(t, out)
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	listed := 0
	for _, e := range entries {
		if e.IsDir() || strings.HasPrefix(e.Name(), "checksums.txt") {
			continue
		}
		listed++
		if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(read(t, filepath.Join(out, e.Name()))))); sums[e.Name()] != sum {
			t.Errorf("checksums.txt has %q for %s, whose checksum is %s", sums[e.Name()], e.Name(), sum)
		}
	}
	if len(sums) != listed || listed < len(targets) {
		t.Errorf("checksums.txt names %d files, and the release has %d", len(sums), listed)
	}
}

// signing is a pair of keys of minisign, or the reason why there is none.
type signing struct{ secret, public, missing string }

// newSigning creates a pair of keys with minisign, as docs/release.md says.
func newSigning(t *testing.T) signing {
	t.Helper()
	minisign, err := exec.LookPath("minisign")
	if err != nil {
		return signing{missing: "minisign"}
	}
	dir := t.TempDir()
	s := signing{secret: filepath.Join(dir, "minisign.key")}
	public := filepath.Join(dir, "minisign.pub")
	if said, err := exec.Command(minisign, "-G", "-W", "-s", s.secret, "-p", public).CombinedOutput(); err != nil {
		t.Fatalf("minisign -G: %v\n%s", err, said)
	}
	lines := strings.Fields(read(t, public)) // a comment, and the key
	s.public = lines[len(lines)-1]
	return s
}

// options are those of `make release` that sign.
func (s signing) options(others ...string) []string {
	if s.secret == "" {
		return others
	}
	return append(others, "SIGN_KEY="+s.secret)
}

// check runs the commands with which docs/release.md verifies a release. said is what `make release` printed.
func (s signing) check(t *testing.T, out, said string) {
	if s.missing != "" {
		testtier.Missing(t, s.missing)
	}
	if strings.Contains(said, "is not signed") {
		t.Errorf("a release that is signed says\n%s", said)
	}
	i := slices.IndexFunc(blocksOf(t, "../docs/release.md"), func(b block) bool { return strings.HasPrefix(b.text, "minisign -V") })
	if i < 0 {
		t.Fatal("docs/release.md has no block that begins with minisign -V")
	}
	commands := "set -e\n" + strings.ReplaceAll(blocksOf(t, "../docs/release.md")[i].text, "PUBLIC_KEY", s.public)
	verify := func(dir string) (string, error) {
		cmd := exec.Command("sh", "-c", commands)
		cmd.Dir = dir
		said, err := cmd.CombinedOutput()
		return string(said), err
	}
	said, err := verify(out)
	if err != nil || !strings.Contains(said, "signature verified") || strings.Count(said, ": OK") != len(sumsOf(t, out)) {
		t.Errorf("the commands of docs/release.md: %v\n%s", err, said)
	}

	// Neither changed checksums nor a changed archive pass.
	for _, name := range []string{"checksums.txt", archiveOf("linux_amd64")} {
		dir := t.TempDir()
		for _, file := range []string{"checksums.txt", "checksums.txt.minisig", archiveOf("linux_amd64")} {
			text := read(t, filepath.Join(out, file))
			if file == name {
				text += "\n"
			}
			write(t, filepath.Join(dir, file), text)
		}
		if said, err := verify(dir); err == nil {
			t.Errorf("with another %s the commands of docs/release.md pass:\n%s", name, said)
		}
	}
}

// checkAgain builds the release for this system again, from a clone in another folder and with other settings of Go. It wants the
// same bytes, and that the release says that it is not signed.
func checkAgain(t *testing.T, source, out string) {
	clone := filepath.Join(t.TempDir(), "clone")
	inRepository(t, source, "git", "clone", "-q", source, clone)
	again, said := makeRelease(t, clone, "PLATFORMS=linux/"+runtime.GOARCH, "SECURITY_CONTACT=security@example.org",
		"GO=env GOFLAGS=-buildvcs=false go")
	if !strings.Contains(said, "release: checksums.txt is not signed; give SIGN_KEY=FILE") {
		t.Errorf("a release that is not signed says\n%s", said)
	}
	if _, err := os.Stat(filepath.Join(again, "checksums.txt.minisig")); err == nil {
		t.Error("a release without a key has a signature")
	}
	first, second := sumsOf(t, out), sumsOf(t, again)
	compared := 0
	for name, sum := range second {
		if strings.Contains(name, "_image") { // which has fewer platforms
			continue
		}
		compared++
		if first[name] != sum {
			t.Errorf("%s has other bytes when it is built again", name)
		}
	}
	if compared != 8 { // an archive, three packages, a bill of materials, and the clients in TypeScript and Python (two files)
		t.Errorf("%d files were compared: %v", compared, second)
	}
}
