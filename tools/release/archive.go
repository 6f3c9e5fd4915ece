package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"aead.dev/minisign"
)

// program is a built binary and the licenses of what it contains.
type program struct {
	platform
	binary  string // path
	notices string // path
}

// file is an entry of an archive.
type file struct {
	name string // with slashes
	mode int64
	data []byte
	dir  bool
	user int // who owns it; 0 is root
}

// build builds the program of a platform.
func (r *release) build(p platform, dir string) (program, error) {
	fmt.Fprintf(os.Stderr, "building %s/%s\n", p.os, p.arch)
	built := program{platform: p, binary: filepath.Join(dir, "keepsake"), notices: filepath.Join(dir, "NOTICES")}
	if p.os == "windows" {
		built.binary += ".exe"
	}
	if err := r.compile(p, built.binary); err != nil {
		return built, err
	}
	_, err := command(r.root, []string{"CGO_ENABLED=0"}, "go", "run", "./deploy/notices", built.binary, built.notices)
	return built, err
}

// compile builds the program as `make build` does.
func (r *release) compile(p platform, binary string) error {
	// These replace what is set on this machine, which would change the bytes.
	env := []string{"CGO_ENABLED=0", "GOOS=" + p.os, "GOARCH=" + p.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=-buildvcs=true"}
	_, err := command(r.root, env, "go", "build", "-trimpath", "-ldflags=-s -w -X main.release="+r.version, "-o", binary, "./cmd/keepsake")
	return err
}

// completions are the files with the completions of each shell.
var completions = map[string]string{
	"bash": "keepsake.bash", "fish": "keepsake.fish", "powershell": "keepsake.ps1", "zsh": "_keepsake",
}

// writeHelp writes the manual pages and the completions of shells into r.help. A program for this machine prints them.
func (r *release) writeHelp(dir string) error {
	r.host = filepath.Join(dir, "keepsake.exe") // the name that every system starts
	if err := r.compile(platform{runtime.GOOS, runtime.GOARCH}, r.host); err != nil {
		return err
	}
	r.help = filepath.Join(dir, "help")
	if _, err := command(r.root, nil, r.host, "man", "--out", filepath.Join(r.help, "man")); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(r.help, "completions"), 0o755); err != nil {
		return err
	}
	for shell, name := range completions {
		script, err := command(r.root, nil, r.host, "completion", shell)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.help, "completions", name), []byte(script+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// manualPages returns the names of the manual pages in r.help.
func (r *release) manualPages() ([]string, error) {
	pages, err := filepath.Glob(filepath.Join(r.help, "man", "*.1"))
	for i, page := range pages {
		pages[i] = filepath.Base(page)
	}
	return pages, err
}

// name returns the name of a file of the release for a platform.
func (r *release) name(p platform, end string) string {
	return filepath.Join(r.out, fmt.Sprintf("keepsake_%s_%s_%s%s", r.version, p.os, p.arch, end))
}

// archive writes the program and its texts as a tar, or a zip for Windows.
func (r *release) archive(p program) error {
	sources := map[string]string{filepath.Base(p.binary): p.binary, "NOTICES": p.notices}
	for _, name := range []string{"CHANGELOG.md", "LICENSE", "README.md"} {
		sources[name] = filepath.Join(r.root, name)
	}
	for _, name := range contactTexts {
		sources[name] = filepath.Join(r.help, name)
	}
	pages, err := r.manualPages()
	if err != nil {
		return err
	}
	for _, page := range pages {
		sources["man/"+page] = filepath.Join(r.help, "man", page)
	}
	for _, name := range completions {
		sources["completions/"+name] = filepath.Join(r.help, "completions", name)
	}
	var files []file
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		data, err := os.ReadFile(sources[name])
		if err != nil {
			return err
		}
		mode := int64(0o644)
		if sources[name] == p.binary {
			mode = 0o755
		}
		files = append(files, file{name: name, mode: mode, data: data})
	}
	if p.os == "windows" {
		return create(r.name(p.platform, ".zip"), func(w io.Writer) error { return writeZip(w, files, r.at) })
	}
	return create(r.name(p.platform, ".tar.gz"), func(w io.Writer) error {
		z := gzip.NewWriter(w)
		if err := writeTar(z, files, r.at); err != nil {
			return err
		}
		return z.Close()
	})
}

func writeTar(w io.Writer, files []file, at time.Time) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: at,
			Uid: f.user, Gid: f.user, Format: tar.FormatUSTAR,
		}
		if f.dir {
			h.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	return t.Close()
}

func writeZip(w io.Writer, files []file, at time.Time) error {
	z := zip.NewWriter(w)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(os.FileMode(f.mode)) //nolint:gosec // 9 bits
		entry, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := entry.Write(f.data); err != nil {
			return err
		}
	}
	return z.Close()
}

func create(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		_ = f.Close() // the first error counts
		return err
	}
	return f.Close()
}

// checksums writes checksums.txt as sha256sum does, and checksums.txt.minisig if there is a key.
func (r *release) checksums(sign func([]byte) []byte) error {
	files, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(r.out, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), f.Name())
	}
	path := filepath.Join(r.out, "checksums.txt")
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		return err
	}
	if sign == nil {
		return nil
	}
	return os.WriteFile(path+".minisig", sign([]byte(b.String())), 0o644)
}

// readKey reads a secret key of minisign. `minisign -G -W` writes one without a password.
func readKey(path, password string) (key minisign.PrivateKey, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return key, err
	}
	if minisign.IsEncrypted(text) {
		return minisign.DecryptKey(password, text)
	}
	err = key.UnmarshalText(text)
	return key, err
}

// signer returns what signs with the secret key of minisign in a file; nil without a file.
func signer(path, password string) (func([]byte) []byte, error) {
	if path == "" {
		return nil, nil
	}
	key, err := readKey(path, password)
	if err != nil {
		return nil, fmt.Errorf("the key %s cannot be read; check the file and MINISIGN_PASSWORD: %w", path, err)
	}
	return func(text []byte) []byte {
		return minisign.SignWithComments(key, text, "checksums.txt of Keepsake", "signature of checksums.txt")
	}, nil
}
