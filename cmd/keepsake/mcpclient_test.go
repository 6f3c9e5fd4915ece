package main

import (
	"os"
	"os/exec"
	"testing"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/testtier"
)

// bridgeClient is a script that starts keepsake mcp with the official TypeScript SDK.
const bridgeClient = "../../tools/mcp/clients/bridge.mjs"

func TestClientOfOthersTalksThroughTheBridge(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts Node")
	if _, err := os.Stat("../../tools/mcp/node_modules/@modelcontextprotocol/sdk"); err != nil {
		testtier.Missing(t, "the clients of the Model Context Protocol (npm ci --prefix tools/mcp --ignore-scripts)")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		testtier.Missing(t, "Node")
	}
	program, err := exec.LookPath("keepsake") // this test binary, by testscript
	if err != nil {
		t.Fatal(err)
	}
	p := apptest.Start(t)
	c, err := client.New(p.URL, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	limited, err := c.CreateAPIKey(t.Context(), client.NewAPIKey{Name: "limited", Scopes: []string{"memory:read"}, RateLimit: &client.NewRateLimit{RequestsPerMinute: 1}})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, bridgeClient)
	cmd.Env = append(os.Environ(), "PROGRAM="+program, "URL="+p.URL+"/ai/mcp", "KEY="+p.Key, "WRONG=kpsk_wrong", "LIMITED="+limited.Key)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
