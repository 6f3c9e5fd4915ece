package clients_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"keepsake/internal/testing/testtier"
)

// samplesPrint is what the samples of the TypeScript client print.
var samplesPrint = map[string]string{
	"agent.ts":    "1 true\n",
	"common.cts":  "function 0.0.0 1\n",
	"errors.ts":   "404 not_found - true\nlimits are known: true\n",
	"moving.ts":   "3 lines\n3 received, 0 failed\n[ 'Roll 0', 'Roll 1', 'Roll 2' ] true\nroll-0\nroll-1\nroll-2\nerased: 1 true\n",
	"receiver.ts": "400\n",
}

// TestSamplesRunInAnEmptyTypeScriptProject compiles the samples strictly against the packed package, and runs them.
func TestSamplesRunInAnEmptyTypeScriptProject(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "packs the package and starts Node")
	project := newTypeScriptProject(t)
	samples, err := filepath.Glob("typescript/samples/*.ts")
	if err != nil || len(samples) != len(samplesPrint)-1 {
		t.Fatalf("there are the samples %q, %v", samples, err)
	}
	for _, sample := range samples {
		text, err := os.ReadFile(sample)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(project.dir, filepath.Base(sample)), string(text))
	}
	// A project in CommonJS gets the same from require.
	writeFile(t, filepath.Join(project.dir, "common.cts"), `import { Keepsake, version } from "@keepsake/client";
import type { Document } from "@keepsake/client";
const title = (d: Document) => d.title;
console.log(typeof Keepsake, version, title.length);
`)
	project.compile()
	p := start(t)
	for name, want := range samplesPrint {
		script := strings.NewReplacer(".cts", ".cjs", ".ts", ".js").Replace(name)
		cmd := project.node(script)
		cmd.Env = environment(p)
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%s prints %q, want %q; %v", name, out, want, err)
		}
	}
}

// typescriptProject is a folder with the packed package and a strict compiler, and nothing else.
type typescriptProject struct {
	t   *testing.T
	dir string
}

func newTypeScriptProject(t *testing.T) *typescriptProject {
	t.Helper()
	p := &typescriptProject{t: t, dir: t.TempDir()}
	buildTypeScript(t)
	p.run(npm(t, "pack", "--silent", "--pack-destination", p.dir))
	writeFile(t, filepath.Join(p.dir, "package.json"), `{"type": "module"}`)
	install := npm(t, "install", "--silent", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", "./keepsake-client-0.0.0.tgz")
	install.Dir = p.dir
	p.run(install)
	types, err := filepath.Abs("typescript/node_modules/@types")
	if err == nil {
		err = os.Symlink(types, filepath.Join(p.dir, "node_modules", "@types"))
	}
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(p.dir, "tsconfig.json"), `{"compilerOptions": {"strict": true, "noUncheckedIndexedAccess": true,
		"exactOptionalPropertyTypes": true, "module": "nodenext", "target": "es2022", "lib": ["es2022"], "types": ["node"]}}`)
	return p
}

// compile compiles the project, and fails the test if the compiler says anything.
func (p *typescriptProject) compile() {
	p.t.Helper()
	compiler, err := filepath.Abs("typescript/node_modules/typescript/bin/tsc")
	if err != nil {
		p.t.Fatal(err)
	}
	p.run(p.node(compiler))
}

func (p *typescriptProject) node(script string) *exec.Cmd {
	cmd := exec.CommandContext(p.t.Context(), "node", script)
	cmd.Dir = p.dir
	return cmd
}

func (p *typescriptProject) run(cmd *exec.Cmd) {
	p.t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
}
