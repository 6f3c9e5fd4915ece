package app_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/testtier"
)

// Each script in tools/mcp/clients calls the tools with the library of a client that people use. It fails by itself.
func TestClientsOfOthersCallTheTools(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts Node for each client of the Model Context Protocol")
	if _, err := os.Stat(filepath.Join(conformanceSuites, "mcp-remote")); err != nil {
		testtier.Missing(t, "the clients of the Model Context Protocol (npm ci --prefix tools/mcp --ignore-scripts)")
	}
	node := nodeForSuite(t)
	scripts, err := filepath.Glob("../../tools/mcp/clients/*.mjs")
	if err != nil || len(scripts) < 7 {
		t.Fatalf("there are the scripts %q, %v", scripts, err)
	}
	for _, script := range scripts {
		name := strings.TrimSuffix(filepath.Base(script), ".mjs")
		if name == "checks" || name == "bridge" { // cmd/keepsake runs the bridge
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := apptest.Start(t)
			cmd := exec.CommandContext(t.Context(), node, script)
			cmd.Env = append(os.Environ(), "URL="+p.URL+"/ai/mcp", "KEY="+p.Key, "WRONG="+p.Key[:len(p.Key)-1]+"!",
				"LIMITED="+newKey(t, p, `"scopes":["memory:read"],"rateLimit":{"requestsPerMinute":1}`), "MCP_REMOTE_CONFIG_DIR="+t.TempDir())
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
