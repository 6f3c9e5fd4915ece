package clients_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"keepsake/internal/testing/testtier"
)

var typescript = library{
	language:  "TypeScript",
	file:      func(tag string) string { return "clients/typescript/src/" + typescriptFiles[tag] },
	calls:     typescriptCalls,
	generated: "clients/typescript/src/openapi.ts",
	generate:  "make clients",
	stamped:   "typescript/src/openapi.ts",
	fields:    typescriptFields,
	suite: func(t *testing.T) *exec.Cmd {
		t.Helper()
		buildTypeScript(t)
		return npm(t, "run", "--silent", "run-tests")
	},
}

// typescriptFiles are the files in clients/typescript/src with the methods for operations with a tag.
var typescriptFiles = map[string]string{
	"AI services":     "agent.ts",
	"admin":           "admin.ts",
	"analytics":       "analytics.ts",
	"api keys":        "apikeys.ts",
	"backend service": "backend.ts",
	"collections":     "collections.ts",
	"documents":       "documents.ts",
	"health":          "client.ts",
	"login":           "auth.ts",
	"memories":        "memories.ts",
	"profile":         "auth.ts",
	"search":          "client.ts",
	"versions":        "versions.ts",
	"webhooks":        "webhooks.ts",
}

// A method names its operation: call("createDocument", …).
var typescriptCall = regexp.MustCompile(`\.#http\.(?:call|list|lines)\(\s*"(\w+)"|upload\(this\.#http, "(\w+)"`)

func typescriptCalls(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("typescript/src/*.ts")
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range typescriptCall.FindAllStringSubmatch(string(text), -1) {
			calls[match[1]+match[2]] = true
		}
	}
	return calls
}

// A member of a type that openapi-typescript has written: four spaces for each level.
var typescriptMember = regexp.MustCompile(`^((?:    )+)"?([^"\s?:]+)"?\??: `)

// typescriptFields reads the generated types. Their lines are nested as components.schemas.Schema.property and
// operations.operation.parameters.query.parameter.
func typescriptFields(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("typescript/src/openapi.ts")
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]bool{}
	var path []string // of the member that a line is in
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "export interface "); ok {
			path = []string{strings.TrimSuffix(strings.TrimSpace(name), " {")}
			continue
		}
		match := typescriptMember.FindStringSubmatch(line)
		if match == nil || len(path) == 0 {
			continue
		}
		depth := len(match[1]) / 4
		if depth > len(path) {
			continue // in a comment
		}
		path = append(path[:depth:depth], match[2])
		switch {
		case depth == 3 && path[0] == "components" && path[1] == "schemas":
			fields[path[2]+"."+path[3]] = true
		case depth == 4 && path[0] == "operations" && path[3] == "query":
			fields[path[1]+"."+path[4]] = true
		}
	}
	return fields
}

// typescriptBuild builds the package and its tests once for all tests, because each build writes into the same folders. It
// fails if a generated file is not up to date.
var typescriptBuild sync.Once

// buildTypeScript builds the package and its tests.
func buildTypeScript(t *testing.T) {
	t.Helper()
	check, compile := npm(t, "run", "--silent", "check"), npm(t, "run", "--silent", "compile-tests")
	typescriptBuild.Do(func() {
		for _, cmd := range []*exec.Cmd{check, compile} {
			if out, err := cmd.CombinedOutput(); err != nil {
				typescriptFailure = fmt.Sprintf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
				return
			}
		}
	})
	if typescriptFailure != "" {
		t.Fatal(typescriptFailure)
	}
}

// typescriptFailure says why typescriptBuild has failed.
var typescriptFailure string

// oldestNode is the oldest major version of Node that the client supports.
const oldestNode = 20

// npm returns a command of npm in the folder of the client. It skips t if Node or what npm installs is missing.
func npm(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("npm")
	if err != nil {
		testtier.Missing(t, "npm")
	}
	version, err := exec.CommandContext(t.Context(), "node", "--version").Output()
	major, _, _ := strings.Cut(strings.TrimPrefix(string(version), "v"), ".")
	if n, _ := strconv.Atoi(major); err != nil || n < oldestNode {
		testtier.Missing(t, "node 20 or newer")
	}
	if _, err := os.Stat("typescript/node_modules/typescript"); err != nil {
		testtier.Missing(t, "the tools of the TypeScript client (npm ci --prefix clients/typescript --ignore-scripts)")
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = "typescript"
	return cmd
}
