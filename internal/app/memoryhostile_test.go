package app_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"keepsake/internal/app/apptest"
)

// hostile are texts, and what of them a query has to find. An empty query: it cannot be found by words, and must not break
// anything.
var hostile = []struct{ name, text, query string }{
	{"Chinese", "她对花生过敏，每天早上喝绿茶。", "花生过敏"},
	{"Japanese", "彼女は毎朝コーヒーを飲みます。アレルギーはありません。", "コーヒー"},
	{"Japanese, another script", "東京へ行きたいと言っていた。", "東京"},
	{"Korean", "그녀는 매일 아침 녹차를 마신다.", "녹차를"},
	{"Arabic", "هي تعاني من حساسية الفول السوداني", "حساسية"},
	{"Arabic with marks", "تُحِبُّ القَهْوَةَ فِي الصَّبَاح", "القهوة"},
	{"Hindi", "उसे मूंगफली से एलर्जी है", "मूंगफली"},
	{"Thai", "เธอแพ้ถั่วลิสง", "แพ้ถั่วลิสง"},
	{"Hebrew, right to left, with marks of direction", "\u202bהיא אלרגית לבוטנים\u202c", "אלרגית"},
	{"Russian", "У неё аллергия на арахис", "аллергия"},
	{"Greek", "Έχει αλλεργία στα φιστίκια", "αλλεργια"},
	{"Vietnamese", "Cô ấy dị ứng với đậu phộng", "dị ứng"},
	{"decomposed letters", "Cafe\u0301 cre\u0300me at noon", "café"},
	{"emoji", "👩‍👩‍👧‍👦 party 🎉🎉🎉 at zipwick", "zipwick"},
	{"only emoji", "🦄", ""},
	{"controls", "bell\u0007 and\u0001 and\u001b[31m quovadis\u007f", "quovadis"},
	{"overrides and joiners", "zero\u200bwidth \u202egnp.exe\u202c frimble", "frimble"},
	{"line ends", "first\r\nsecond\u2028third\u0085snorkle", "snorkle"},
	{"only spaces inside", "a\u00a0b\u3000 wizzle", "wizzle"},
	{"only stop words", "the and of to in is", ""},
	{"64 KiB of one word", strings.Repeat("a", 65536), ""},
	{"64 KiB of words", strings.TrimSpace(strings.Repeat("gnomish ", 8192)), "gnomish"},
	{"64 KiB of marks", "e" + strings.Repeat("\u0301", 32767), ""},
	{"one letter", "x", ""},
	{"punctuation", "\"'`;--/*\\%_<script>&amp;{{}} krumpet", "krumpet"},
	{"JSON in JSON", `{"text":"\u0000","a":[1e999]} blorp`, "blorp"},
	{"numbers", "3.141592653589793 is 22/7, or 0x1F600", "22"},
	{"last of the planes", "\U0010fffd noncharacter \ufffe plimsoll", "plimsoll"},
	{"replacement", "\ufffd\ufffd yaffle", "yaffle"},
	{"capitals that grow", "İSTANBUL ẞ ŒUVRE ﬁddle", "fiddle"},
	{"mathematical letters", "𝓣𝓱𝓮 𝖖𝖚𝖎𝖈𝖐 grobnik", "grobnik"},
}

// Whatever a text is made of but U+0000, it is stored verbatim and found by its words; T21.
func TestHostileTextIsStoredVerbatimAndRecalled(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	n := &tenant{t: t, base: p.URL, key: p.Key}
	const subject = "person-1"
	ids := map[string]string{}
	for _, h := range hostile {
		status, id := n.remember(subject, h.text)
		if status != 201 {
			t.Fatalf("%s: %d", h.name, status)
		}
		ids[h.name] = id
	}
	n.refusesNUL(subject)
	all := n.memoriesOf(subject)
	for _, h := range hostile {
		one, _ := n.make("GET", "/api/v1/memories/"+ids[h.name], "")["text"].(string)
		if one != h.text || all[ids[h.name]] != h.text {
			t.Errorf("%s: stored %.80q, read %.80q and listed %.80q", h.name, h.text, one, all[ids[h.name]])
		}
		query := h.query
		if query == "" {
			query = strings.ToValidUTF8(h.text[:min(len(h.text), 1000)], "")
		}
		body, err := json.Marshal(map[string]any{"subjectId": subject, "query": query, "limit": 200})
		if err != nil {
			t.Fatal(err)
		}
		status, _, answer := n.send("POST", "/api/v1/memories/recall", string(body), false)
		if status != 200 {
			t.Errorf("%s: a recall answers %d %s", h.name, status, answer)
			continue
		}
		if h.query != "" && !strings.Contains(string(answer), ids[h.name]) {
			t.Errorf("%s: %q is not recalled by %q", h.name, h.text, h.query)
		}
	}
	// The same through a batch and an export.
	_, _, exported := n.send("GET", "/api/v1/memories/subjects/"+subject+"/export", "", false)
	lines := strings.Split(strings.TrimSpace(string(exported)), "\n")
	if len(lines) != len(hostile) {
		t.Errorf("%d lines are exported, want %d", len(lines), len(hostile))
	}
	for i, line := range lines {
		var m struct{ ID, Text string }
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.Text != all[m.ID] {
			t.Errorf("line %d: %.80q, %v", i, m.Text, err)
		}
	}
	if status, _, answer := n.send("POST", "/api/v1/memories/context", `{"subjectId":"`+subject+`","maxCharacters":100000}`, false); status != 200 {
		t.Errorf("a context of all that: %d %.200s", status, answer)
	}
}

