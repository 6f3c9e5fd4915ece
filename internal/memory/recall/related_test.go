package recall_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"keepsake/internal/base/text"
	"keepsake/internal/memory/recall"
)

// relatedLists are the languages that have a list of related words, by the name of the file.
var relatedLists = map[string]text.Language{
	"en": text.English, "de": text.German,
}

func TestRelatedWordsAreKnownInGerman(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ query, found, other string }{
		{"Hat sie einen Hund?", "Das ist ein Dackel und er ist sehr lieb", "Ce chien est dans la maison et il dort"},
		{"Was möchte er gern essen?", "Wir haben in der Stadt eine Suppe gegessen", "On a mangé dans le restaurant de la ville"},
		{"Was wurde gekauft?", "Sie wird sich morgen ein Regal kaufen", "Ze heeft gisteren een kast gekocht"},
		{"Was aß sie dort?", "Das essen wir hier auch sehr oft", "C'est ce que nous mangeons ici avec lui"},
		{"Welchen Beruf hat er?", "Er ist jetzt bei uns der Lehrer", "Il est le professeur de mon fils"},
	} {
		x := facts(c.found, c.other)
		hits := found(x, recall.Query{Text: c.query, Limit: 10, Now: now, Weights: &byRelated, Explain: true})
		if len(hits) != 1 || hits[0].ID != "m1" || hits[0].Why.Related == 0 {
			t.Errorf("%q finds %+v", c.query, hits)
		}
	}
}

// A list contains only words that count: each is one word, none is a stop word, and no line has one word alone.
func TestEveryLineOfTheListsOfRelatedWordsCounts(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("../../base/text/related/*.txt")
	if err != nil || len(names) != len(relatedLists) {
		t.Fatalf("%v, %v", names, err)
	}
	for name, l := range relatedLists {
		list, err := os.ReadFile("../../base/text/related/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(list)) {
			n++
			if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			for _, complaint := range complaints(l, line) {
				t.Errorf("%s.txt:%d: %s: %s", name, n, line, complaint)
			}
		}
	}
}

func complaints(l text.Language, line string) (list []string) {
	head, covered, isA := strings.Cut(line, ">")
	covered = strings.TrimPrefix(covered, ">")
	if len(strings.Fields(head)) == 0 || isA && len(strings.Fields(covered)) == 0 {
		list = append(list, "a side is empty")
	}
	terms := map[string]bool{}
	for w := range strings.FieldsSeq(head + " " + covered) {
		folded := text.Fold(w)
		spellings := 0
		text.Split(w, func(sp text.Spelling) bool {
			spellings++
			return sp.Word == w
		})
		switch {
		case spellings != 1 || folded == "":
			list = append(list, fmt.Sprintf("%q is not one word", w))
		case l != text.English && l.Stopword(folded):
			list = append(list, fmt.Sprintf("%q is a stop word", w))
		}
		terms[text.StemIn(l, folded)] = true
	}
	if len(terms) < 2 && l != text.English {
		list = append(list, "all words have one stem")
	}
	return list
}
