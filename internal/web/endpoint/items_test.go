package endpoint_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"keepsake/internal/base/problem"
	"keepsake/internal/web/endpoint"
)

// What is answered to a body with Loose items is what is answered to the same body without them, except for what is wrong within an
// item.

type manyPlaces struct {
	Body struct {
		Items  []endpoint.Loose[place] `json:"items" minItems:"1" maxItems:"1000"`
		Atomic bool                    `json:"atomic" required:"false"`
	}
}

type plainPlaces struct {
	Body struct {
		Items  []*anyText `json:"items" minItems:"1" maxItems:"1000"`
		Atomic bool       `json:"atomic" required:"false"`
	}
}

// anyText is any JSON text but null.
type anyText struct {
	Text jsontext.Value `json:"-"`
}

func (w *anyText) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	text, err := dec.ReadValue()
	w.Text = text.Clone()
	return err
}

// placesOperations give the operation with Loose items, and the one without.
func placesOperations() (loose, plain *endpoint.Operation) {
	r := endpoint.NewRegistry()
	op := endpoint.Operation{ID: "manyPlaces", Method: "POST", Path: "/places", Since: 1, Summary: "-", Tag: "-", Status: 204, Class: endpoint.Batch}
	endpoint.Add(r, op, give[manyPlaces](&echo{}, &struct{}{}))
	op.ID, op.Path = "plainPlaces", "/places/plain"
	endpoint.Add(r, op, give[plainPlaces](&echo{}, &struct{}{}))
	return r.Operations()[0], r.Operations()[1]
}

// bindFrom binds a body of unknown length.
func bindFrom(op *endpoint.Operation, body io.Reader) (endpoint.Bound, error) {
	r := request(op, "", "x")
	r.Body, r.ContentLength = io.NopCloser(body), -1
	return op.Bind(r, nil)
}

// said is a problem in one line.
func said(err error) string {
	if err == nil {
		return "ok"
	}
	p, ok := problem.As(err)
	if !ok {
		return "no problem: " + err.Error()
	}
	return fmt.Sprintf("%d %s %s: %s", endpoint.StatusOf(p.Code), p.Details.Field, p.Details.Issue, p.Message)
}

// placesSaid is what a body was bound to, in one line: the whole and each item.
func placesSaid(b endpoint.Bound, err error) string {
	if err != nil {
		return said(err)
	}
	var text strings.Builder
	note := func(p place, err error) {
		if err != nil {
			p = place{}
		}
		fmt.Fprintf(&text, " %v %s;", p, said(err))
	}
	switch in := b.Input().(type) {
	case *manyPlaces:
		fmt.Fprint(&text, in.Body.Atomic)
		for _, item := range in.Body.Items {
			note(item.Value, item.Err)
		}
	case *plainPlaces:
		fmt.Fprint(&text, in.Body.Atomic)
		decoder := endpoint.NewDecoder[place]()
		for _, item := range in.Body.Items {
			var p place
			if item == nil {
				item = &anyText{jsontext.Value("null")}
			}
			err := decoder.Decode(item.Text, &p)
			note(p, err)
		}
	}
	return text.String()
}

const (
	fine     = "ok"
	nested   = "400 body format: The JSON is nested more than 32 levels deep."
	tooMany  = "400 items too_long: items must have at most 1000 items."
	tooLarge = "413  : The body is larger than 8 MiB."
	notWhole = "400 body format: The body was cut off."
)

