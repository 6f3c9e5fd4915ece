package search_test

import (
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"keepsake/internal/search"
	"keepsake/internal/search/document"
)

// foreignTexts are a text of each language and queries with other forms of its words, or its words without accents.
var foreignTexts = map[string]struct {
	text    string
	queries []string
}{
	"ar": {"وصل المهندسون إلى المدرسة في الصباح وكان معهم الكتاب الذي طلبه المعلم من قبل", []string{"مهندس", "مدرسة", "كتاب"}},
	"da": {"Regningerne for bilen er ikke betalt, og nøglen ligger hos os.", []string{"regning", "biler", "nøgler"}},
	"de": {"Die Häuser in der Straße haben eine alte Heizung, und die Rechnungen sind hoch.", []string{"Haus", "Heizungen", "Rechnung", "hauser"}},
	"es": {"Las habitaciones de los niños están en la casa de la ciudad y no tienen calefacción.", []string{"habitación", "niño", "ciudades", "habitacion"}},
	"fi": {"Kissat ovat talossa ja kirja on pöydällä, mutta lasku ei ole maksettu.", []string{"kissan", "talot", "kirjat"}},
	"fr": {"Les chevaux sont dans le pré et la première livraison des médicaments est à l'hôpital.", []string{"cheval", "premier", "médicament", "hopitaux hôpital"}},
	"ga": {"Tá an leabhar ar an mbord agus tá an fhuinneog dúnta ag na páistí.", []string{"bord", "fuinneog"}},
	"hu": {"A könyvek az autóban vannak, és a házak ablaka nem volt nyitva.", []string{"könyv", "autó", "ház"}},
	"it": {"Le stazioni della città non hanno una biglietteria e i gatti dormono nell'aula.", []string{"stazione", "gatto", "aula"}},
	"nl": {"De huizen in de straat hebben geen kachel en de brieven zijn niet bezorgd.", []string{"huis", "brief", "straten"}},
	"no": {"Regningene for bilen er ikke betalt, og vi har møtene hos oss i kveld.", []string{"regning", "biler", "møte"}},
	"pt": {"As situações dos animais não são boas e os corações das pessoas estão com eles.", []string{"situação", "animal", "coração", "situacao"}},
	"ro": {"Informațiile despre facturi nu sunt în cărțile pe care le are studentul.", []string{"informație", "factură", "studenți"}},
	"ru": {"Новый врач пришёл к нам, и мы отдали ему книги, но история не кончилась.", []string{"новая", "врача", "книга", "истории"}},
	"sv": {"Katterna sover i sängen och räkningarna är inte betalda av flickorna.", []string{"katt", "räkning", "flicka"}},
	"tr": {"Kitapları ve evleri için çok para ödedi ama kızlar bu faturalar ile ne yapacak?", []string{"kitap", "ev", "kız"}},
}

