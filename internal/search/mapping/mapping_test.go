package mapping_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/search/document"
	"keepsake/internal/search/mapping"
)

// mapped maps a line of JSON. The result is the document as JSON with the issues, or the field and the issue of the refusal.
func mapped(t *testing.T, m mapping.Mapping, line string) string {
	t.Helper()
	var row wire.Row
	if err := wire.DecodeLine([]byte(line), &row); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	d, err := m.Document(&row, false)
	return shown(t, d, err)
}

func shown(t *testing.T, d mapping.Document, err error) string {
	t.Helper()
	if p, ok := problem.As(err); ok {
		return "! " + p.Details.Field + " " + string(p.Details.Issue)
	}
	if err != nil {
		t.Fatal(err)
	}
	out := fmt.Sprintf("%s %s|%s|%s|%s|%s|", d.ID, d.Fields.Collection, d.Fields.Title, d.Fields.Text, d.Fields.URL, strings.Join(d.Fields.Tags, ","))
	text, err := json.Marshal(d.Fields.Metadata)
	if err != nil {
		t.Fatal(err)
	}
	out += string(text)
	for _, issue := range d.Issues {
		out += fmt.Sprint(" ", issue.Field, " ", issue.Issue, " ", issue.Count)
	}
	return strings.ReplaceAll(out, "\n", "/")
}

