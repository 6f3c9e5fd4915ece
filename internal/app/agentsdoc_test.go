package app_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/testtier"
)

// agentsPage returns docs/agents.md.
func agentsPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// agentLoop writes the program of docs/agents.md in a language to a file.
func agentLoop(t *testing.T, language, name string) string {
	t.Helper()
	_, code, _ := strings.Cut(agentsPage(t), "\n```"+language+"\n")
	code, _, ok := strings.Cut(code, "\n```\n")
	if lines := strings.Count(code, "\n") + 1; !ok || lines > 30 {
		t.Fatalf("docs/agents.md has a program in %s of %d lines, want one of at most 30", language, lines)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// model is a server with the chat API of OpenAI. Its answer is what the prompt says is known.
func model(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Model    string                           `json:"model"`
			Messages []struct{ Role, Content string } `json:"messages"`
		}
		err := json.NewDecoder(r.Body).Decode(&asked)
		if err != nil || r.URL.Path != "/chat/completions" || r.Header.Get("Authorization") != "Bearer chat-key" || len(asked.Messages) != 2 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		known := strings.ReplaceAll(asked.Messages[0].Content, "\n", " ")
		answer := map[string]any{"role": "assistant", "content": "known: " + known}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": answer}}}) // the program reports a failure
	}))
	t.Cleanup(server.Close)
	return server
}

// TestAgentLoopsOfTheDocumentationRun runs the programs of docs/agents.md twice each, with a bound key and a model of its own.
func TestAgentLoopsOfTheDocumentationRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		language, file string
		command        func(t *testing.T) []string
	}{
		{"python", "agent.py", python},
		{"typescript", "agent.ts", node},
	} {
		t.Run(c.language, func(t *testing.T) {
			t.Parallel()
			program := append(c.command(t), agentLoop(t, c.language, c.file))
			p := apptest.Start(t)
			operator := agent{t, p.URL, p.Key}
			operator.want(201, "POST", "/ai/remember", `{"subjectId":"bob","text":"Bob likes coffee."}`)
			made := operator.send("POST", "/api/v1/developer/api-keys",
				`{"name":"ada","scopes":["memory:read","memory:write"],"subjectId":"ada"}`, "X-API-Key", p.Key)
			chat := model(t)
			say := func(lines string) string {
				cmd := exec.CommandContext(t.Context(), program[0], program[1:]...)
				cmd.Stdin = strings.NewReader(lines)
				cmd.Env = append(os.Environ(), "KEEPSAKE_URL="+p.URL, "KEEPSAKE_KEY="+made.body["key"].(string), "CHAT_URL="+chat.URL, "CHAT_KEY=chat-key")
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				return string(out)
			}
			if out := say("I like green tea.\n\nWhich tea do I like?\n"); strings.Count(out, "\n") != 2 || !strings.Contains(out, "green tea") {
				t.Errorf("the agent said %q", out)
			}
			if out := say("Which coffee do I like?\n"); !strings.Contains(out, "green tea") || strings.Contains(out, "Bob") {
				t.Errorf("started again, the agent said %q", out)
			}
			list := operator.send("GET", "/api/v1/memories?subjectId=ada", "", "X-API-Key", p.Key)
			if items := list.body["items"].([]any); len(items) != 3 || strings.Contains(list.text, "assistant") {
				t.Errorf("the agent remembered %d turns, want the 3 of the person: %s", len(items), list.text)
			}
		})
	}
}

func python(t *testing.T) []string {
	path, err := exec.LookPath("python3")
	if err != nil {
		testtier.Missing(t, "python3")
	}
	return []string{path}
}

// node returns the command of a Node that runs TypeScript. If the installed one is older, npm installs another.
func node(t *testing.T) []string {
	testtier.Long(t, "installs Node from npm if it is missing or old")
	if path, err := exec.LookPath("node"); err == nil && runsTypeScript(path) {
		return []string{path}
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		testtier.Missing(t, "node 22.18 or newer, or npm to install it")
	}
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	dir, program := t.TempDir(), "node-"+runtime.GOOS+"-"+arch // the package node runs a script that installs this one
	install := []string{"install", "--prefix", dir, "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", program + "@" + nodeVersion}
	if out, err := exec.CommandContext(t.Context(), npm, install...).CombinedOutput(); err != nil {
		t.Fatalf("npm: %v: %s", err, out)
	}
	return []string{filepath.Join(dir, "node_modules", program, "bin", "node")}
}

const nodeVersion = "22.23.3"

func runsTypeScript(node string) bool {
	version, err := exec.Command(node, "--version").Output()
	return err == nil && regexp.MustCompile(`^v(22\.(1[89]|[2-9]\d)|2[3-9]|[3-9]\d)\.`).Match(version)
}