// uglyBodies are bodies of manyPlaces, and what is said of them.
func uglyBodies() map[string]struct{ body, want string } {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	many := func(n int, item string) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }
	const good = `{"street":"High","number":7}`
	return map[string]struct{ body, want string }{
		"empty":                               {"", "400 body required: A JSON body is required."},
		"broken behind lines that were taken": {"{\n\"items\":[\n" + good + ",\n" + good + "\n],\n  atomic}", "400 body format: The body is not valid JSON: line 6, column 3."},
		"broken in an item":                   {"{\"items\":[\n" + good + ",\n" + good + ",\n{\"street\" 1}]}", "400 body format: The body is not valid JSON: line 4, column 11."},
		"broken before the items":             {"{\n\"atomic\" 1,\"items\":[]}", "400 body format: The body is not valid JSON: line 2, column 10."},
		"blank":                               {" \r\n\t ", "400 body required: A JSON body is required."},
		"null":                                {`null`, "400 body required: The body is required."},
		"a list":                              {`[` + good + `]`, "400 body type: The body must be an object, not an array."},
		"a text":                              {`"x"`, "400 body type: The body must be an object, not a string."},
		"a number":                            {`7`, "400 body type: The body must be an object, not a number."},
		"an empty object":                     {`{}`, "400 items required: items is required."},
		"good":                                {`{"items":[` + good + `]}`, fine},
		"good with spaces":                    {" {\n\"items\" : [ " + good + " , " + good + " ] , \"atomic\" : true } \n", fine},
		"atomic before":                       {`{"atomic":true,"items":[` + good + `]}`, fine},
		"atomic after":                        {`{"items":[` + good + `],"atomic":true}`, fine},
		"atomic null":                         {`{"items":[` + good + `],"atomic":null}`, fine},
		"atomic null before":                  {`{"atomic":null,"items":[` + good + `]}`, fine},
		"atomic of another type":              {`{"items":[` + good + `],"atomic":"x"}`, "400 atomic type: atomic must be a boolean, not a string."},
		"atomic twice":                        {`{"atomic":true,"items":[1],"atomic":true}`, "400 atomic duplicate: The field \"atomic\" is given twice."},
		"items null":                          {`{"items":null}`, "400 items required: items is required."},
		"items a number":                      {`{"items":1}`, "400 items type: items must be an array, not a number."},
		"items an object":                     {`{"items":{"a":1}}`, "400 items type: items must be an array, not an object."},
		"items empty":                         {`{"items":[]}`, "400 items too_short: items must have at least 1 item."},
		"items twice":                         {`{"items":[` + good + `],"items":[` + good + `]}`, "400 items duplicate: The field \"items\" is given twice."},
		"items twice, null":                   {`{"items":null,"items":[1]}`, "400 items duplicate: The field \"items\" is given twice."},
		"items twice, then broken":            {`{"items":[1],"items":[1`, "400 items duplicate: The field \"items\" is given twice."},
		"no items":                            {`{"atomic":true}`, "400 items required: items is required."},
		"a null among items":                  {`{"items":[` + good + `,null]}`, fine},
		"scalars":                             {`{"items":[1,"x",true,null,[],{}]}`, fine},
		"a word with a null":                  {`{"items":[{"street":"null","number":7}],"atomic":false}`, fine},
		"unknown member":                      {`{"items":[1],"more":1}`, "400 more unknown: There is no field \"more\"."},
		"unknown before":                      {`{"more":1,"items":[1]}`, "400 more unknown: There is no field \"more\"."},
		"unknown before what is broken":       {`{"more":1,"items":[`, "400 more unknown: There is no field \"more\"."},
		"unknown after what is broken":        {`{"items":[{],"more":1}`, "400 body format: The body is not valid JSON: line 1, column 12."},
		"unknown without a value":             {`{"items":[1],"more" 5}`, "400 more unknown: There is no field \"more\"."},
		"wrong type before a duplicate":       {`{"atomic":1,"items":[{"a":1,"a":2}]}`, "400 atomic type: atomic must be a boolean, not a number."},
		"a duplicate before a wrong type":     {`{"items":[{"a":1,"a":2}],"atomic":1}`, "400 items[0].a duplicate: The field \"items[0].a\" is given twice."},
		"wrong type, skipped, broken":         {`{"atomic":{"a":1,"a":2},"items":[1]}`, "400 atomic type: atomic must be a boolean, not an object."},
		"wrong type and broken":               {`{"atomic":[1,2`, "400 atomic type: atomic must be a boolean, not an array."},
		"duplicate inside":                    {`{"items":[1,{"street":"a","x":{"b":1,"b":2}}]}`, "400 items[1].x.b duplicate: The field \"items[1].x.b\" is given twice."},
		"duplicate inside a list":             {`{"items":[[{"b":1,"b":2}]]}`, "400 items[0].0.b duplicate: The field \"items[0].0.b\" is given twice."},
		"duplicate of an empty name":          {`{"items":[{"":1,"":2}]}`, "400 items[0]. duplicate: The field \"items[0].\" is given twice."},
		"duplicate with an escape":            {`{"items":[{"a":1,"\u0061":2}]}`, "400 items[0].a duplicate: The field \"items[0].a\" is given twice."},
		"names in another case":               {`{"Items":[1]}`, "400 Items unknown: There is no field \"Items\". Did you mean \"items\"?"},
		"name with an escape":                 {`{"it\u0065ms":[` + good + `]}`, fine},
		"trailing comma":                      {`{"items":[1,]}`, "400 body format: The body is not valid JSON: line 1, column 12."},
		"leading comma":                       {`{"items":[,1]}`, "400 body format: The body is not valid JSON: line 1, column 11."},
		"no comma":                            {`{"items":[1 2]}`, "400 body format: The body is not valid JSON: line 1, column 13."},
		"no colon":                            {`{"items"[1]}`, "400 body format: The body is not valid JSON: line 1, column 9."},
		"trailing text":                       {`{"items":[1]} x`, "400 body format: The body is not valid JSON: line 1, column 15."},
		"trailing value":                      {`{"items":[1]} {}`, "400 body format: The body is not valid JSON: line 1, column 15."},
		"trailing value and a wrong type":     {`{"items":[1],"atomic":1} {}`, "400 atomic type: atomic must be a boolean, not a number."},
		"trailing zero byte":                  {"{\"items\":[1]}\x00", "400 body format: The body is not valid JSON: line 1, column 14."},
		"cut in an item":                      {`{"items":[{"street":"Hi`, "400 body format: The body is not valid JSON: line 1, column 24."},
		"cut after an item":                   {`{"items":[1`, "400 body format: The body is not valid JSON: line 1, column 12."},
		"cut after the list":                  {`{"items":[1]`, "400 body format: The body is not valid JSON: line 1, column 13."},
		"cut in a name":                       {`{"ite`, "400 body format: The body is not valid JSON: line 1, column 6."},
		"cut in atomic":                       {`{"items":[1],"atomic":tr`, "400 body format: The body is not valid JSON: line 1, column 25."},
		"cut number":                          {`{"atomic":12`, "400 atomic type: atomic must be a boolean, not a number."},
		"wrong bracket":                       {`{"items":[1}}`, "400 body format: The body is not valid JSON: line 1, column 12."},
		"not closed":                          {`{"items":[{"a":[}]}`, "400 body format: The body is not valid JSON: line 1, column 17."},
		"a control character":                 {"{\"items\":[\"a\nb\"]}", "400 body format: The body is not valid JSON: line 1, column 13."},
		"BOM":                                 {"\xef\xbb\xbf" + `{"items":[1]}`, fine},
		"invalid UTF-8 in an item":            {"{\"items\":[{\"street\":\"a\xff\",\"number\":7}]}", "400 body format: The body is not UTF-8: it looks like Latin-1 or Windows-1252. Convert it to UTF-8."},
		"invalid UTF-8 outside":               {"{\"items\":[1],\"a\xff\":1}", "400 body format: The body is not UTF-8: it looks like Latin-1 or Windows-1252. Convert it to UTF-8."},
		"UTF-16":                              {"\xff\xfe{\x00}\x00", "400 body format: The body is not UTF-8: it looks like UTF-16. Convert it to UTF-8."},
		"too deep in an item":                 {`{"items":[` + deep(31) + `]}`, nested},
		"as deep as may be":                   {`{"items":[` + deep(30) + `]}`, fine},
		"too deep outside":                    {`{"items":[1],"atomic":` + deep(32) + `}`, nested},
		"too deep and unknown":                {`{"more":` + deep(40) + `}`, nested},
		"too deep after what is broken":       {`{"items":[}` + deep(33), nested},
		"brackets in a text":                  {`{"items":["` + strings.Repeat("[", 40) + `\""]}`, fine},
		"too deep after the end":              {`{"items":[1]} ` + deep(33), nested},
		"not closed 33 times":                 {strings.Repeat("[", 33), nested},
		"very deep":                           {strings.Repeat(`{"a":`, 20_000), nested},
		"1000 items":                          {`{"items":[` + many(1000, good) + `]}`, fine},
		"1001 items":                          {`{"items":[` + many(1001, good) + `]}`, tooMany},
		"1001 items and a wrong type":         {`{"items":[` + many(1001, good) + `],"atomic":1}`, "400 atomic type: atomic must be a boolean, not a number."},
		"1001 items, cut":                     {`{"items":[` + many(1001, good), "400 body format: The body is not valid JSON: line 1, column 29039."},
		"1001 items and a null":               {`{"items":[` + many(1001, good) + `],"atomic":null}`, tooMany},
		"2000 items, a duplicate":             {`{"items":[` + many(2000, good) + `,{"a":1,"a":1}]}`, "400 items[2000].a duplicate: The field \"items[2000].a\" is given twice."},
		"many nulls":                          {`{"items":[` + many(100_000, "null") + `]}`, tooMany},
		"one byte too large":                  {`{"items":["` + strings.Repeat("a", 8<<20-13) + `"]}`, tooLarge},
		"as large as may be":                  {`{"items":["` + strings.Repeat("a", 8<<20-14) + `"]}`, fine},
		"broken and too large":                {`{"items":[}` + strings.Repeat(" ", 8<<20), tooLarge},
		"unknown and too large":               {`{"more":1` + strings.Repeat(" ", 8<<20), tooLarge},
		"too large and blank":                 {strings.Repeat(" ", 8<<20+1), tooLarge},
	}
}

