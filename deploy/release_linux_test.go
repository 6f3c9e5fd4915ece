package deploy_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// TestAReleaseStarts builds a release for all platforms, and starts the program of everything in it that is for this one, as its
// users do.
func TestAReleaseStarts(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "builds a release")
	source := tagged(t)
	sign := newSigning(t)
	out, said := makeRelease(t, source, sign.options("SECURITY_CONTACT=security@example.org")...)
	artefact := func(end string) string { return filepath.Join(out, "keepsake_0.1.0_linux_"+runtime.GOARCH+end) }

	t.Run("all archives", func(t *testing.T) {
		t.Parallel()
		checkArchives(t, out)
	})
	t.Run("checksums", func(t *testing.T) {
		t.Parallel()
		checkSums(t, out)
	})
	t.Run("signature", func(t *testing.T) {
		t.Parallel()
		sign.check(t, out, said)
	})
	t.Run("again", func(t *testing.T) {
		t.Parallel()
		checkAgain(t, source, out)
	})
	t.Run("archive", func(t *testing.T) {
		t.Parallel()
		bin := t.TempDir()
		said, err := install(installShells(t)[0], t.TempDir(), os.Getenv("PATH"), "--from", out, "--version", "0.1.0", "--to", bin)
		if err != nil {
			t.Fatalf("install.sh: %v\n%s", err, said)
		}
		starts(t, filepath.Join(bin, "keepsake"))

		texts := t.TempDir()
		unpack(t, artefact(".tar.gz"), texts)
		for name, want := range map[string]string{
			"SECURITY.md": "<security@example.org>", "CONTRIBUTING.md": "<security@example.org>", "man/keepsake-serve.1": `"keepsake 0.1.0"`,
			"completions/keepsake.bash": "__complete", "completions/keepsake.fish": "__complete", "completions/_keepsake": "__complete",
		} {
			if text := read(t, filepath.Join(texts, name)); !strings.Contains(text, want) {
				t.Errorf("%s does not contain %q:\n%.400s", name, want, text)
			}
		}
	})
	t.Run("deb", func(t *testing.T) {
		t.Parallel()
		if _, err := exec.LookPath("dpkg-deb"); err != nil {
			testtier.Missing(t, "dpkg-deb")
		}
		root := t.TempDir()
		if said, err := exec.Command("dpkg-deb", "-x", artefact(".deb"), root).CombinedOutput(); err != nil {
			t.Fatalf("dpkg-deb: %v\n%s", err, said)
		}
		startsFromPackage(t, root)
	})
	t.Run("apk", func(t *testing.T) {
		t.Parallel()
		root := t.TempDir()
		unpack(t, artefact(".apk"), root) // its parts are one tar
		startsFromPackage(t, root)
	})
	t.Run("Python client", func(t *testing.T) {
		t.Parallel()
		if _, err := os.Stat("../clients/python/.venv/installed"); err != nil {
			testtier.Missing(t, "the tools of the Python client (clients/python/tools/venv.sh)")
		}
		cmd := exec.CommandContext(t.Context(), ".venv/bin/python", "tools/check_release.py", out)
		cmd.Dir = "../clients/python"
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, said)
		}
	})
	t.Run("image", func(t *testing.T) {
		t.Parallel()
		unpackImage(t, filepath.Join(out, "keepsake_0.1.0_image.tar")).run(t)
	})
	t.Run("TypeScript client", func(t *testing.T) {
		t.Parallel()
		node, err := exec.LookPath("node")
		if err != nil {
			testtier.Missing(t, "node")
		}
		dir := t.TempDir()
		to := filepath.Join(dir, "node_modules/@keepsake/client")
		if err := os.MkdirAll(to, 0o755); err != nil {
			t.Fatal(err)
		}
		archive := filepath.Join(out, "keepsake-client-0.1.0.tgz")
		if said, err := exec.CommandContext(t.Context(), "tar", "-xzf", archive, "-C", to, "--strip-components=1").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		cmd := exec.CommandContext(t.Context(), node, "-p", `require("@keepsake/client").version`)
		cmd.Dir = dir
		if said, err := cmd.CombinedOutput(); err != nil || string(said) != "0.1.0\n" {
			t.Errorf("the version of the client is %q, %v", said, err)
		}
	})
}

// tagged returns a repository with one commit and the tag v0.1.0: the files of this checkout, whether they are committed or not.
func tagged(t *testing.T) string {
	t.Helper()
	list, err := exec.Command("git", "-C", "..", "ls-files", "-coz", "--exclude-standard").Output()
	if err != nil {
		testtier.Missing(t, "a checkout of Git, from which a release is built")
	}
	source := t.TempDir()
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join("..", name))
		if errors.Is(err, os.ErrNotExist) {
			continue // removed, and not committed
		}
		if err == nil {
			err = os.MkdirAll(filepath.Join(source, filepath.Dir(name)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(source, name), data, 0o755) // scripts among them
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"git", "init", "-q"},
		{"git", "add", "-A"},
		{"git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "a release"},
		{"git", "tag", "v0.1.0"},
	} {
		inRepository(t, source, args...)
	}
	return source
}

// makeRelease builds a release of a repository. It returns its folder and what `make release` printed.
func makeRelease(t *testing.T, source string, options ...string) (out, said string) {
	t.Helper()
	out = filepath.Join(t.TempDir(), "dist")
	return out, inRepository(t, source, append([]string{"make", "release", "OUT=" + out}, options...)...)
}

