package wire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
)

type inner struct {
	PerMinute int64 `json:"perMinute"`
}

type shared struct {
	Title string `json:"title"`
}

type sample struct {
	shared
	Name     string                `json:"name"`
	Count    int64                 `json:"count"`
	Ratio    float64               `json:"ratio"`
	On       bool                  `json:"on"`
	Tags     []string              `json:"tags"`
	Items    []inner               `json:"items"`
	Limit    *inner                `json:"limit"`
	Patch    wire.Optional[inner]  `json:"patch"`
	At       wire.Time             `json:"at"`
	Until    *wire.Time            `json:"until"`
	Metadata wire.Metadata         `json:"metadata"`
	ByName   map[string]inner      `json:"byName"`
	Any      wire.Value            `json:"any"`
	Opt      wire.Optional[string] `json:"opt"`
}

func TestWrongInputIsNamedByFieldAndIssue(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tests := map[string]struct {
		in    string
		field string
		issue problem.Issue
	}{
		"Empty":                     {``, "body", problem.Required},
		"WhiteSpace":                {" \n\t", "body", problem.Required},
		"NotJSON":                   {`hello`, "body", problem.Format},
		"Truncated":                 {`{"name":"a"`, "body", problem.Format},
		"TrailingBytes":             {`{"name":"a"} x`, "body", problem.Format},
		"TwoValues":                 {`{}{}`, "body", problem.Format},
		"InvalidUTF8":               {"{\"name\":\"\xff\"}", "body", problem.Format},
		"LoneSurrogate":             {`{"name":"\ud800"}`, "name", problem.Format},
		"Array":                     {`[]`, "body", problem.Type},
		"UnknownMember":             {`{"nmae":"a"}`, "nmae", problem.Unknown},
		"OtherCase":                 {`{"Name":"a"}`, "Name", problem.Unknown},
		"UnknownNested":             {`{"limit":{"perHour":1}}`, "limit.perHour", problem.Unknown},
		"UnknownInItem":             {`{"items":[{},{"x":1}]}`, "items[1].x", problem.Unknown},
		"UnknownInOptional":         {`{"patch":{"x":1}}`, "patch.x", problem.Unknown},
		"Duplicate":                 {`{"name":"a","name":"b"}`, "name", problem.Duplicate},
		"DuplicateNested":           {`{"limit":{"perMinute":1,"perMinute":2}}`, "limit.perMinute", problem.Duplicate},
		"DuplicateByEscape":         {`{"name":"a","n\u0061me":"b"}`, "name", problem.Duplicate},
		"DuplicateInMetadata":       {`{"metadata":{"a":1,"a":2}}`, "metadata.a", problem.Duplicate},
		"StringForNumber":           {`{"count":"1"}`, "count", problem.Type},
		"NumberForString":           {`{"name":1}`, "name", problem.Type},
		"FractionForInteger":        {`{"count":1.5}`, "count", problem.Type},
		"TypeInItem":                {`{"tags":["a",2]}`, "tags[1]", problem.Type},
		"TypeNested":                {`{"items":[{"perMinute":true}]}`, "items[0].perMinute", problem.Type},
		"TypeUnderADigitName":       {`{"byName":{"7":{"perMinute":true}}}`, "byName.7.perMinute", problem.Type},
		"TooLargeInteger":           {`{"count":9223372036854775808}`, "count", problem.TooLargeVal},
		"TooSmallInteger":           {`{"count":-9223372036854775809}`, "count", problem.TooSmall},
		"TooLargeFloat":             {`{"ratio":1e999}`, "ratio", problem.TooLargeVal},
		"MalformedTime":             {`{"at":"yesterday"}`, "at", problem.Format},
		"TimeOfAnotherType":         {`{"until":3}`, "until", problem.Type},
		"MetadataOfAnotherType":     {`{"metadata":[1]}`, "metadata", problem.Type},
		"ObjectInMetadata":          {`{"metadata":{"a":{}}}`, "metadata.a", problem.Type},
		"TooLargeNumberInMetadata":  {`{"metadata":{"a":1e999}}`, "metadata.a", problem.InvalidVal},
		"TooDeep":                   {`{"any":` + deep(32) + `}`, "body", problem.Format},
		"BracketsInAString":         {`{"name":3,"any":"` + strings.Repeat("[", 100) + `"}`, "name", problem.Type},
		"EscapedQuoteBeforeTooDeep": {`{"name":"\"","any":` + deep(32) + `}`, "body", problem.Format},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var v sample
			err := wire.Decode([]byte(tc.in), &v)
			p, ok := problem.As(err)
			if !ok {
				t.Fatalf("Decode(%.80s) = %v, want a problem", tc.in, err)
			}
			if p.Kind != problem.Invalid || p.Code != problem.CodeValidation || p.Details.Field != tc.field || p.Details.Issue != tc.issue {
				t.Errorf("Decode(%.80s): got %s %q %q, want %q %q", tc.in, p.Code, p.Details.Field, p.Details.Issue, tc.field, tc.issue)
			}
		})
	}
}