func TestRowsBecomeDocuments(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 1_025)
	for name, c := range map[string]struct {
		m    mapping.Mapping
		line string
		want string
	}{
		"own names":             {mapping.Mapping{}, `{"id":"a","title":"T","text":"x","tags":["p"],"url":"u","collection":"c","metadata":{"k":[1,"y"]}}`, `a c|T|x|u|p|{"k":[1,"y"]}`},
		"other names":           {mapping.Mapping{ID: "sku", Title: "name", Text: []string{"about", "more"}, Tags: "kinds", URL: "link", Collection: "shop"}, `{"sku":12,"name":"N","about":"a","more":"b","kinds":"p|q","link":"l","shop":"s"}`, `12 s|N|a//b|l|p,q|null`},
		"a number as an ID":     {mapping.Mapping{Title: "t"}, `{"id":7.0,"t":"x"}`, `7 |x||||null`},
		"a fraction as an ID":   {mapping.Mapping{Title: "t"}, `{"id":7.5,"t":"x"}`, `! id type`},
		"scalars as texts":      {mapping.Mapping{Title: "n", Text: []string{"l"}}, `{"n":300,"l":["a",1,null,true]}`, ` |300|a/1/true|||null`},
		"objects as texts":      {mapping.Mapping{Title: "n"}, `{"n":{"en":"x"}}`, `! title type`},
		"a value in an object":  {mapping.Mapping{Title: "n.en", Rest: mapping.Metadata}, `{"n":{"en":"x","de":"y"}}`, ` |x||||{"n.de":"y"}`},
		"a missing name":        {mapping.Mapping{Title: "n", Text: []string{"a", "b"}}, `{"n":null,"a":"x"}`, ` ||x|||null text unknown 1`},
		"an unknown field":      {mapping.Mapping{Title: "n"}, `{"n":"x","year":1}`, `! year unknown`},
		"a title beside title":  {mapping.Mapping{Title: "n"}, `{"n":"x","title":"y"}`, `! title unknown`},
		"left out":              {mapping.Mapping{Title: "n", Rest: mapping.Drop}, `{"n":"x","year":1,"metadata":{"k":1}}`, ` |x||||{"k":1}`},
		"nothing but null":      {mapping.Mapping{Title: "n"}, `{"n":"x","year":null}`, ` |x||||null`},
		"nested":                {mapping.Mapping{Title: "n", Rest: mapping.Metadata}, `{"n":"x","a":{"b":{"c":1},"d":true},"e":[],"f":{}}`, ` |x||||{"a.b.c":1,"a.d":true,"e":[]}`},
		"objects in an array":   {mapping.Mapping{Title: "n", Rest: mapping.Metadata}, `{"n":"x","a":[ {"b": 1}, [2] ]}`, ` |x||||{"a":"[{\"b\":1},[2]]"}`},
		"null in an array":      {mapping.Mapping{Title: "n", Rest: mapping.Metadata}, `{"n":"x","a":[null,1]}`, ` |x||||{"a":[1]}`},
		"own nested metadata":   {mapping.Mapping{Title: "n"}, `{"n":"x","metadata":{"a":{"b":1}}}`, ` |x||||{"a.b":1}`},
		"own list of objects":   {mapping.Mapping{Title: "n"}, `{"n":"x","metadata":{"a":[{}]}}`, `! metadata.a type`},
		"an inexact number":     {mapping.Mapping{Title: "n", Rest: mapping.Metadata}, `{"n":"x","a":9007199254740993}`, `! metadata.a invalid`},
		"the same name twice":   {mapping.Mapping{Title: "n", Rest: mapping.Metadata}, `{"n":"x","a":{"b":1},"a.b":2}`, `! metadata.a.b duplicate`},
		"long texts":            {mapping.Mapping{Title: "n", Rest: mapping.Metadata}, `{"n":"x","a":"` + long + `","b":["` + long + `"]}`, ` |x||||{"a":"` + long[2:] + `","b":["` + long[2:] + `"]} metadata.a too_long 1 metadata.b too_long 1`},
		"a text used twice":     {mapping.Mapping{Title: "n", Text: []string{"n", "a"}}, `{"n":"x","a":"y"}`, ` |x|x//y|||null`},
		"tags of another type":  {mapping.Mapping{Title: "n", Tags: "t"}, `{"n":"x","t":true}`, `! tags type`},
		"a language":            {mapping.Mapping{Title: "n", Rest: mapping.Metadata}, `{"n":"x","language":"de"}`, ` |x||||null`},
		"a language's name":     {mapping.Mapping{Title: "n", Rest: mapping.Metadata}, `{"n":"x","language":"German"}`, ` |x||||{"language":"German"}`},
		"metadata that is none": {mapping.Mapping{Title: "n", Rest: mapping.Metadata}, `{"n":"x","metadata":"y"}`, ` |x||||{"metadata":"y"}`},
	} {
		if c.m.Rest == "" {
			c.m.Rest = mapping.Refuse
		}
		if got := mapped(t, c.m, c.line); got != c.want {
			t.Errorf("%s:\ngot  %.200s\nwant %.200s", name, got, c.want)
		}
	}
}

func TestWhatDoesNotFitIsCounted(t *testing.T) {
	t.Parallel()
	members := []string{`"n":"x"`}
	for i := range 40 {
		members = append(members, fmt.Sprintf(`"k%d":%d`, i, i))
	}
	m := mapping.Mapping{Title: "n", Rest: mapping.Metadata}
	got := mapped(t, m, "{"+strings.Join(members, ",")+"}")
	if !strings.HasSuffix(got, "} metadata too_long 8") || !strings.Contains(got, `"k31":31`) || strings.Contains(got, `"k32"`) {
		t.Errorf("40 entries: %s", got)
	}
	got = mapped(t, m, `{"n":"x","a":[`+strings.Repeat("1,", 69)+`1]}`)
	if !strings.HasSuffix(got, "} metadata.a too_long 6") || strings.Count(got, "1,") != 63 {
		t.Errorf("70 elements: %s", got)
	}
}

