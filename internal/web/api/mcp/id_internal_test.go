package mcp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func idTexts(text string) (list []string) {
	for _, id := range FindIDs([]byte(text)) {
		list = append(list, string(id))
	}
	return list
}

func TestIDsAreFoundInBrokenTexts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		``:         nil,
		`not JSON`: nil,
		`{"jsonrpc":"2.0","id":null,"method":"x"}`:                                                 {},
		`{"jsonrpc":"2.0","method":"x","params":{"id":7}}`:                                         {"7"}, // better than nothing
		`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"arguments":{"id":"mem_1"}}}`:   {`"a"`},
		`{"method":"tools/call","params":{"arguments":{"id":"mem_1"}},"id":4}`:                     {"4"},
		`{"method":"tools/call","params":{"arguments":{"text":"cut \ud83d"}},"id":4}`:              {"4"},
		"{\"params\":{\"text\":\"bad \xff\"},\"id\":\"b\"}":                                        {`"b"`},
		`{"id":1,"id":2,"method":"ping"}`:                                                          {"1"},
		`{"id":1,"method":`:                                                                        {"1"},
		`{"id":-12`:                                                                                {"-12"},
		`{"id":1.5,"method":"ping"}`:                                                               {"1.5"},
		`{"method":"ping" "id" : "x y"}`:                                                           {`"x y"`},
		`{method:"ping",id:5}`:                                                                     {"5"},
		`{"params":{"text":"a " quote"},"id":5}`:                                                   {"5"},
		`{"params":{"arguments":{"id":"mem_1","text":"one brace is missing"},"id":5}`:              {"5"},
		`{"params":{}}},"id":5}`:                                                                   {"5"},
		`[{"id":1,"method":"ping"},{"method":"note"},{"id":"b","params":{"id":3}},7]`:              {"1", `"b"`},
		`{"id":1}{"id":2}`:                                                                         {"1", "2"},
		`Content-Length: 9 {"id":"\u0041"}`:                                                        {`"A"`},
		`{"\u0069d":6}`:                                                                            {"6"},
		`{"id":"half \ud83d"}`:                                                                     {`"half ` + "\uFFFD" + `"`},
		`{"id":` + strings.Repeat("9", 5000) + `}`:                                                 nil,
		`{"params":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `,"id":"deep"}`:       {`"deep"`},
		`{"params":` + strings.Repeat(`{"id":0,"a":`, 100) + strings.Repeat("}", 100) + `,"id":8}`: {"8"},
	} {
		if got := idTexts(text); !slices.Equal(got, want) {
			t.Errorf("%.100s: got %q, want %q", text, got, want)
		}
	}
}

// A message whose strings hold anything is answered under its id, wherever that stands, and in whatever parts it arrives.
func TestIDIsFoundInAnyMessage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(rapid.Just(`0`), rapid.Just(`-7`), rapid.Just(`"a-1"`), rapid.Just(`"\"id\":3"`)).Draw(t, "id")
		inner, err := json.Marshal(rapid.String().Draw(t, "text"))
		if err != nil {
			t.Fatal(err)
		}
		broken := rapid.SampledFrom([]string{``, `\ud83d`, "\xff\xfe", `\uZZZZ`, "\t"}).Draw(t, "broken")
		text := `{"text":` + strings.TrimSuffix(string(inner), `"`) + broken + `","id":"mem_1","a":[{"id":9},1e999,nul]}`
		members := []string{`"jsonrpc":"2.0"`, `"id":` + id, `"method":"tools/call"`, `"params":` + text}
		message := "{" + strings.Join(rapid.Permutation(members).Draw(t, "order"), ",") + "}"
		want, _ := stringOf([]byte(id))
		var s IDScanner
		for rest := message; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "part")
			s.Scan([]byte(rest[:n]))
			rest = rest[n:]
		}
		for _, ids := range [][]string{idTexts(message), {string(s.IDs()[0])}} {
			if got, _ := stringOf([]byte(ids[0])); len(ids) != 1 || got != want || want == "" && ids[0] != id {
				t.Fatalf("%s: got %q, want %s", message, ids, id)
			}
		}
	})
}

func FuzzFindIDs(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"params":{"text":"\ud83d"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, id := range FindIDs(text) {
			if !id.IsValid() || id.Kind() != '"' && id.Kind() != '0' {
				t.Errorf("%q: got the id %q", text, id)
			}
		}
	})
}

func TestErrorsAreUnderTheIDOfTheirMessage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		`{"jsonrpc":"2.0","id":"a","method":"ping","params":{"x":"\ud83d"}}`:                                                "a",
		"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\",\"params\":{\"x\":\"\xff\"}}":                                    3.0,
		`{"jsonrpc":"2.0","id":3,"method":"ping","params":{"x":1,"x":2}}`:                                                   3.0,
		`{"jsonrpc":"2.0","id":3,"method":"ping","params":` + strings.Repeat("[", 40) + "1" + strings.Repeat("]", 40) + `}`: 3.0,
		`{"jsonrpc":"2.0","id":3,"method":"ping"`:                                                                           3.0,
		`{"jsonrpc":"2.0","id":2.5,"method":"ping"}`:                                                                        2.5,
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`:                                                                       nil,
		`[{"jsonrpc":"2.0","id":3,"method":"ping"},]`:                                                                       3.0,
		`[{"jsonrpc":"2.0","id":3,"x":"\ud83d"},{"id":4}]`:                                                                  nil,
	} {
		status, body, err := post(t, agentKey, &caller{}, handleMessage{Raw: []byte(text)})
		if err != nil || status != 400 || errorCodeOf(body) == 0 || body["id"] != want {
			t.Errorf("%.80s: got %d %v, %v, want the id %v", text, status, body, err, want)
		}
	}
}
