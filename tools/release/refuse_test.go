package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aead.dev/minisign"
)

// repository creates a repository with one commit and tags.
func repository(t *testing.T, tags ...string) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "first")
	for _, tag := range tags {
		git(t, dir, "tag", tag)
	}
	return dir
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

func TestTheVersionIsThatOfTheTag(t *testing.T) {
	t.Parallel()
	plain, tagged, other := repository(t), repository(t, "v0.1.0"), repository(t, "nightly")
	for _, test := range []struct{ dir, asked, want string }{
		{plain, "0.1.0", "0.1.0"},
		{plain, "v0.1.0", "0.1.0"},
		{plain, "1.20.3-rc.1", "1.20.3-rc.1"},
		{tagged, "", "0.1.0"},
		{tagged, "0.2.0", "0.2.0"},
		{plain, "", ""},
		{other, "", ""},
		{plain, "1", ""},
		{plain, "0.1", ""},
		{plain, "0.1-rc.1", ""},
		{plain, "01.1.0", ""},
		{plain, "0.1.0+more", ""},
		{plain, "0.1.0-rc_1", ""},
		{plain, "latest", ""},
		{plain, "../0.1.0", ""},
		{plain, "0.1.0 ", ""},
	} {
		got, err := versionOf(test.dir, test.asked)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("versionOf(%q) = %q, %v; want %q", test.asked, got, err, test.want)
		}
	}
}

// Each refusal is one sentence, and leaves nothing behind.
func TestAReleaseIsRefused(t *testing.T) {
	t.Parallel()
	clean, tagged, changed := repository(t), repository(t, "v0.1.0"), repository(t, "v0.1.0")
	if err := os.WriteFile(filepath.Join(changed, "new.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	out := filepath.Join(parent, "dist")
	keys := t.TempDir()
	noKey := filepath.Join(keys, "text")
	if err := os.WriteFile(noKey, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, test := range map[string]struct {
		dir  string
		args []string
	}{
		"not defined: -colour":       {clean, []string{"-colour"}},
		`unknown argument "now"`:     {clean, []string{"now"}},
		"SECURITY_CONTACT":           {clean, []string{"-security-contact", "us"}},
		"is not a list of platforms": {tagged, []string{"-platforms", "linux/386"}},
		"already exists":             {tagged, []string{"-out", parent}},
		"a checkout of Git":          {t.TempDir(), []string{"-version", "0.1.0"}},
		"has no tag such as v0.1.0":  {clean, nil},
		"is not a version such as":   {clean, []string{"-version", "one"}},
		"changes that are not":       {changed, nil},
		"text cannot be read":        {tagged, []string{"-sign-key", noKey}},
		"none cannot be read":        {tagged, []string{"-sign-key", filepath.Join(keys, "none")}},
		"cannot be written":          {tagged, []string{"-out", filepath.Join(noKey, "dist")}},
	} {
		err := run(append([]string{"-out", out}, test.args...), test.dir)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v; want one line that says %q", test.args, err, want)
		}
	}
	left, err := os.ReadDir(parent)
	if err != nil || len(left) > 0 {
		t.Errorf("the refusals leave %v, %v", left, err)
	}
}

const password = "a password for the key"

// secretKey writes a new secret key as `minisign -G` does.
func secretKey(t *testing.T, dir string) (path string, public minisign.PublicKey) {
	t.Helper()
	public, secret, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := minisign.EncryptKey(password, secret)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "minisign.key")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, public
}

// `minisign -G -W` writes a key without a password.
func TestAKeyWithoutAPasswordSigns(t *testing.T) {
	t.Parallel()
	public, secret, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := secret.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "minisign.key")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	sign, err := signer(path, "")
	if err != nil {
		t.Fatal(err)
	}
	if checksums := []byte("sum  file\n"); !minisign.Verify(public, checksums, sign(checksums)) {
		t.Error("the signature does not verify")
	}
}

func TestTheChecksumsAreSigned(t *testing.T) {
	t.Parallel()
	path, public := secretKey(t, t.TempDir())
	sign, err := signer(path, password)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := signer(path, ""); err == nil || !strings.Contains(err.Error(), "check the file and MINISIGN_PASSWORD") {
		t.Errorf("without the password: %v", err)
	}
	r := release{out: t.TempDir()}
	if err := os.WriteFile(filepath.Join(r.out, "file"), []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.checksums(sign); err != nil {
		t.Fatal(err)
	}
	read := func(name string) []byte {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	text, signature := read("checksums.txt"), read("checksums.txt.minisig")
	if want := "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73  file\n"; string(text) != want {
		t.Errorf("checksums.txt is %q, want %q", text, want)
	}
	if !minisign.Verify(public, text, signature) {
		t.Errorf("the signature does not verify:\n%s", signature)
	}
	if minisign.Verify(public, slices.Concat(text, []byte("more")), signature) {
		t.Error("the signature verifies other text")
	}
	if none, err := signer("", ""); none != nil || err != nil {
		t.Errorf("without a key: %v", err)
	}
}
