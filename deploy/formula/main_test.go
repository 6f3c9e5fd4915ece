package main

import (
	"crypto/sha256"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// checksumsOf returns the checksums of artefacts whose content is their name.
func checksumsOf(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256([]byte(name)), name)
	}
	return b.String()
}

var artefacts = []string{
	"keepsake_0.1.0_darwin_amd64.tar.gz", "keepsake_0.1.0_darwin_arm64.tar.gz", "keepsake_0.1.0_linux_amd64.tar.gz",
	"keepsake_0.1.0_linux_arm64.tar.gz", "keepsake_0.1.0_windows_amd64.zip",
}

func TestTheFormulaHasEachArchiveWithItsChecksum(t *testing.T) {
	t.Parallel()
	text, err := formula("https://downloads.example.org/0.1.0/", "0.1.0", "", checksumsOf(artefacts...))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range artefacts[:4] {
		want := fmt.Sprintf("url \"https://downloads.example.org/0.1.0/%s\"\n      sha256 \"%x\"\n", name, sha256.Sum256([]byte(name)))
		if !strings.Contains(text, want) {
			t.Errorf("the formula lacks\n%s in\n%s", want, text)
		}
	}
	opened := strings.Count(text, " do\n") + strings.Count(text, "def ") + strings.Count(text, "class ")
	if closed := strings.Count(text, "end\n"); opened != closed {
		t.Errorf("%d blocks begin and %d end", opened, closed)
	}
	ruby, err := exec.LookPath("ruby")
	if err != nil {
		return // the content is checked above
	}
	check := exec.Command(ruby, "-c")
	check.Stdin = strings.NewReader(text)
	if said, err := check.CombinedOutput(); err != nil {
		t.Errorf("ruby -c: %v\n%s", err, said)
	}
}

func TestAFormulaIsRefused(t *testing.T) {
	t.Parallel()
	const from = "https://downloads.example.org"
	for want, got := range map[string][3]string{
		"is not a version":      {from, "latest", checksumsOf(artefacts...)},
		"begins with https://":  {"", "0.1.0", checksumsOf(artefacts...)},
		"do not list keepsake_": {from, "0.1.0", checksumsOf(artefacts[1:]...)},
		"is not SHA-256":        {from, "0.1.0", strings.ReplaceAll(checksumsOf(artefacts...), "  k", "0  k")},
	} {
		if text, err := formula(got[0], got[1], "", got[2]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("formula(%.60q) = %.20q, %v; want an error that says %q", got, text, err, want)
		}
	}
}