func TestUglyBodiesOfManyItems(t *testing.T) {
	t.Parallel()
	loose, plain := placesOperations()
	for name, tc := range uglyBodies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, gotErr := bindFrom(loose, strings.NewReader(tc.body))
			want, wantErr := bindFrom(plain, strings.NewReader(tc.body))
			if said(gotErr) != tc.want || said(wantErr) != tc.want {
				t.Errorf("got %s, without Loose items %s, want %s", said(gotErr), said(wantErr), tc.want)
			}
			if gotErr == nil && placesSaid(got, nil) != placesSaid(want, nil) {
				t.Errorf("got %.200s, want %.200s", placesSaid(got, nil), placesSaid(want, nil))
			}
			// Whatever is wrong with a body, it comes second to that it did not arrive, or is too large.
			cut := notWhole
			if tc.want == tooLarge {
				cut = tooLarge
			}
			_, err := bindFrom(loose, io.MultiReader(strings.NewReader(tc.body), iotest.ErrReader(io.ErrUnexpectedEOF)))
			if got := said(err); got != cut {
				t.Errorf("cut off after it: got %s, want %s", got, cut)
			}
		})
	}
}

func TestABodyOfManyItemsIsRefusedBeforeItIsRead(t *testing.T) {
	t.Parallel()
	op, _ := placesOperations()
	r := request(op, "", "x")
	r.Body, r.ContentLength = io.NopCloser(iotest.ErrReader(errors.New("it was read"))), 8<<20+1
	if _, err := op.Bind(r, nil); said(err) != tooLarge {
		t.Errorf("too large by what it says of itself: %s", said(err))
	}
	r.Header.Set("Content-Type", "text/plain")
	_, err := op.Bind(r, nil)
	wants(t, err, 415, "", "")
	r = request(op, "", "")
	r.Body = nil
	_, err = op.Bind(r, nil)
	wants(t, err, 400, "body", problem.Required)
	r = request(op, "", "x")
	r.Body = http.MaxBytesReader(nil, io.NopCloser(strings.NewReader(strings.Repeat(" ", 100))), 10)
	_, err = op.Bind(r, nil)
	wants(t, err, 413, "", "")
}