// refusesNUL checks that a text with U+0000 is not stored.
func (n *tenant) refusesNUL(subject string) {
	n.t.Helper()
	for _, text := range []string{`\u0000`, `nul\u0000 and more`, `at the end\u0000`} {
		status, _, answer := n.send("POST", "/api/v1/memories", `{"subjectId":"`+subject+`","text":"`+text+`"}`, false)
		if status != 400 || !strings.Contains(string(answer), `"issue":"format"`) {
			n.t.Errorf("a text %s is answered with %d %s, want 400 format", text, status, answer)
		}
	}
}

// randomText is made of pieces that are hard in one way or another.
func randomText(r *rand.Rand) string {
	pieces := []string{
		"花生", "زهرة", "कमल", "がく", "🦀", "👨‍👩‍👧", "\u202e", "\u0301", "\u200d", "'", `"`, "\\", "\n", "\r", "\t", " ", "\u2028",
		"ẞ", "ﬀ", "İ", "a", "B", "7", "-", "_", "%", "<", "&", "\ufeff", "\U0010ffff", "word", "Word", "e\u0301",
	}
	var text strings.Builder
	for range 1 + r.IntN(60) {
		if r.IntN(4) == 0 {
			c := rune(1 + r.IntN(0x10ffff)) // U+0000 is refused
			if c >= 0xd800 && c < 0xe000 {
				c = 'x'
			}
			text.WriteRune(c)
			continue
		}
		text.WriteString(pieces[r.IntN(len(pieces))])
	}
	return text.String() + "x"
}

// A text of any characters but U+0000 comes back as it was, from every door, and a word put into it finds it.
func TestRandomTextIsStoredVerbatimAndRecalled(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	n := &tenant{t: t, base: p.URL, key: p.Key}
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 7))
	const texts, subject = 150, "person-1"
	var items []map[string]any
	words := make([]string, texts)
	for i := range texts {
		words[i] = fmt.Sprintf("zq%dk", 1000+i)
		items = append(items, map[string]any{
			"subjectId": subject, "text": randomText(r) + " " + words[i] + " " + randomText(r), "allowDuplicate": true,
			"speaker": strings.Map(printable, randomText(r)) + "s", "source": "s",
		})
	}
	// An item with U+0000 fails alone.
	items = append(items, map[string]any{"subjectId": subject, "text": randomText(r) + "\x00" + randomText(r)})
	body, err := json.Marshal(map[string]any{"items": items})
	if err != nil {
		t.Fatal(err)
	}
	results := n.make("POST", "/api/v1/memories/batch", string(body))["results"].([]any)
	all := n.memoriesOf(subject)
	if failed := fmt.Sprint(results[texts]); !strings.Contains(failed, "issue:format") || !strings.Contains(failed, "status:400") {
		t.Errorf("seed %d: a text with U+0000 is answered with %s, want 400 format", seed, failed)
	}
	for i, result := range results[:texts] {
		m, ok := result.(map[string]any)["memory"].(map[string]any)
		if !ok {
			t.Errorf("seed %d: %q: %v", seed, items[i]["text"], result)
			continue
		}
		if m["text"] != items[i]["text"] || all[m["id"].(string)] != items[i]["text"] {
			t.Errorf("seed %d: %q is stored as %q and listed as %q", seed, items[i]["text"], m["text"], all[m["id"].(string)])
		}
		if m["speaker"] != items[i]["speaker"] {
			t.Errorf("seed %d: the speaker %q is stored as %q", seed, items[i]["speaker"], m["speaker"])
		}
		found := n.make("POST", "/api/v1/memories/recall", `{"subjectId":"`+subject+`","query":"`+words[i]+`","limit":5}`)["results"].([]any)
		if len(found) == 0 || found[0].(map[string]any)["memory"].(map[string]any)["id"] != m["id"] {
			t.Errorf("seed %d: %q is not what %s recalls first", seed, items[i]["text"], words[i])
		}
	}
	n.make("DELETE", "/api/v1/memories/subjects/"+url.PathEscape(subject), "")
}

// printable leaves out what a name of a speaker may not hold.
func printable(r rune) rune {
	if r < 0x20 || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
		return -1
	}
	return r
}
