package clients_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"keepsake/internal/testing/testtier"
)

// examplePrints is what the example of README.md prints in each language.
const examplePrints = "boiler - Boiler manual\n1 Her bicycle is green.\n"

// examples return a command that runs a program, by the language of its block in README.md.
var examples = map[string]func(t *testing.T, code string) *exec.Cmd{
	"go": func(t *testing.T, code string) *exec.Cmd {
		t.Helper()
		file := filepath.Join(t.TempDir(), "main.go")
		writeFile(t, file, code)
		cmd := exec.CommandContext(t.Context(), "go", "run", file)
		cmd.Dir = ".."
		return cmd
	},
	"python": func(t *testing.T, code string) *exec.Cmd {
		t.Helper()
		cmd := inPython(t, "-c", code)
		cmd.Dir = "python/src"
		return cmd
	},
	"ts": func(t *testing.T, code string) *exec.Cmd {
		t.Helper()
		p := newTypeScriptProject(t)
		writeFile(t, filepath.Join(p.dir, "example.ts"), code)
		p.compile()
		return p.node("example.js")
	},
}

func TestExampleOfTheREADMERunsInEveryLanguage(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts the program, Node and Python")
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for language, run := range examples {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			blocks := regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllSubmatch(text, -1)
			if len(blocks) != 1 {
				t.Fatalf("README.md has %d examples", len(blocks))
			}
			cmd := run(t, string(blocks[0][1]))
			cmd.Env = environment(start(t))
			if out, err := cmd.CombinedOutput(); err != nil || string(out) != examplePrints {
				t.Errorf("the example prints %q, want %q; %v", out, examplePrints, err)
			}
		})
	}
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