func TestABodyOfManyItemsIsCopiedWhole(t *testing.T) {
	t.Parallel()
	op, _ := placesOperations()
	for _, body := range []string{`{"items":[1,2]} `, strings.Repeat(" ", 10_000) + `{"items":[` + strings.Repeat("[],", 50_000) + `1],"more":1} x`} {
		r := request(op, "", body)
		var copied strings.Builder
		_, err := op.Bind(r, &copied)
		if copied.String() != body {
			t.Errorf("%.20s (%s): %d bytes of %d were copied", body, said(err), copied.Len(), len(body))
		}
	}
}

// ofItem reports whether an error is one that fails its item alone if items are Loose: an unpaired surrogate.
func ofItem(said string) bool { return strings.Contains(said, "unpaired surrogate") }

// A generated and damaged body gives the same result with Loose items and without.
func TestABodyOfManyItemsIsReadLikeAnyOther(t *testing.T) {
	t.Parallel()
	loose, plain := placesOperations()
	rapid.Check(t, func(t *rapid.T) {
		body := damaged(t, manyPlacesBody(t))
		got := placesSaid(bindFrom(loose, strings.NewReader(body)))
		if want := placesSaid(bindFrom(plain, strings.NewReader(body))); got != want && !ofItem(want) {
			t.Fatalf("%s\ngot  %s\nwant %s", body, got, want)
		}
	})
}