// inRepository runs a command in a repository, without the settings of this one and of its user, and returns what it printed.
func inRepository(t *testing.T, source string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = source
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") || strings.HasPrefix(v, "MAKE") })
	cmd.Env = append(cmd.Env, "GIT_CONFIG_GLOBAL="+os.DevNull)
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, said)
	}
	return string(said)
}

// startsFromPackage starts the program of a package that is unpacked in root.
func startsFromPackage(t *testing.T, root string) {
	t.Helper()
	for _, name := range []string{
		"usr/lib/systemd/system/keepsake.service", "usr/lib/systemd/system/keepsake.socket", "usr/share/doc/keepsake/NOTICES",
		"usr/share/man/man1/keepsake-serve.1", "usr/share/bash-completion/completions/keepsake",
	} {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	starts(t, filepath.Join(root, "usr/bin/keepsake"))
}

// starts starts a program on a new folder, gets a first answer, and stops it. The program says everywhere which version it is.
func starts(t *testing.T, program string) {
	t.Helper()
	said, err := exec.Command(program, "version", "--json").Output()
	var build struct {
		Version, Revision string
		Modified          bool
	}
	if err != nil || json.Unmarshal(said, &build) != nil || build.Version != "0.1.0" || build.Revision == "" || build.Modified {
		t.Errorf("keepsake version: %v %s", err, said)
	}
	p := programtest.Start(t, filepath.Join(t.TempDir(), "data"), programtest.Program(program))
	firstAnswer(t, p.URL, p.Key)
	for address, want := range map[string]string{
		p.URL + "/docs":           "this release, 0.1.0.",
		p.BackendURL + "/metrics": `revision="` + build.Revision + `",version="0.1.0"} 1`,
	} {
		res, err := programtest.Client.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if text, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s does not say %q: %v", address, want, err)
		}
	}
	p.Stop()
}

// firstAnswer does what a new user does: ask for the health, store a document and find it.
func firstAnswer(t *testing.T, url, key string) {
	t.Helper()
	call := func(want int, method, path, body string) (answer struct{ Total int }) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-API-Key", key)
		res, err := programtest.Client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != want || json.Unmarshal(text, &answer) != nil {
			t.Fatalf("%s %s: %d %s %v, want %d", method, path, res.StatusCode, text, err, want)
		}
		return answer
	}
	call(http.StatusOK, http.MethodGet, "/api/v1/health", "")
	call(http.StatusCreated, http.MethodPut, "/api/v1/documents/boiler", `{"text":"Bleed the radiators."}`)
	if found := call(http.StatusOK, http.MethodGet, "/api/v1/search?q=radiator", ""); found.Total != 1 {
		t.Errorf("%d documents are found, want the one that was stored", found.Total)
	}
}

// unpackImage unpacks the image of this platform from an OCI layout in a tar.
func unpackImage(t *testing.T, path string) container {
	t.Helper()
	layout, root := t.TempDir(), t.TempDir()
	unpack(t, path, layout)
	type descriptor struct {
		Digest   string
		Platform struct{ Architecture string }
	}
	blob := func(d descriptor) string {
		return filepath.Join(layout, "blobs", strings.Replace(d.Digest, ":", string(filepath.Separator), 1))
	}
	var outer, inner struct{ Manifests []descriptor }
	readJSON(t, filepath.Join(layout, "index.json"), &outer)
	readJSON(t, blob(outer.Manifests[0]), &inner)
	here := slices.IndexFunc(inner.Manifests, func(d descriptor) bool { return d.Platform.Architecture == runtime.GOARCH })
	if here < 0 {
		t.Fatalf("the image has no %s", runtime.GOARCH)
	}
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	readJSON(t, blob(inner.Manifests[here]), &manifest)
	for _, layer := range manifest.Layers {
		unpack(t, blob(layer), root)
	}
	var image struct {
		Config struct {
			User                 string
			Env, Entrypoint, Cmd []string
			Healthcheck          struct{ Test []string }
		} `json:"config"`
	}
	readJSON(t, blob(manifest.Config), &image)
	c := image.Config
	if c.User != "65532:65532" || len(c.Healthcheck.Test) == 0 || c.Healthcheck.Test[0] != "CMD" {
		t.Errorf("the image has the settings %+v", c)
	}
	return container{root: root, env: c.Env, command: slices.Concat(c.Entrypoint, c.Cmd), health: c.Healthcheck.Test[1:]}
}

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, path)), v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// unpack unpacks a tar, which can be compressed.
func unpack(t *testing.T, path, root string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var in io.Reader = file
	if z, err := gzip.NewReader(file); err == nil {
		in = z
	} else if _, err := file.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	for entries := tar.NewReader(in); ; {
		h, err := entries.Next()
		if err == io.EOF {
			return
		}
		if err == nil {
			err = unpackEntry(filepath.Join(root, h.Name), h, entries)
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
}

func unpackEntry(path string, h *tar.Header, in io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	mode := h.FileInfo().Mode()
	if mode.IsDir() {
		if err := os.MkdirAll(path, mode.Perm()); err != nil {
			return err
		}
	} else {
		data, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, data, mode.Perm()); err != nil {
			return err
		}
	}
	if os.Getuid() != 0 {
		return nil
	}
	return os.Chown(path, h.Uid, h.Gid)
}