// Inflected words of each language are found, if their documents are alone in a workspace and if all are in one.
func TestInflectedWordsOfEveryLanguageAreFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	names := slices.Sorted(maps.Keys(foreignTexts))
	if len(names) != 16 {
		t.Fatalf("there are texts of %d languages but English", len(names))
	}
	for _, name := range names {
		b.put(name, document.Fields{Collection: name, Text: foreignTexts[name].text})
		if _, _, err := b.documents.Put(t.Context(), "wsp_"+name, name, document.Fields{Text: foreignTexts[name].text}, document.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	b.put("en", document.Fields{Collection: "en", Text: "The cats are in the houses, and the boilers of the streets were repaired."})
	for _, name := range names {
		for _, q := range foreignTexts[name].queries {
			for _, c := range []struct{ workspaceID, collection string }{{"wsp_" + name, ""}, {workspace, ""}, {workspace, name}} {
				answer, err := b.search.Search(t.Context(), c.workspaceID, search.Request{Query: q, Collection: c.collection, Highlight: true})
				if err != nil {
					t.Fatal(err)
				}
				at := slices.Index(idsOf(answer), name)
				if at < 0 || len(answer.Results[at].Highlights) == 0 {
					t.Errorf("%s %q in %+v: found %v", name, q, c, idsOf(answer))
				}
			}
		}
	}
	for _, q := range []string{"cat", "boiler", "house", "repairs"} {
		if got := b.ids(q); !slices.Contains(got, "en") {
			t.Errorf("%q finds %v", q, got)
		}
	}
}

func TestQueriesInSeveralLanguagesFindWhatTheySay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.text(
		"de", "Die Häuser in der Straße haben eine alte Heizung, und die Rechnungen sind hoch.",
		"de2", "Das Haus hat keine Heizung, aber einen Ofen, und der Ofen ist aus Stein.",
		"fr", "Les maisons de la rue ont une vieille chaudière, et les factures sont élevées.",
		"en", "The houses in the street have old boilers, and the bills are high. They die cast iron in the yard.",
		"code", "E-42 北京 3.14 🎉",
	)
	for _, c := range []struct {
		name  string
		query string
		want  []string
	}{
		{"InflectionOfOneLanguage", "Heizungen", []string{"de", "de2"}},
		{"StemsOfOtherLanguagesDoNotMatch", "houser", []string{}}, // has the French stem of houses
		{"WordsOfTwoLanguages", "chaudières boiler", []string{"fr", "en"}},
		{"Phrase", `"alten heizungen"`, []string{"de"}},
		{"PhraseOfOneWord", `"rechnung" haus`, []string{"de"}},
		{"PhraseInTwoLanguages", `"et les facture"`, []string{"fr"}},
		{"PhraseOfWordsOfTwoLanguages", `"heizung boilers"`, []string{}},
		{"Excluded", "häuser -öfen -boiler", []string{"de"}},
		{"ExcludedPhrase", `haus -"alten heizungen"`, []string{"de2"}},
		{"StopWordOfTheLanguage", "die casts", []string{"en", "de"}},
		{"WithoutInflection", "42", []string{"code"}},
		{"Pair", "北京", []string{"code"}},
		{"Pictograph", "🎉 3.14", []string{"code"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := b.ids(c.query); !slices.Equal(got, c.want) {
				t.Errorf("%s finds %v, want %v", c.query, got, c.want)
			}
		})
	}
	for _, c := range []struct{ typed, want, suggestion string }{
		{"heizumg", "de de2", "heizung"},
		{"rechnugnen", "de", "rechnungen"},
		{"factuers", "fr", "factures"},
		{"boilres", "en", "boilers"},
		{"sein", "", ""}, // a stop word that no document has; Stein is no repair
	} {
		answer := b.find(search.Request{Query: c.typed, Repair: true})
		if got := strings.Join(idsOf(answer), " "); got != c.want || answer.Suggestion != c.suggestion {
			t.Errorf("%s finds %q and suggests %q, want %q and %q", c.typed, got, answer.Suggestion, c.want, c.suggestion)
		}
	}
	answer := b.find(search.Request{Query: "rech", Prefix: search.PrefixTrue, Highlight: true})
	if got := idsOf(answer); !slices.Equal(got, []string{"de"}) || len(answer.Results[0].Highlights) != 1 {
		t.Errorf("a beginning finds %v", got)
	}
}

// The stop words of a question in another language do not decide which document is first.
func TestStopWordsOfOtherLanguagesHardlyCount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.text("few", "Wo ist der Ofen, und was ist mit der Katze, die in der Küche war?", "many", "Der Ofen ist nicht da.", "none", "Die Heizung ist mit dem Keller und der Küche nicht verbunden.")
	for range 3 {
		if got := b.ids("Wo ist die Katze in der Küche"); len(got) < 3 || !slices.Equal(got[:3], []string{"few", "none", "many"}) {
			t.Errorf("found %v", got)
		}
		b.text("en", "The cat is in the kitchen, and the boiler is not.") // English documents change nothing in that
	}
}