func TestRightInputIsRead(t *testing.T) {
	t.Parallel()
	var v sample
	err := wire.Decode([]byte(` {"title":"t","name":"a\u00e9","count":-1,"ratio":0.5,"on":true,"tags":["x"],"items":[{"perMinute":2}],
		"limit":null,"patch":{"perMinute":3},"at":"2026-07-01T14:00:00.1239+02:00","metadata":{"s":"t","n":1.5,"b":false},
		"any":`+strings.Repeat("[", 31)+strings.Repeat("]", 31)+`,"opt":null}`), &v)
	if err != nil {
		t.Fatalf("Decode: %v", err)
	}
	if got, want := v.Metadata, (wire.Metadata{"s": "t", "n": 1.5, "b": false}); !cmp.Equal(got, want) {
		t.Errorf("metadata: got %v, want %v", got, want)
	}
	if !v.Opt.Set || !v.Opt.Null || v.Opt.Pointer() != nil {
		t.Errorf("a null Optional: got %+v", v.Opt)
	}
	if !v.Patch.Set || v.Patch.Null || v.Patch.Pointer().PerMinute != 3 {
		t.Errorf("an Optional with a value: got %+v", v.Patch)
	}
	if v.Title != "t" || v.Name != "aé" || v.Count != -1 || !v.On || v.Limit != nil || v.Items[0].PerMinute != 2 {
		t.Errorf("got %+v", v)
	}
	text, err := wire.Encode(v.At)
	if err != nil || string(text) != `"2026-07-01T12:00:00.123Z"` {
		t.Errorf("time: got %s, %v", text, err)
	}
}

func TestProblemsNeverRepeatValues(t *testing.T) {
	t.Parallel()
	const canary = "sw0rdfish"
	for _, in := range []string{
		`{"count":"` + canary + `"}`, `{"at":"` + canary + `"}`, canary, `{"name":"` + canary + "\xff",
		`{"metadata":{"a":["` + canary + `"]}}`,
	} {
		err := wire.Decode([]byte(in), new(sample))
		p, ok := problem.As(err)
		if !ok || strings.Contains(p.Message, canary) {
			t.Errorf("Decode(%s): the message is %q", in, p.Message)
		}
	}
}

func TestMessagesSayWhatIsWrongWithTheJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"nmae":"a"}`:               `There is no field "nmae". Did you mean "name"?`,
		`{"limit":{"per_minute":1}}`: `There is no field "limit.per_minute". Did you mean "perMinute"?`,
		`{"colour":"a"}`:             `There is no field "colour". Fields of your own go into "metadata".`,
		`{"name":"a","name":"b"}`:    `The field "name" is given twice.`,
		`{"count":"1"}`:              `count must be an integer, not a string.`,
		`{"count":1.5}`:              `count must be a whole number.`,
		`{"tags":["a",2]}`:           `tags[1] must be a string, not a number.`,
		`{"on":{}}`:                  `on must be a boolean, not an object.`,
		`[]`:                         `The body must be an object, not an array.`,
		"{\n  \"name\": \"a\",\n  \"count\" 1\n}": `The body is not valid JSON: line 3, column 11.`,
		`{"count":9223372036854775808}`:           `count is too large a number.`,
	} {
		p, _ := problem.As(wire.Decode([]byte(in), new(sample)))
		if p == nil || p.Message != want {
			t.Errorf("Decode(%s): got %v, want %q", in, p, want)
		}
	}
}

func TestALongUnknownNameIsCut(t *testing.T) {
	t.Parallel()
	err := wire.Decode([]byte(`{"`+strings.Repeat("é", 5000)+`":1}`), new(sample))
	if p, _ := problem.As(err); len(p.Details.Field) > 140 {
		t.Errorf("the field has %d bytes", len(p.Details.Field))
	}
}

func TestNothingIsNullInAnAnswer(t *testing.T) {
	t.Parallel()
	text, err := wire.Encode(struct {
		List []string       `json:"list"`
		Map  map[string]int `json:"map"`
		None *wire.Time     `json:"none"`
	}{Map: map[string]int{"b": 1, "a": 2}})
	if want := `{"list":[],"map":{"a":2,"b":1},"none":null}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v, want %s", text, err, want)
	}
	appended, err := wire.Append([]byte("x"), 1)
	if err != nil || string(appended) != "x1" {
		t.Errorf("Append: got %s, %v", appended, err)
	}
	if _, err := wire.Encode(func() {}); err == nil {
		t.Error("a function was encoded")
	}
}

func TestMetadataComesBackAsItWasSent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := wire.Metadata(rapid.MapOf(rapid.String(), rapid.OneOf(
			rapid.String().AsAny(), rapid.Float64().AsAny(), rapid.Bool().AsAny(),
		)).Draw(t, "metadata"))
		text, err := wire.Encode(m)
		if err != nil {
			t.Fatalf("encode %v: %v", m, err)
		}
		var back wire.Metadata
		if err := wire.Decode(text, &back); err != nil || !cmp.Equal(m, back) {
			t.Fatalf("%s: got %v, %v", text, back, err)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"name":"a","tags":["b"],"limit":{"perMinute":1},"metadata":{"k":1},"at":"2026-07-01T12:00:00Z"}`))
	f.Add([]byte(`{"opt":null,"patch":{"perMinute":1e3}}`))
	f.Add([]byte(`[[[[[[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v sample
		err := wire.Decode(data, &v)
		if err != nil {
			p, ok := errors.AsType[*problem.Problem](err)
			if !ok || p.Details.Field == "" || p.Details.Issue == "" {
				t.Fatalf("Decode(%q) = %v, want a problem with a field", data, err)
			}
			return
		}
		first, err := wire.Encode(v.Metadata)
		if err != nil {
			t.Fatalf("what was decoded from %q cannot be encoded: %v", data, err)
		}
		var again wire.Metadata
		if err := wire.Decode(first, &again); err != nil && v.Metadata != nil {
			t.Fatalf("%s is not read again: %v", first, err)
		}
	})
}
