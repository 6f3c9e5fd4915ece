package app_test

import (
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/testtier"
)

// notApplicable are the scenarios of the conformance suites that this server cannot pass, and why. A star stands for the rest of
// a name.
var notApplicable = map[string]string{
	"logging-set-level":                    "the server sends no log messages, and does not declare that it does",
	"completion-complete":                  "there are no prompts and resources whose arguments could be completed",
	"tools-call-*":                         "calls tools of the suite's own server",
	"json-schema-2020-12":                  "wants the schema of a tool of the suite's own server",
	"elicitation-*":                        "calls tools of the suite's own server, which ask the user",
	"input-required-result-*":              "calls tools of the suite's own server, which ask the user",
	"server-sse-*":                         "responses are JSON; the server opens no stream",
	"resources-*":                          "there are no resources: search and fetch are tools",
	"sep-2164-resource-not-found":          "there are no resources",
	"prompts-*":                            "there are no prompts",
	"caching":                              "also wants lists of prompts and resources",
	"server-stateless":                     "also calls tools of the suite's own server; its other checks have passed",
	"http-custom-header-server-validation": "no parameter of a tool is repeated in a header",
	"tasks-*":                              "an extension that the server does not declare",
	"sep-2640-*":                           "an extension that the server does not declare",
}

// applies reports whether a scenario applies, and marks the entry of notApplicable that says why not.
func applies(scenario string, used map[string]bool) bool {
	for name := range notApplicable {
		if prefix, ok := strings.CutSuffix(name, "*"); name == scenario || ok && strings.HasPrefix(scenario, prefix) {
			used[name] = true
			return false
		}
	}
	return true
}

// conformanceSuites is where tools/engines.sh installs the suites and the Node that they need.
const conformanceSuites = "../../tools/mcp/node_modules"

// Two suites run: the last release, and the one to come, which knows revision 2026-07-28 of the protocol.
func TestToolsConformToTheProtocol(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "runs the conformance suite of the Model Context Protocol, which starts Node for each scenario")
	if _, err := os.Stat(conformanceSuites); err != nil {
		testtier.Missing(t, "the MCP conformance suite (npm ci --prefix tools/mcp --ignore-scripts)")
	}
	node := nodeForSuite(t)
	address := withKey(t, apptest.Start(t))
	used := map[string]bool{}
	for _, suite := range []struct {
		name    string
		applied []string
	}{
		{"@modelcontextprotocol/conformance", []string{"server-initialize", "ping", "tools-list", "dns-rebinding-protection"}},
		{"conformance-next", []string{
			"server-initialize", "server-session-lifecycle", "ping", "tools-list", "dns-rebinding-protection", "http-header-validation",
		}},
	} {
		program := filepath.Join(conformanceSuites, suite.name, "dist/index.js")
		listed, err := exec.CommandContext(t.Context(), node, program, "list", "--server").CombinedOutput()
		if err != nil {
			t.Fatalf("list the scenarios: %v\n%s", err, listed)
		}
		var ran []string
		for _, match := range regexp.MustCompile(`(?m)^ +- (\S+)`).FindAllStringSubmatch(string(listed), -1) {
			scenario := match[1]
			if !applies(scenario, used) {
				continue
			}
			ran = append(ran, scenario)
			t.Run(suite.name+"/"+scenario, func(t *testing.T) {
				out, err := exec.CommandContext(t.Context(), node, program, "server", "--url", address, "--scenario", scenario).CombinedOutput()
				if err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
		if !slices.Equal(ran, suite.applied) {
			t.Errorf("%s ran %q, want %q", suite.name, ran, suite.applied)
		}
	}
	for scenario := range notApplicable {
		if !used[scenario] {
			t.Errorf("no suite has a scenario %s", scenario)
		}
	}
}

// nodeForSuite returns Node 22 or later.
func nodeForSuite(t *testing.T) string {
	t.Helper()
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	packaged, err := filepath.Abs(filepath.Join(conformanceSuites, "node-"+runtime.GOOS+"-"+arch, "bin/node"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(packaged); err == nil {
		return packaged
	}
	node, err := exec.LookPath("node")
	if err != nil {
		testtier.Missing(t, "Node 22 or later")
	}
	version, err := exec.CommandContext(t.Context(), node, "--version").Output()
	if major := strings.TrimPrefix(string(version), "v"); err != nil || len(major) < 2 || major[:2] < "22" {
		testtier.Missing(t, "Node 22 or later, not "+strings.TrimSpace(string(version)))
	}
	return node
}

// withKey returns the address of a proxy that adds the API key to each request, because the suite sends none.
func withKey(t *testing.T, p *apptest.Running) string {
	t.Helper()
	target, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
		r.Out.Header.Set("X-API-Key", p.Key)
		r.Out.Host = r.In.Host
	}})
	t.Cleanup(proxy.Close)
	return proxy.URL + "/ai/mcp"
}
