package clients_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"keepsake/internal/testing/browsertest"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// everywhereChecks is how many checks clients/typescript/test/everywhere.ts has.
const everywhereChecks = 11

// place is what the checks of everywhere.ts run on.
type place struct {
	URL       string `json:"url"`
	APIKey    string `json:"apiKey"`
	Password  string `json:"password"`
	Elsewhere string `json:"elsewhere"`
	Name      string `json:"name"`
}

func placeOf(p *programtest.Process, elsewhere, name string) place {
	return place{URL: p.URL, APIKey: p.Key, Password: p.Password, Elsewhere: elsewhere, Name: name}
}

// serveSite serves the built package and the checks to a page, and is the other server of the checks.
func serveSite(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	page := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!doctype html><title>A page</title>")
	}
	mux.HandleFunc("/{$}", page)
	mux.HandleFunc("/page/", page)
	mux.Handle("/moved/", http.RedirectHandler("/page/", http.StatusFound))
	mux.Handle("/client/", http.StripPrefix("/client/", http.FileServer(http.Dir("typescript/dist/esm"))))
	mux.Handle("/test/", http.StripPrefix("/test/", http.FileServer(http.Dir("typescript/build/test"))))
	mux.HandleFunc("/worker.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		fmt.Fprint(w, `onmessage = async ({ data }) => {
			try {
				const { run } = await import("/test/everywhere.js");
				postMessage({ passed: await run(await import("/client/index.js"), data) });
			} catch (error) {
				postMessage({ failed: String(error.stack ?? error) });
			}
		};`)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// TestTypeScriptClientRunsInABrowser runs the checks in a page and in a worker whose origin the program lets in, as docs/browser.md
// says.
func TestTypeScriptClientRunsInABrowser(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts a browser")
	buildTypeScript(t)
	browser, site := browsertest.Start(t), serveSite(t)
	p := start(t, programtest.Flags("--cors-origins", site))
	scripts := map[string]string{
		"page": `(async (place) => (await import("/test/everywhere.js")).run(await import("/client/index.js"), place))(%s)`,
		"worker": `new Promise((resolve, reject) => {
			const worker = new Worker("/worker.js", { type: "module" });
			worker.onmessage = ({ data }) => data.failed ? reject(new Error(data.failed)) : resolve(data.passed);
			worker.onerror = (event) => reject(new Error(event.message));
			worker.postMessage(%s);
		})`,
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tab := browser.Tab(t)
			tab.Open(site + "/")
			argument, err := json.Marshal(placeOf(p, site, name))
			if err != nil {
				t.Fatal(err)
			}
			var passed []string
			tab.Eval(fmt.Sprintf(script, argument), &passed)
			if len(passed) != everywhereChecks {
				t.Errorf("%d checks passed, want %d: %q", len(passed), everywhereChecks, passed)
			}
		})
	}
}

// TestTypeScriptClientRunsInDeno runs the checks with the packed package in Deno, which also checks their types.
func TestTypeScriptClientRunsInDeno(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts Deno")
	deno, err := filepath.Abs("../tools/deno/node_modules/.bin/deno")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(deno); err != nil {
		testtier.Missing(t, "deno (npm ci --prefix tools/deno --ignore-scripts)")
	}
	project := newTypeScriptProject(t)
	checks, err := os.ReadFile("typescript/test/everywhere.ts")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(project.dir, "everywhere.ts"), string(checks))
	writeFile(t, filepath.Join(project.dir, "deno.json"), `{"nodeModulesDir": "manual"}`)
	writeFile(t, filepath.Join(project.dir, "main.ts"), `import * as client from "@keepsake/client";
import { run } from "./everywhere.ts";
console.log((await run(client, JSON.parse(Deno.args[0]!))).length);
`)
	if err := os.Remove(filepath.Join(project.dir, "tsconfig.json")); err != nil { // Deno has types of its own
		t.Fatal(err)
	}
	argument, err := json.Marshal(placeOf(start(t), serveSite(t), "deno"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), deno, "run", "--check", "--cached-only", "--allow-net=127.0.0.1", "main.ts", string(argument))
	cmd.Dir = project.dir
	cmd.Env = append(os.Environ(), "DENO_NO_UPDATE_CHECK=1", "DENO_DIR="+t.TempDir(), "NO_COLOR=1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.HasSuffix(string(out), fmt.Sprintf("%d\n", everywhereChecks)) {
		t.Errorf("Deno prints, %v:\n%s", err, out)
	}
}