func TestAnUnpairedSurrogateFailsItsItemAlone(t *testing.T) {
	t.Parallel()
	loose, _ := placesOperations()
	b, err := bindFrom(loose, strings.NewReader(`{"items":[{"street":"ab","number":7},{"street":"\ud83d","number":7},{"street":"cd","number":7}]}`))
	if err != nil {
		t.Fatal(err)
	}
	items := b.Input().(*manyPlaces).Body.Items
	p, ok := problem.As(items[1].Err)
	if !ok || p.Details.Field != "street" || p.Details.Issue != problem.Format || items[0].Err != nil || items[2].Err != nil || items[2].Value.Street != "cd" {
		t.Errorf("got %+v", items)
	}
	for body, where := range map[string]string{
		`{"items":[1],"ato\ud83dmic":true}`:              "There is no field",
		`{"items":["\ud83d"],"atomic":"\ud83d"}`:         "atomic must be",
		"{\"items\":[\"\\ud83d\"],\n\"atomic\":true, 7}": "line 2, column 16",
		"{\n\"\\ud83d\":1,\"items\":[\"\\ud83d\"]}":      "There is no field",
	} {
		if _, err := bindFrom(loose, strings.NewReader(body)); !strings.Contains(said(err), where) {
			t.Errorf("%s: got %s, want %s", body, said(err), where)
		}
	}
}

func FuzzBindItems(f *testing.F) {
	for _, tc := range uglyBodies() {
		if len(tc.body) < 1000 {
			f.Add([]byte(tc.body))
		}
	}
	loose, plain := placesOperations()
	f.Fuzz(func(t *testing.T, body []byte) {
		got := placesSaid(bindFrom(loose, strings.NewReader(string(body))))
		if want := placesSaid(bindFrom(plain, strings.NewReader(string(body)))); got != want && !ofItem(want) {
			t.Fatalf("%q\ngot  %s\nwant %s", body, got, want)
		}
	})
}

// manyPlacesBody makes a body that is nearly right.
func manyPlacesBody(t *rapid.T) string {
	space := rapid.SampledFrom([]string{"", "", "", " ", "\n\t "})
	value := rapid.SampledFrom([]string{
		`{"street":"High","number":7}`, `{"street":"null","number":0}`, `{"street":"x"}`, `{"number":null,"street":"Low"}`, `null`, `7`, `-1e999`,
		`"text, [\"{"`, `{"a":{"b":[{}]}}`, `{"street":"a","street":"b"}`, `{"street":"\u00e9\ud83d\ude00","number":99}`, `[]`, `true`, `{"":0}`,
	})
	member := rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 5).Draw(t, "member") {
		case 0, 1, 2:
			items := rapid.SliceOfN(value, 0, 12).Draw(t, "items")
			gap := space.Draw(t, "gap")
			return `"items"` + space.Draw(t, "a") + `:[` + gap + strings.Join(items, gap+","+gap) + gap + `]`
		case 3, 4:
			return `"atomic":` + rapid.SampledFrom([]string{"true", "false", "null", "1", `"x"`}).Draw(t, "atomic")
		default:
			return rapid.SampledFrom([]string{`"items"`, `"more"`, `"Items"`, `""`}).Draw(t, "name") + ":" + value.Draw(t, "value")
		}
	})
	members := rapid.SliceOfN(member, 0, 3).Draw(t, "members")
	return space.Draw(t, "before") + "{" + strings.Join(members, ","+space.Draw(t, "between")) + "}" + space.Draw(t, "after")
}

// damaged cuts a few pieces out of a text and puts others in.
func damaged(t *rapid.T, text string) string {
	for range rapid.SampledFrom([]int{0, 0, 1, 1, 2, 5}).Draw(t, "damages") {
		at := rapid.IntRange(0, len(text)).Draw(t, "at")
		end := min(len(text), at+rapid.IntRange(0, 3).Draw(t, "cut"))
		put := rapid.SampledFrom([]string{"", "", ",", "{", "}", "[", "]", ":", `"`, "\\", " ", "0", "n", "\x00", "\xff", "\ufeff", strings.Repeat("[", 33)}).Draw(t, "put")
		text = text[:at] + put + text[end:]
	}
	return text
}