func TestCellsOfATable(t *testing.T) {
	t.Parallel()
	m := mapping.Mapping{Title: "n", Rest: mapping.Metadata}
	for cell, want := range map[string]string{
		"7": `7`, "-1.5": `-1.5`, "1e+21": `1e+21`, "true": `true`, "false": `false`, "0": `0`,
		"00123": `"00123"`, "1.10": `"1.10"`, "1e5": `"1e5"`, "+491": `"+491"`, "9007199254740993": `"9007199254740993"`, "True": `"True"`,
		"-0": `"-0"`, " 1": `" 1"`, "1,5": `"1,5"`, "a|b": `"a|b"`, "NaN": `"NaN"`, "null": `"null"`,
	} {
		row := mapping.RowOfCells([]string{"n", "k"}, []string{"1", cell})
		d, err := m.Document(&row, true)
		if got := shown(t, d, err); got != ` |1||||{"k":`+want+`}` {
			t.Errorf("%s became %s", cell, got)
		}
	}
	row := mapping.RowOfCells([]string{"id", "n", "tags", "metadata.author", "gone"}, []string{"007", "x", " a | b||", "Ada", ""})
	refusing := mapping.Mapping{Title: "n", Rest: mapping.Refuse}
	d, err := refusing.Document(&row, true)
	if got := shown(t, d, err); got != `007 |x|||a,b|{"author":"Ada"}` {
		t.Errorf("a row became %s", got)
	}
}

func TestColumnsThatATableLacks(t *testing.T) {
	t.Parallel()
	columns := []string{"name", "description"}
	for _, c := range []struct {
		m     mapping.Mapping
		field string
	}{
		{mapping.Mapping{}, ""},
		{mapping.Mapping{Title: "name", Text: []string{"name", "description"}}, ""},
		{mapping.Mapping{Title: "Name"}, "title"},
		{mapping.Mapping{Text: []string{"name", "body"}}, "text"},
		{mapping.Mapping{ID: "sku"}, "id"},
	} {
		err := c.m.CheckColumns(columns)
		p, refused := problem.As(err)
		if refused != (c.field != "") || refused && (p.Details.Field != c.field || p.Details.Issue != problem.Unknown) {
			t.Errorf("%+v: %v", c.m, err)
		}
	}
}

// Whatever a row is, its document is one that the rules accept but for texts that no mapping changes, and what its metadata lacks is counted.
func TestEveryRowIsMappedOrRefused(t *testing.T) {
	t.Parallel()
	scalar := rapid.OneOf(rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Float64Range(-1e6, 1e6).AsAny(), rapid.StringN(0, 8, -1).AsAny())
	value := rapid.OneOf(scalar, rapid.SliceOfN(scalar, 0, 80).AsAny(), rapid.MapOfN(rapid.StringN(1, 3, -1), scalar, 0, 5).AsAny(),
		rapid.SliceOfN(rapid.SliceOfN(scalar, 0, 2), 1, 3).AsAny())
	rapid.Check(t, func(t *rapid.T) {
		row := rapid.MapOfN(rapid.StringN(1, 4, -1), value, 0, 45).Draw(t, "row")
		row["n"] = "name"
		line, err := json.Marshal(row)
		if err != nil {
			t.Skip()
		}
		var decoded wire.Row
		if err := wire.DecodeLine(line, &decoded); err != nil {
			t.Fatal(err)
		}
		m := mapping.Mapping{Title: "n", Rest: mapping.Metadata}
		d, err := m.Document(&decoded, false)
		if err != nil {
			if p, ok := problem.As(err); !ok || p.Kind != problem.Invalid {
				t.Fatal(err)
			}
			return
		}
		lost := 0
		for _, issue := range d.Issues {
			lost += issue.Count
		}
		if d.Fields.Title != "name" || len(d.Fields.Metadata) > document.MaxMetadata || len(d.Entries) < len(d.Fields.Metadata) {
			t.Fatalf("%d entries, %d kept: %+v", len(d.Entries), len(d.Fields.Metadata), d)
		}
		if len(d.Entries)-len(d.Fields.Metadata) > lost {
			t.Fatalf("%d of %d entries are kept, and %d losses are counted", len(d.Fields.Metadata), len(d.Entries), lost)
		}
	})
}
