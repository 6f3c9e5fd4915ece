package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestEachCommandHasAManualPage(t *testing.T) {
	t.Parallel()
	first, second := writtenPages(t), writtenPages(t)
	var want []string
	eachCommand(rootCommand(&stage{out: io.Discard, err: io.Discard}), func(c *cobra.Command) {
		name := manName(c) + ".1"
		want = append(want, name)
		page := first[name]
		if page == "" || page != second[name] {
			t.Errorf("the two pages %s have %d and %d bytes, want the same page twice", name, len(page), len(second[name]))
		}
		for _, part := range []string{".TH ", ".SH NAME\n", ".SH DESCRIPTION\n"} {
			if !strings.Contains(page, part) {
				t.Errorf("%s lacks %q", name, part)
			}
		}
		for _, group := range flagGroups(c) {
			if !strings.Contains(page, roffArgument(strings.ToUpper(group.title))) {
				t.Errorf("%s lacks the %s", name, group.title)
			}
		}
	})
	if len(first) != len(want) {
		for name := range first {
			if !slices.Contains(want, name) {
				t.Errorf("%s is about no command", name)
			}
		}
	}
}

func writtenPages(t *testing.T) map[string]string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "man1")
	var text bytes.Buffer
	if code := run([]string{"man", "--out", dir}, &stage{out: io.Discard, err: &text}); code != exitOK {
		t.Fatalf("exit %d: %s", code, text.String())
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, f := range files {
		page, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		pages[f.Name()] = string(page)
	}
	return pages
}

func TestRoffReadsNoTextAsACommand(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		".yml files":  `\&.yml files`,
		"a\n.b":       "a\n" + `\&.b`,
		`C:\data`:     `C:\edata`,
		"--out 'DIR'": `\-\-out \(aqDIR\(aq`,
	} {
		if got := roffText(text); got != want {
			t.Errorf("roffText(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestCompletionScriptsAreInTheHelpAndParse(t *testing.T) {
	t.Parallel()
	var help bytes.Buffer
	if run([]string{"--help"}, &stage{out: &help, err: io.Discard}); !strings.Contains(help.String(), "\n  completion ") {
		t.Errorf("the help page does not name completion:\n%s", help.String())
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		var out, text bytes.Buffer
		if code := run([]string{"completion", shell}, &stage{out: &out, err: &text}); code != exitOK || !strings.Contains(out.String(), "__complete") {
			t.Errorf("%s: exit %d, %s: %.200s", shell, code, text.String(), out.String())
		}
		if path, err := exec.LookPath(shell); err == nil && shell != "powershell" {
			check := exec.Command(path, "-n")
			check.Stdin = &out
			if said, err := check.CombinedOutput(); err != nil {
				t.Errorf("%s -n: %v: %s", shell, err, said)
			}
		}
	}
	// What the scripts ask the program.
	var out bytes.Buffer
	if run([]string{"__complete", "keys", "cre"}, &stage{out: &out, err: io.Discard}); !strings.HasPrefix(out.String(), "create\t") {
		t.Errorf("keys cre is completed to %q", out.String())
	}
	var refused bytes.Buffer
	if code := run([]string{"completion", "tcsh"}, &stage{out: io.Discard, err: &refused}); code != exitUsage || !strings.Contains(refused.String(), `unknown command "tcsh"`) {
		t.Errorf("tcsh: exit %d: %s", code, refused.String())
	}
}
