package search_test

import (
	"slices"
	"testing"

	"keepsake/internal/search"
)

// Marks distinguish words in Vietnamese documents, unless the query has none. In other languages they do not.
func TestMarksDistinguishVietnameseWords(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.text(
		"melon", "Tôi thích ăn dưa hấu vào mùa hè, và mẹ tôi cũng mua dưa ở chợ.",
		"coconut", "Cây dừa mọc ở bờ biển, quả dừa rất ngọt và có nhiều nước.",
		"bare", "Hai con meo dua nhau chạy ở ngoài vườn, rồi cùng ngủ trên ghế.",
		"german", "Die Häuser in der Straße haben eine alte Heizung, und die Rechnungen sind hoch.",
		"without", "Die Hauser in der Strasse haben eine alte Heizung, und die Rechnungen sind hoch.",
		"english", "A dua is a prayer. The word comes from the Arabic language.",
	)
	for _, c := range []struct {
		query string
		want  []string
	}{
		{"dừa", []string{"coconut", "english"}},
		{"DỪA", []string{"coconut", "english"}},
		{"dưa", []string{"english", "melon"}},
		{"dừa dưa", []string{"coconut", "english", "melon"}},
		{"dua", []string{"bare", "coconut", "english", "melon"}},
		{`"quả dừa"`, []string{"coconut"}},
		{`"quả dưa"`, nil},
		{`"qua dua"`, []string{"coconut"}},
		{`"dưa hấu"`, []string{"melon"}},
		{"nước -dừa", nil},
		{"chợ -dừa", []string{"melon"}},
		{"ngọt -dưa", []string{"coconut"}},
		{"Häuser", []string{"german", "without"}},
		{"Hauser", []string{"german", "without"}},
	} {
		got := b.ids(c.query)
		if slices.Sort(got); !slices.Equal(got, c.want) && len(got)+len(c.want) > 0 {
			t.Errorf("%s finds %v, want %v", c.query, got, c.want)
		}
	}
	for typed, want := range map[string][]string{"dừ": {"coconut", "english"}, "dư": {"english", "melon"}, "du": {"bare", "coconut", "english", "melon"}} {
		got := idsOf(b.find(search.Request{Query: typed, Prefix: search.PrefixTrue}))
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s… finds %v, want %v", typed, got, want)
		}
	}
	for query, want := range map[string]string{"dừa": "coconut", "dưa": "melon"} {
		for _, r := range b.find(search.Request{Query: query, Highlight: true}).Results {
			if r.Document.ID == want && len(r.Highlights) == 0 || r.Document.ID != want && r.Document.ID != "english" {
				t.Errorf("%s: %s has the highlights %v", query, r.Document.ID, r.Highlights)
			}
		}
	}
}
