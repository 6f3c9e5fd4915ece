package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"keepsake/client"
	"keepsake/internal/app/apptest"
)

func TestBridgePassesMessagesOn(t *testing.T) {
	t.Parallel()
	type passed struct{ Message, Revision, Method, Name string }
	var sent []passed
	var out bytes.Buffer
	b := &bridge{out: &out, send: func(_ context.Context, message []byte, headers map[string]string) ([]byte, error) {
		sent = append(sent, passed{string(message), headers["MCP-Protocol-Version"], headers["Mcp-Method"], headers["Mcp-Name"]})
		switch {
		case bytes.Contains(message, []byte("initialize\"")):
			return []byte("{\"jsonrpc\":\"2.0\",\"id\":0,\n\"result\":{\"protocolVersion\":\"2025-06-18\"}}"), nil
		case bytes.Contains(message, []byte("initialized")):
			return nil, nil
		case bytes.Contains(message, []byte("busy")):
			return nil, &client.Error{Status: 429, Code: "rate_limit_exceeded", Message: "Try again in 7 seconds.", RequestID: "req_1"}
		case bytes.Contains(message, []byte("gone")):
			return nil, errors.New("connection refused")
		case bytes.Contains(message, []byte("page")):
			return []byte("<html>"), nil
		default:
			return []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`), nil
		}
	}}
	newest := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fetch","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	in := strings.Join([]string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize"}`, ``, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":"b","method":"busy"}`, `{"jsonrpc":"2.0","method":"notifications/gone"}`, `{"jsonrpc":"2.0","id":2,"method":"gone"}`,
		`{"jsonrpc":"2.0","id":3,"method":"page"}`, newest,
	}, "\n")
	if err := b.run(t.Context(), strings.NewReader(in)); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"error":{"code":429,"data":{"error":"rate_limit_exceeded","requestId":"req_1"},"message":"Try again in 7 seconds."},"id":"b","jsonrpc":"2.0"}`,
		`{"error":{"code":-32603,"data":{},"message":"connection refused"},"id":2,"jsonrpc":"2.0"}`,
		`{"error":{"code":-32603,"data":{},"message":"the server sent something else than JSON; is --url right?"},"id":3,"jsonrpc":"2.0"}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
	}, "\n") + "\n"
	if got := out.String(); got != want {
		t.Error(cmp.Diff(want, got))
	}
	if first := sent[0]; first.Revision != "" {
		t.Errorf("initialize was sent with the revision %q", first.Revision)
	}
	if ping := sent[2]; ping.Revision != "2025-06-18" || ping.Method != "" {
		t.Errorf("after initialize, a message was sent as %+v", ping)
	}
	if got := sent[len(sent)-1]; got != (passed{newest, "2026-07-28", "tools/call", "fetch"}) {
		t.Errorf("a message of the newest revision was sent as %+v", got)
	}
}

func TestBridgeAnswersEveryMessageUnderItsID(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	deep := strings.Repeat("[", 40) + strings.Repeat("]", 40)
	long := strings.Repeat("y", maxMessage)
	type sent struct{ line, ids string }
	lines := []sent{
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add_memory","arguments":{"subjectId":"ada","text":"cut \ud83d"}}}`, `1`},
		{"{\"jsonrpc\":\"2.0\",\"id\":\"two\",\"method\":\"ping\",\"params\":{\"x\":\"\xff\xfe\"}}", `"two"`},
		{`{"jsonrpc":"2.0","method":"ping","params":{"x":1,"x":2},"id":3}`, `3`},
		{`{"jsonrpc":"2.0","id":4,"method":"ping","params":{"x":` + deep + `}}`, `4`},
		{`{"jsonrpc":"2.0","id":5,"method":"ping","params":{"x":"` + long + `"}}`, `5`},
		{`{"jsonrpc":"2.0","method":"ping","params":{"x":"` + long + `","id":0},"id":"six"}`, `"six"`},
		{`{"jsonrpc":"2.0","id":7,"method":`, `7`},
		{`{"jsonrpc":"2.0","id":8,"method":"ping","params":{"x":"a " quote"}}`, `8`},
		{`[{"jsonrpc":"2.0","id":9,"method":"ping","x":"\ud83d"},{"jsonrpc":"2.0","id":"ten","method":"ping"}]`, `9 "ten"`},
		{`not JSON`, `null`},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ``},
		{"\uFEFF" + `{"jsonrpc":"2.0","id":11,"method":"ping"}` + "\r", `11`},
		{long, `null`},
		{`{"jsonrpc":"2.0","id":12,"method":"ping"}`, `12`},
	}
	var in, want []string
	for _, l := range lines {
		in = append(in, l.line)
		want = append(want, strings.Fields(l.ids)...)
	}
	for _, path := range []string{"", "/", "/ai/mcp", "/ai/mcp/"} {
		var out, errs bytes.Buffer
		st := &stage{in: strings.NewReader(strings.Join(in, "\n")), out: &out, err: &errs, env: []string{"KEEPSAKE_KEY=" + p.Key}}
		if code := run([]string{"mcp", "--url", p.URL + path}, st); code != exitOK {
			t.Fatalf("exit code %d, %s", code, errs.String())
		}
		var got []string
		for response := range strings.Lines(out.String()) {
			var r struct {
				ID            json.RawMessage
				Result, Error json.RawMessage
			}
			if err := json.Unmarshal([]byte(response), &r); err != nil || (r.Result == nil) == (r.Error == nil) {
				t.Errorf("the response %.200s: %v", response, err)
			}
			got = append(got, string(r.ID))
		}
		if !cmp.Equal(got, want) {
			t.Error(path, cmp.Diff(want, got))
		}
	}
}

