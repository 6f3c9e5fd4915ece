package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"keepsake/internal/base/wire"
)

// anyItem draws a memory or document with members of any length.
func anyItem(t *rapid.T, n int) map[string]any {
	text := func(name string, most int) string {
		part := rapid.SampledFrom([]string{"a", "tea ", `"`, `\`, "\u0001", "é", "😀", "👩‍👩‍👧", "\n"}).Draw(t, name)
		return strings.Repeat(part, rapid.IntRange(1, most).Draw(t, name+"Length"))
	}
	item := map[string]any{
		"id": fmt.Sprintf("mem_%026d", n), "subjectId": "ada", "kind": "fact", "text": text("text", 3000), "createdAt": "2026-01-01T00:00:00Z", "revision": 1,
		"status": "active", "source": text("source", 500), "occurredAt": nil, "tags": []string{"a"}, "metadata": map[string]any{},
	}
	if rapid.Bool().Draw(t, "big") {
		item["metadata"] = map[string]any{"a": text("metadata", 1024), "b": text("metadata", 1024)}
		item["tags"] = []string{text("tag", 64), text("tag", 64)}
	}
	return item
}

func TestNoResultIsLongerThanClientsTake(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var items []any
		for i := range rapid.SampledFrom([]int{1, 2, 10, 100, 200}).Draw(t, "items") {
			if i < 10 { // drawing more takes long
				items = append(items, anyItem(t, i))
			} else {
				items = append(items, items[i%10])
			}
		}
		s := rapid.SampledFrom([]*shortened{{list: "items", reader: "get_memory"}, {list: "items", pages: true, reader: "get_memory"}}).Draw(t, "tool")
		result, err := wire.Encode(map[string]any{"items": items, "nextCursor": strings.Repeat("c", 300)})
		if err != nil {
			t.Fatal(err)
		}
		short, shown, err := s.apply(result)
		if err != nil {
			t.Fatal(err)
		}
		if s.pages && shown > 0 { // the tool asks for a shorter page
			result, err = wire.Encode(map[string]any{"items": items[:shown], "nextCursor": strings.Repeat("c", 300)})
			if err != nil {
				t.Fatal(err)
			}
			if short, shown, err = s.apply(result); shown != 0 || err != nil {
				t.Fatalf("of a page that has room, %d items were taken: %v", shown, err)
			}
			items = items[:itemsOf(t, short)]
		}
		checkShort(t, short, items)
	})
}

func TestMemoriesInsideItemsAreShortened(t *testing.T) {
	t.Parallel()
	s := &shortened{list: "results", item: "memory", reader: "get_memory"}
	result, err := wire.Encode(map[string]any{"tookMs": 1, "results": []any{
		map[string]any{"score": 0.5, "memory": map[string]any{"id": "mem_1", "text": strings.Repeat("tea ", 500)}},
		map[string]any{"score": 0.4, "memory": map[string]any{"id": "mem_2", "text": "tea"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := s.apply(result)
	want := `{"note":"Items with cut are shortened; get_memory returns a whole one.","results":[{"memory":{"cut":["text"],"id":"mem_1","text":"` +
		strings.TrimSpace(strings.Repeat("tea ", 240)) + `… [cut: 959 of 2000 characters]"},"score":0.5},{"memory":{"id":"mem_2","text":"tea"},"score":0.4}],"tookMs":1}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func itemsOf(t *rapid.T, short wire.Value) int {
	var out struct{ Items []json.RawMessage }
	if err := json.Unmarshal(short, &out); err != nil {
		t.Fatal(err)
	}
	return len(out.Items)
}

func checkShort(t *rapid.T, short wire.Value, items []any) {
	response, err := wire.Encode(respond(wire.Value(`"id"`), &called{Content: []content{{"text", string(short)}}, Structured: short}, nil))
	if err != nil {
		t.Fatal(err)
	}
	if n := utf8.RuneCount(response); n > 40_000 {
		t.Fatalf("the response has %d characters", n)
	}
	var out struct {
		Items []struct {
			ID, Text string
			Cut      []string
		}
		Omitted []string
		Note    string
	}
	if err := json.Unmarshal(short, &out); err != nil {
		t.Fatal(err)
	}
	if len(out.Items) == 0 || len(out.Items)+len(out.Omitted) != len(items) {
		t.Fatalf("%d items and %d omitted, want %d", len(out.Items), len(out.Omitted), len(items))
	}
	cuts := 0
	for i, item := range out.Items {
		whole := items[i].(map[string]any)["text"].(string)
		cut := slices.Contains(item.Cut, "text")
		if length := utf8.RuneCountInString(item.Text); length > maxText || !cut && item.Text != whole {
			t.Fatalf("the text %q has %d characters and the marks %q", item.Text, length, item.Cut)
		}
		begin, mark, _ := strings.Cut(item.Text, "… [cut: ")
		if cut && (!strings.HasPrefix(strings.TrimSpace(whole), begin) || !strings.HasSuffix(mark, " characters]")) {
			t.Fatalf("a cut text is %q", item.Text)
		}
		if item.Cut != nil {
			cuts++
		}
	}
	if (cuts > 0 || out.Omitted != nil) != (out.Note != "") {
		t.Fatalf("%d cut, %d omitted, and the note %q", cuts, len(out.Omitted), out.Note)
	}
}
