package deploy_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"keepsake/internal/testing/testtier"
)

// installShells are the shells that install.sh is tested with: dash is sh on Debian, bash elsewhere.
func installShells(t *testing.T) (shells []string) {
	t.Helper()
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		testtier.Missing(t, "Linux or macOS, for which install.sh is")
	}
	for _, name := range []string{"dash", "bash", "sh"} {
		if path, err := exec.LookPath(name); err == nil {
			shells = append(shells, path)
		}
	}
	return shells
}

// archiveName is the archive of this system in a release.
var archiveName = fmt.Sprintf("keepsake_0.1.0_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)

// releaseOf creates a folder with a release whose program is a script.
func releaseOf(t *testing.T, program string) string {
	t.Helper()
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	files := tar.NewWriter(zipped)
	for _, f := range []struct{ name, text string }{{"keepsake", program}, {"LICENSE", "license"}, {"NOTICES", "notices"}} {
		if err := files.WriteHeader(&tar.Header{Name: f.name, Mode: 0o755, Size: int64(len(f.text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write([]byte(f.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, archiveName), archive.String())
	write(t, filepath.Join(dir, "checksums.txt"), fmt.Sprintf("%x  other.zip\n%x  %s\n", sha256.Sum256(nil), sha256.Sum256(archive.Bytes()), archiveName))
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// commands returns a folder, for PATH, with the commands that install.sh uses but those in without.
func commands(t *testing.T, without ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"awk", "cat", "chmod", "cp", "curl", "cut", "gzip", "id", "mkdir", "mktemp", "mv", "rm", "sha256sum", "shasum", "tar", "uname", "wget"} {
		if path, err := exec.LookPath(name); err == nil && !strings.Contains(" "+strings.Join(without, " ")+" ", " "+name+" ") {
			if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// install runs install.sh with a home and a path of commands.
func install(shell, home, path string, args ...string) (string, error) {
	cmd := exec.Command(shell, append([]string{"install.sh"}, args...)...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + path, "TMPDIR=" + home}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// filesBelow returns the files in a folder and below it.
func filesBelow(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestInstallPutsTheProgramInPlace(t *testing.T) {
	t.Parallel()
	release := releaseOf(t, "#!/bin/sh\necho new\n")
	server := httptest.NewServer(http.FileServer(http.Dir(release)))
	t.Cleanup(server.Close)
	for _, shell := range installShells(t) {
		for name, test := range map[string]struct{ from, path string }{
			"a folder": {release, commands(t, "curl", "wget")},
			"file://":  {"file://" + release + "/", commands(t, "shasum")},
			"curl":     {server.URL, commands(t, "wget")},
			"wget":     {server.URL + "/", commands(t, "curl")},
			"shasum":   {release, commands(t, "sha256sum")},
		} {
			missing := false
			for _, one := range []string{"curl", "wget", "shasum"} {
				_, err := exec.LookPath(one)
				missing = missing || err != nil && one == name
			}
			if missing {
				continue
			}
			home := t.TempDir()
			bin := filepath.Join(home, ".local", "bin")
			if os.Getuid() == 0 { // root's default is /usr/local/bin
				bin = filepath.Join(home, "bin")
			}
			out, err := install(shell, home, test.path, "--from", test.from, "--version", "v0.1.0", "--to", bin)
			if err != nil || !strings.Contains(out, "Installed "+bin+"/keepsake.") || !strings.Contains(out, "is not in PATH") {
				t.Errorf("%s, %s: %v\n%s", shell, name, err, out)
				continue
			}
			if said, err := exec.Command(filepath.Join(bin, "keepsake")).CombinedOutput(); err != nil || string(said) != "new\n" {
				t.Errorf("%s, %s: the installed program: %v %s", shell, name, err, said)
			}
			if files := filesBelow(t, home); len(files) != 1 {
				t.Errorf("%s, %s leaves %q", shell, name, files)
			}
		}
	}
}

func TestInstallReplacesARunningProgram(t *testing.T) {
	t.Parallel()
	release := releaseOf(t, "#!/bin/sh\necho new\n")
	for _, shell := range installShells(t) {
		home := t.TempDir()
		installed := filepath.Join(home, "keepsake")
		cat, err := exec.LookPath("cat")
		if err != nil {
			t.Fatal(err)
		}
		program, err := os.ReadFile(cat)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(installed, program, 0o755); err != nil {
			t.Fatal(err)
		}
		running := exec.Command(installed) // waits for its input
		in, err := running.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		running.Stdout = &said
		if err := running.Start(); err != nil {
			t.Fatal(err)
		}
		if out, err := install(shell, home, commands(t), "--from", release, "--version", "0.1.0", "--to", home); err != nil {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
		if _, err := in.Write([]byte("still here")); err != nil {
			t.Error(err)
		}
		in.Close()
		if err := running.Wait(); err != nil || said.String() != "still here" {
			t.Errorf("%s: the running program: %v %q", shell, err, said.String())
		}
		if out, err := exec.Command(installed).CombinedOutput(); err != nil || string(out) != "new\n" {
			t.Errorf("%s: the installed program: %v %s", shell, err, out)
		}
	}
}

// Each refusal is one sentence on one line, and leaves everything as it was.
func TestInstallRefusesAndChangesNothing(t *testing.T) {
	t.Parallel()
	release, changed, empty := releaseOf(t, "new"), releaseOf(t, "new"), releaseOf(t, "new")
	write(t, filepath.Join(changed, archiveName), "another archive")
	write(t, filepath.Join(empty, archiveName), "no archive")
	write(t, filepath.Join(empty, "checksums.txt"), fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte("no archive")), archiveName))
	unable := releaseOf(t, "#!/bin/sh\necho 'FATAL: kernel too old' >&2\necho more\nexit 127\n")
	foreign := commands(t, "uname")
	write(t, filepath.Join(foreign, "uname"), "#!/bin/sh\n[ \"$1\" = -s ] && echo Linux || echo riscv64\n")
	if err := os.Chmod(filepath.Join(foreign, "uname"), 0o755); err != nil {
		t.Fatal(err)
	}
	all := commands(t)
	for _, shell := range installShells(t) {
		for want, test := range map[string]struct {
			path string
			args []string
		}{
			"set --from ":              {all, []string{"--version", "0.1.0"}},
			"set --version ":           {all, []string{"--from", release}},
			"unknown option --help":    {all, []string{"--help"}},
			"--to needs a value":       {all, []string{"--to"}},
			"nothing was installed":    {all, []string{"--from", changed, "--version", "0.1.0"}},
			"contains no program":      {all, []string{"--from", empty, "--version", "0.1.0"}},
			"has no such version":      {all, []string{"--from", release, "--version", "0.2.0"}},
			"checksums.txt cannot be":  {all, []string{"--from", release + "/none", "--version", "0.1.0"}},
			"kernel too old; nothing":  {all, []string{"--from", unable, "--version", "0.1.0"}},
			"on riscv64":               {foreign, []string{"--from", release, "--version", "0.1.0"}},
			"neither curl nor wget":    {commands(t, "curl", "wget"), []string{"--from", "https://127.0.0.1:1", "--version", "0.1.0"}},
			"neither sha256sum nor":    {commands(t, "sha256sum", "shasum"), []string{"--from", release, "--version", "0.1.0"}},
			"bin cannot be created":    {all, []string{"--from", release, "--version", "0.1.0", "--to", "/proc/bin"}},
			"install.sh cannot be cre": {all, []string{"--from", release, "--version", "0.1.0", "--to", "install.sh"}},
			"/proc cannot be written":  {all, []string{"--from", release, "--version", "0.1.0", "--to", "/proc"}},
		} {
			if strings.Contains(want, "proc") || strings.HasPrefix(want, "bin ") {
				if runtime.GOOS != "linux" {
					continue // only Linux has this folder, which even root cannot write
				}
			}
			home := t.TempDir()
			bin := filepath.Join(home, "bin")
			if err := os.Mkdir(bin, 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(bin, "keepsake"), "old")
			out, err := install(shell, home, test.path, append([]string{"--to", bin}, test.args...)...)
			if err == nil || strings.Count(out, "\n") != 1 || !strings.HasPrefix(out, "install.sh: ") || !strings.Contains(out, want) {
				t.Errorf("%s %q: %v, want one line that says %q\n%s", shell, test.args, err, want, out)
			}
			if files := filesBelow(t, home); len(files) != 1 || read(t, files[0]) != "old" {
				t.Errorf("%s %q leaves %q", shell, test.args, files)
			}
		}
	}
}