func TestBridgeAnswersRefusalsOfTheServer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ line, response, want string }{
		"Batch": {
			`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":"b","method":"ping"}]`, ``,
			"1\n\"b\"\n",
		},
		"WithoutAnID":            {`{"id":1,"method":"ping"`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`, "1\n"},
		"ResponseOfTheClient":    {`{"jsonrpc":"2.0","id":1,"result":{}}`, ``, ""},
		"Notification":           {`{"jsonrpc":"2.0","method":"notifications/cancelled"}`, ``, ""},
		"UnreadableNotification": {`{"jsonrpc":"2.0","method":"notifications/cancelled`, ``, "null\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			b := &bridge{out: &out, send: func(context.Context, []byte, map[string]string) ([]byte, error) {
				if tc.response == "" {
					return nil, &client.Error{Status: 429, Code: "rate_limit_exceeded", Message: "Try again in 7 seconds."}
				}
				return []byte(tc.response), nil
			}}
			if err := b.run(t.Context(), strings.NewReader(tc.line+"\n")); err != nil {
				t.Fatal(err)
			}
			var ids string
			for response := range strings.Lines(out.String()) {
				var r struct{ ID json.RawMessage }
				if err := json.Unmarshal([]byte(response), &r); err != nil {
					t.Fatal(err)
				}
				ids += string(r.ID) + "\n"
			}
			if ids != tc.want {
				t.Errorf("got the ids %q, want %q", ids, tc.want)
			}
		})
	}
}

// A desktop client that ends closes the pipe.
func TestBridgeEndsQuietlyWhenItsClientHasGone(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	b := &bridge{out: w, send: func(context.Context, []byte, map[string]string) ([]byte, error) {
		return []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`), nil
	}}
	if err := b.run(t.Context(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)); err != nil {
		t.Error(err)
	}
}

// agentsPage has an entry for the configuration of each client.
const agentsPage = "../../docs/agents.md"

// entry is how a client reaches the server: by a command, or by a URL and headers.
type entry struct {
	Command       string
	Args          []string
	Env           map[string]string
	URL           string
	Headers       map[string]string
	ServerURL     string `json:"server_url"`
	Authorization string
}

func TestConfigurationsOfClientsConnect(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	page, err := os.ReadFile(agentsPage)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(page), "https://keepsake.example.com", p.URL)
	text = regexp.MustCompile(`kpsk_…|\$\{(env:)?KEEPSAKE_KEY\}|\$\{input:keepsake-key\}`).ReplaceAllString(text, p.Key)
	seen := 0
	for _, block := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(text, -1) {
		var file struct {
			entry
			MCPServers map[string]entry `json:"mcpServers"`
			Servers    map[string]entry
		}
		if err := json.Unmarshal([]byte(block[1]), &file); err != nil {
			t.Errorf("%s: %v", block[1], err)
			continue
		}
		list := []entry{file.MCPServers["keepsake"], file.Servers["keepsake"], file.entry}
		for _, e := range list {
			if e.ServerURL != "" {
				e.URL, e.Headers = e.ServerURL, map[string]string{"Authorization": "Bearer " + e.Authorization}
			}
			if e.Command == "" && e.URL == "" {
				continue
			}
			seen++
			answer := e.ask(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			if strings.Count(answer, `"inputSchema"`) != 10 {
				t.Errorf("%s: the server answers %.300s", block[1], answer)
			}
		}
	}
	if seen != 5 {
		t.Errorf("%s has %d configurations, want 5", agentsPage, seen)
	}
}

// ask sends a message in the way of the entry and returns the response.
func (e *entry) ask(t *testing.T, message string) string {
	t.Helper()
	if e.Command != "" {
		var out, errs bytes.Buffer
		st := &stage{in: strings.NewReader(message + "\n"), out: &out, err: &errs}
		for name, value := range e.Env {
			st.env = append(st.env, name+"="+value)
		}
		if code := run(e.Args, st); code != exitOK || e.Command != "keepsake" {
			t.Errorf("%s %v: exit code %d, %s", e.Command, e.Args, code, errs.String())
		}
		return out.String()
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.URL, strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range e.Headers {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