// What other collections contain does not show in the scores of a collection.
func TestLanguagesOfOtherCollectionsDoNotShow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.put("a", document.Fields{Collection: "a", Text: "The houses and the boilers of the street, and the cat"})
	b.put("b", document.Fields{Collection: "a", Text: "A boiler and a die in the street"})
	requests := []search.Request{
		{Query: "die boilers street of the und der", Collection: "a"},
		{Query: "der die das boilres", Collection: "a", Repair: true},
		{Query: `"the boilers" cat`, Collection: "a"},
	}
	var before []string
	for _, r := range requests {
		before = append(before, resultsOf(b.find(r)))
	}
	for name, of := range foreignTexts {
		b.put(name, document.Fields{Collection: "b", Text: of.text})
	}
	for i, r := range requests {
		if got := resultsOf(b.find(r)); got != before[i] {
			t.Errorf("%s: %s, before %s", r.Query, got, before[i])
		}
	}
}

// resultsOf writes down the IDs and scores of an answer.
func resultsOf(a *search.Answer) string {
	var out strings.Builder
	for _, r := range a.Results {
		fmt.Fprint(&out, r.Document.ID, " ", r.Score, "; ")
	}
	return out.String() + a.Suggestion
}

// The first document of a new language between two pages moves no other.
func TestPagesStayWhileLanguagesAreAdded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.many(30, func(i int) string {
		return "the stone and the war " + strings.Repeat("sand ", i%4) + strings.Repeat("die ", i%3)
	})
	ids := b.pages(search.Request{Query: "die stone war und der", Limit: 4}, func(page int) {
		if page == 0 {
			b.text("de", "Der Stein und der Sand sind nicht mehr da, die stone war nicht hier.")
		}
		b.text(fmt.Sprint("de", page), "und der Sand ist nicht mehr da")
	})
	seen := map[string]int{}
	for _, id := range ids {
		seen[id]++
	}
	for i := range 30 {
		if id := fmt.Sprintf("d%05d", i); seen[id] != 1 {
			t.Errorf("%s was seen %d times", id, seen[id])
		}
	}
}

// Changing the language of a document, or deleting the last one of a language, leaves no trace.
func TestTheLanguageOfADocumentCanChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.text("a", "Die Katzen sind in der Küche.")
	if got := b.ids("Katze"); !slices.Equal(got, []string{"a"}) {
		t.Fatalf("found %v", got)
	}
	b.text("a", "The cats are in the kitchen.")
	if got := append(b.ids("Katze"), b.ids("cat")...); !slices.Equal(got, []string{"a"}) {
		t.Errorf("found %v", got)
	}
}

// An index of an earlier layout is removed and filled from the documents.
func TestIndexOfAnEarlierLayoutIsRebuilt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := open(t, dir, withFiles)
	first.many(20, func(int) string { return "Die Katzen sind in der Küche." })
	first.find(search.Request{Query: "Katze"})
	first.stop()
	manifest := filepath.Join(first.dir, workspace, "manifest")
	before, err := os.ReadFile(manifest)
	must(t, err)
	old := strings.Replace(string(before), `"layout":10`, `"layout":4`, 1)
	if old == string(before) {
		t.Fatalf("the manifest has another layout: %s", before)
	}
	body, _, _ := strings.Cut(old, "\n")
	must(t, os.WriteFile(manifest, fmt.Appendf(nil, "%s\n%08x\n", body, crc32.Checksum([]byte(body), crc32.MakeTable(crc32.Castagnoli))), 0o600))
	second := open(t, dir, withFiles)
	if got := second.find(search.Request{Query: "Katze"}).Total; got != 20 {
		t.Errorf("found %d, want 20", got)
	}
	second.stop()
	if after, err := os.ReadFile(manifest); err != nil || !strings.Contains(string(after), `"layout":10`) {
		t.Errorf("the manifest is %s, %v", after, err)
	}
}
