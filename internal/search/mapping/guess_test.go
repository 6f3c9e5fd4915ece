package mapping_test

import (
	"fmt"
	"strings"
	"testing"

	"keepsake/internal/base/wire"
	"keepsake/internal/search/mapping"
)

func rowsOf(t *testing.T, lines ...string) []wire.Row {
	t.Helper()
	list := make([]wire.Row, len(lines))
	for i, line := range lines {
		if err := wire.DecodeLine([]byte(line), &list[i]); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return list
}

func TestMappingsAreGuessed(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a long text ", 10)
	for name, c := range map[string]struct {
		lines []string
		fixed mapping.Mapping
		want  string // plain, or id title text tags url rest
	}{
		"documents":              {[]string{`{"id":"a","title":"x","metadata":{"k":1}}`, `{"text":"y","tags":["p"]}`}, mapping.Mapping{}, "plain"},
		"documents with more":    {[]string{`{"id":"a","title":"x","year":1}`}, mapping.Mapping{}, "id title    metadata"},
		"films":                  {[]string{`{"Title":"A","Plot":"p","Genres":["x"],"Year":1}`, `{"Title":300,"Plot":"q","Genres":[],"Year":2}`}, mapping.Mapping{}, " Title Plot Genres  metadata"},
		"products":               {[]string{`{"sku":1,"name":"A","description":"d","link":"https://a.b/1"}`, `{"sku":2,"name":"B","description":"e","link":"https://a.b/2"}`}, mapping.Mapping{}, "sku name description  link metadata"},
		"IDs that repeat":        {[]string{`{"id":1,"name":"A"}`, `{"id":1,"name":"B"}`}, mapping.Mapping{}, " name    metadata"},
		"IDs that cannot be any": {[]string{`{"id":"a b","name":"A"}`}, mapping.Mapping{}, " name    metadata"},
		"no URL":                 {[]string{`{"name":"A","url":"/a"}`}, mapping.Mapping{}, " name    metadata"},
		"nested":                 {[]string{`{"name":{"common":"A"},"info":{"description":"d"}}`}, mapping.Mapping{}, " name.common info.description   metadata"},
		"no name that is known":  {[]string{`{"n":1,"when":"2020-01-01","who":"Ada Lovelace","what":"` + long + `"}`}, mapping.Mapping{}, " who what   metadata"},
		"what is given stays":    {[]string{`{"title":"A","headline":"B","text":"x","z":1}`}, mapping.Mapping{Title: "headline", Rest: mapping.Drop}, " headline text   drop"},
		"a text in two":          {[]string{`{"name":"A","summary":"s","body":"b"}`}, mapping.Mapping{}, " name body,summary   metadata"},
		"nothing":                {[]string{`{"n":1}`}, mapping.Mapping{}, "     metadata"},
	} {
		m, plain := mapping.Guess(rowsOf(t, c.lines...), c.fixed)
		got := fmt.Sprintf("%s %s %s %s %s %s", m.ID, m.Title, strings.Join(m.Text, ","), m.Tags, m.URL, m.Rest)
		if plain {
			got = "plain"
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
