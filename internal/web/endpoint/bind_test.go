package endpoint_test

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/problem"
	"keepsake/internal/web/endpoint"
)

func TestABodyThatBreaksARuleIsRefused(t *testing.T) {
	t.Parallel()
	op := operation(t, notes(new(echo)), "createNote")
	const whole = `"title":"t","weight":1`
	tests := map[string]struct {
		body  string
		field string
		issue problem.Issue
	}{
		"NoBody":                        {``, "body", problem.Required},
		"Null":                          {`null`, "body", problem.Required},
		"RequiredTextAbsent":            {`{"weight":1}`, "title", problem.Required},
		"RequiredTextNull":              {`{"title":null,"weight":1}`, "title", problem.Required},
		"RequiredTextEmpty":             {`{"title":"","weight":1}`, "title", problem.Required},
		"RequiredTextBlank":             {`{"title":" \u00a0\n","weight":1}`, "title", problem.Required},
		"RequiredNumberAbsent":          {`{"title":"t"}`, "weight", problem.Required},
		"RequiredNumberNull":            {`{"title":"t","weight":null}`, "weight", problem.Required},
		"TooManyCharacters":             {`{"title":"` + strings.Repeat("é", 11) + `","weight":1}`, "title", problem.TooLong},
		"TooManyBytes":                  {`{` + whole + `,"text":"` + strings.Repeat("é", 7) + `"}`, "text", problem.TooLong},
		"NullForAnItem":                 {`{` + whole + `,"tags":["a",null]}`, "tags[1]", problem.Type},
		"NotInTheEnum":                  {`{` + whole + `,"kind":"odd"}`, "kind", problem.NotAllowed},
		"EmptyForAnEnum":                {`{` + whole + `,"kind":""}`, "kind", problem.NotAllowed},
		"PatternNotMatched":             {`{` + whole + `,"colour":"Red"}`, "colour", problem.Format},
		"EmptyForAPattern":              {`{` + whole + `,"colour":""}`, "colour", problem.Format},
		"TooManyItems":                  {`{` + whole + `,"tags":["a","b","c","d"]}`, "tags", problem.TooLong},
		"ItemTooShort":                  {`{` + whole + `,"tags":["a",""]}`, "tags[1]", problem.TooShort},
		"ItemTooLong":                   {`{` + whole + `,"tags":["abcdef"]}`, "tags[0]", problem.TooLong},
		"NumberTooLarge":                {`{` + whole + `,"ratio":1.1}`, "ratio", problem.TooLargeVal},
		"NumberTooSmall":                {`{` + whole + `,"ratio":-1}`, "ratio", problem.TooSmall},
		"NestedRequired":                {`{` + whole + `,"where":{"number":1}}`, "where.street", problem.Required},
		"NestedRequiredNumber":          {`{` + whole + `,"where":{"street":"ab"}}`, "where.number", problem.Required},
		"NestedZeroIsJudgedAsItWasSent": {`{` + whole + `,"where":{"street":"ab","number":0}}`, "where.number", problem.TooSmall},
		"NestedInAList":                 {`{` + whole + `,"places":[{"street":"ab","number":1},{"street":"ab"}]}`, "places[1].number", problem.Required},
		"NestedInAMap":                  {`{` + whole + `,"byName":{"x":{"street":"ab"}}}`, "byName.x.number", problem.Required},
		"NestedInAMapTooLarge":          {`{` + whole + `,"byName":{"x":{"street":"ab","number":100}}}`, "byName.x.number", problem.TooLargeVal},
		"TooManyEntries":                {`{` + whole + `,"metadata":{"a":1,"b":2,"c":3}}`, "metadata", problem.TooLong},
		"NotAURI":                       {`{` + whole + `,"link":"example"}`, "link", problem.Format},
		"Unsupported":                   {`{` + whole + `,"later":[]}`, "later", problem.Unsupported},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := op.Bind(request(op, "", tc.body), nil)
			wants(t, err, 400, tc.field, tc.issue)
		})
	}
}

func TestABodyIsBoundWithItsDefaults(t *testing.T) {
	t.Parallel()
	op := operation(t, notes(new(echo)), "createNote")
	for name, body := range map[string]string{
		"Least":         `{"title":"t","weight":0}`,
		"NullMeansNone": `{"title":"t","weight":0,"ratio":null,"where":null,"expiresAt":null}`,
		"NullMeansNoneForAllKindsOfMembers": `{"title":"t","weight":0,"text":null,"tags":null,"pinned":null,"kind":null,"colour":null,` +
			`"byName":{"x":null},"metadata":{"a":null},"link":null,"later":null,"places":null}`,
		"AWordWithANull":          `{"title":"null","weight":0}`,
		"NullAfterAByteOrderMark": "\ufeff" + `{"title":"t","weight":0,"text":null}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var copied strings.Builder
			b, err := op.Bind(request(op, "", body), &copied)
			if err != nil {
				t.Fatalf("Bind: %v", err)
			}
			in := b.Input().(*createNote).Body
			if in.Kind != "plain" || in.Where != nil || in.ExpiresAt != nil || in.Weight != 0 || in.Tags != nil || in.Pinned || len(in.ByName)+len(in.Metadata) > 0 || copied.String() != body {
				t.Errorf("got %+v and copied %s", in, copied.String())
			}
		})
	}
}

func TestAnIntegerCanHaveAFractionOfZeros(t *testing.T) {
	t.Parallel()
	op := operation(t, notes(new(echo)), "listNotes")
	b, err := op.Bind(request(op, "q=a&limit=5.00", ""), nil)
	if err != nil {
		t.Fatal(err)
	}
	if in := b.Input().(*listNotes); in.Limit != 5 {
		t.Errorf("got %+v", in)
	}
}

func TestAPatchTellsAbsentFromNull(t *testing.T) {
	t.Parallel()
	op := operation(t, notes(new(echo)), "changeNote")
	b, err := op.Bind(request(op, "", `{"weight":null,"where":{"street":"ab","number":2}}`, "id", "n1"), nil)
	if err != nil {
		t.Fatalf("Bind: %v", err)
	}
	in := b.Input().(*changeNote)
	if in.Body.Title.Set || !in.Body.Weight.Null || in.Body.Where.Value.Number != 2 {
		t.Errorf("got %+v", in)
	}
	tests := map[string]struct {
		body  string
		field string
		issue problem.Issue
	}{
		"NotRemovable":      {`{"title":null}`, "title", problem.Required},
		"TooLong":           {`{"title":"abcdefghijk"}`, "title", problem.TooLong},
		"TooSmall":          {`{"weight":-6}`, "weight", problem.TooSmall},
		"NestedAbsent":      {`{"where":{"street":"ab"}}`, "where.number", problem.Required},
		"NestedTooSmall":    {`{"where":{"street":"ab","number":0}}`, "where.number", problem.TooSmall},
		"TooManyItems":      {`{"tags":["a","b","c"]}`, "tags", problem.TooLong},
		"NullInTheList":     {`{"tags":[null]}`, "tags[0]", problem.Type},
		"NullAndAnotherBad": {`{"weight":null,"title":"abcdefghijk"}`, "title", problem.TooLong},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := op.Bind(request(op, "", tc.body, "id", "n1"), nil)
			wants(t, err, 400, tc.field, tc.issue)
		})
	}
	_, err = op.Bind(request(op, "", `{}`, "id", "N1"), nil)
	wants(t, err, 400, "id", problem.Format)
}

func TestParametersAreRead(t *testing.T) {
	t.Parallel()
	op := operation(t, notes(new(echo)), "listNotes")
	r := request(op, "q=a%20b+c&tag=x&tag=y&&pinned=false&score=1e0&since=2026-07-01T14:00:00%2B02:00", "")
	r.Header.Set("X-Mode", "b")
	b, err := op.Bind(r, nil)
	if err != nil {
		t.Fatalf("Bind: %v", err)
	}
	in := b.Input().(*listNotes)
	if in.Q != "a b c" || in.Limit != 50 || in.Mode != "b" || in.Pinned == nil || *in.Pinned || in.Score != 1 ||
		!in.Since.Equal(time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)) {
		t.Errorf("got %+v", in)
	}
	if diff := cmp.Diff([]string{"x", "y"}, in.Tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
}

func TestAWrongParameterIsRefused(t *testing.T) {
	t.Parallel()
	op := operation(t, notes(new(echo)), "listNotes")
	tests := map[string]struct {
		query string
		field string
		issue problem.Issue
	}{
		"RequiredAbsent":     {"", "q", problem.Required},
		"RequiredEmpty":      {"q=", "q", problem.Required},
		"RequiredBlank":      {"q=+%0A", "q", problem.Required},
		"WithoutEquals":      {"q", "q", problem.Required},
		"Unknown":            {"q=a&qq=b", "qq", problem.Unknown},
		"OtherCase":          {"Q=a", "Q", problem.Unknown},
		"NoName":             {"q=a&=b", "query", problem.Unknown},
		"Duplicate":          {"q=a&q=a", "q", problem.Duplicate},
		"DuplicateByEscape":  {"q=a&%71=a", "q", problem.Duplicate},
		"TooLong":            {"q=abcdefghi", "q", problem.TooLong},
		"BadEscape":          {"q=%zz", "q", problem.Format},
		"BadEscapeInAName":   {"%zz=q", "query", problem.Format},
		"InvalidUTF8":        {"q=%ff", "q", problem.Format},
		"NotANumber":         {"q=a&limit=x", "limit", problem.Type},
		"EmptyNumber":        {"q=a&limit=", "limit", problem.Required},
		"Signed":             {"q=a&limit=%2B5", "limit", problem.Type},
		"LeadingZero":        {"q=a&limit=05", "limit", problem.Type},
		"Fraction":           {"q=a&limit=1.5", "limit", problem.Type},
		"Point":              {"q=a&limit=1.", "limit", problem.Type},
		"NoWholeNumber":      {"q=a&limit=.0", "limit", problem.Type},
		"TooSmall":           {"q=a&limit=0", "limit", problem.TooSmall},
		"TooLarge":           {"q=a&limit=201", "limit", problem.TooLargeVal},
		"BeyondAnInteger":    {"q=a&limit=99999999999999999999", "limit", problem.TooLargeVal},
		"BelowAnInteger":     {"q=a&limit=-99999999999999999999", "limit", problem.TooSmall},
		"Infinite":           {"q=a&score=Inf", "score", problem.Type},
		"Hexadecimal":        {"q=a&score=0x1p4", "score", problem.Type},
		"NotABoolean":        {"q=a&pinned=1", "pinned", problem.Type},
		"NotATime":           {"q=a&since=today", "since", problem.Format},
		"NotInTheEnum":       {"q=a&state=odd", "state", problem.NotAllowed},
		"TooManyItems":       {"q=a&tag=1&tag=2&tag=3", "tag", problem.TooLong},
		"ItemTooLong":        {"q=a&tag=1&tag=22222", "tag[1]", problem.TooLong},
		"Unsupported":        {"q=a&facets=tag", "facets", problem.Unsupported},
		"UnsupportedIfEmpty": {"q=a&facets=", "facets", problem.Unsupported},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := op.Bind(request(op, tc.query, ""), nil)
			wants(t, err, 400, tc.field, tc.issue)
		})
	}
	r := request(op, "q=a", "")
	r.Header["X-Mode"] = []string{"a", "a"}
	_, err := op.Bind(r, nil)
	wants(t, err, 400, "X-Mode", problem.Duplicate)
	health := operation(t, notes(new(echo)), "health")
	_, err = health.Bind(request(health, "verbose=1", ""), nil)
	wants(t, err, 400, "verbose", problem.Unknown)
}

func TestMediaTypes(t *testing.T) {
	t.Parallel()
	op := operation(t, notes(new(echo)), "createNote")
	const body = `{"title":"t","weight":1}`
	for name, tc := range map[string]struct {
		header map[string][]string
		taken  bool
	}{
		"JSON":            {map[string][]string{"Content-Type": {"application/json"}}, true},
		"JSONWithCharset": {map[string][]string{"Content-Type": {"Application/JSON; charset=UTF-8"}}, true},
		"OtherCharset":    {map[string][]string{"Content-Type": {"application/json; charset=latin1"}}, false},
		"None":            {nil, false},
		"Form":            {map[string][]string{"Content-Type": {"application/x-www-form-urlencoded"}}, false},
		"Malformed":       {map[string][]string{"Content-Type": {"application/json; ="}}, false},
		"Two":             {map[string][]string{"Content-Type": {"application/json", "application/json"}}, false},
		"Compressed":      {map[string][]string{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := request(op, "", body)
			r.Header = tc.header
			_, err := op.Bind(r, nil)
			if tc.taken && err != nil {
				t.Errorf("got %v", err)
			}
			if !tc.taken {
				wants(t, err, 415, "", "")
			}
		})
	}
}

func TestTheSizeOfABodyIsBounded(t *testing.T) {
	t.Parallel()
	op := operation(t, notes(new(echo)), "createNote")
	fill := func(n int) string { return `{"title":"t","weight":1}` + strings.Repeat(" ", n-24) }
	for name, tc := range map[string]struct {
		size   int64
		length func(size int64) int64
		status int
	}{
		"AtTheLimit":        {1 << 20, func(n int64) int64 { return n }, 0},
		"AtTheLimitChunked": {1 << 20, func(int64) int64 { return -1 }, 0},
		"Over":              {1<<20 + 1, func(n int64) int64 { return n }, 413},
		"OverChunked":       {1<<20 + 1, func(int64) int64 { return -1 }, 413},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := request(op, "", fill(int(tc.size)))
			r.ContentLength = tc.length(tc.size)
			_, err := op.Bind(r, nil)
			if tc.status == 0 {
				if err != nil {
					t.Errorf("got %v", err)
				}
				return
			}
			wants(t, err, tc.status, "", "")
		})
	}
}

func TestABrokenBodyIs400(t *testing.T) {
	t.Parallel()
	op := operation(t, notes(new(echo)), "createNote")
	r := request(op, "", `{}`)
	r.ContentLength = -1
	r.Body = io.NopCloser(iotest.ErrReader(errors.New("malformed chunked encoding")))
	_, err := op.Bind(r, nil)
	wants(t, err, 400, "body", problem.Format)
	r.Body = io.NopCloser(iotest.ErrReader(&http.MaxBytesError{Limit: 1 << 20}))
	_, err = op.Bind(r, nil)
	wants(t, err, 413, "", "")
}

func TestAnOptionalBodyMayBeLeftOut(t *testing.T) {
	t.Parallel()
	op := operation(t, notes(new(echo)), "touchNotes")
	chunked := request(op, "", "x")
	chunked.Body, chunked.ContentLength = http.NoBody, -1
	for _, r := range []*http.Request{request(op, "", ""), chunked} {
		b, err := op.Bind(r, nil)
		if err != nil || b.Input().(*searchNotes).Body != nil {
			t.Errorf("got %+v, %v", b.Input(), err)
		}
	}
	b, err := op.Bind(request(op, "", `{"reason":"r"}`), nil)
	if err != nil || b.Input().(*searchNotes).Body.Reason != "r" {
		t.Errorf("got %+v, %v", b.Input(), err)
	}
	_, err = op.Bind(request(op, "", `{"reason":"abcdef"}`), nil)
	wants(t, err, 400, "reason", problem.TooLong)
}

func TestAStreamIsReadByTheOperation(t *testing.T) {
	t.Parallel()
	op := operation(t, notes(new(echo)), "importNotes")
	bind := func(body io.Reader, length int64) (io.Reader, error) {
		r := request(op, "", "x")
		r.Header.Set("Content-Type", "application/x-ndjson")
		r.Body, r.ContentLength = io.NopCloser(body), length
		b, err := op.Bind(r, nil)
		if err != nil {
			return nil, err
		}
		return b.Input().(*importNotes).Stream, nil
	}
	stream, err := bind(strings.NewReader("a\nb"), -1)
	if err != nil {
		t.Fatalf("Bind: %v", err)
	}
	if err := iotest.TestReader(stream, []byte("a\nb")); err != nil {
		t.Error(err)
	}
	_, err = bind(strings.NewReader(""), 64<<20+1)
	wants(t, err, 413, "", "")
	for status, body := range map[int]io.Reader{
		413: io.LimitReader(zeros{}, 64<<20+1),
		400: iotest.ErrReader(errors.New("malformed chunked encoding")),
	} {
		stream, err := bind(body, -1)
		if err != nil {
			t.Fatalf("Bind: %v", err)
		}
		n, err := io.Copy(io.Discard, stream)
		if p, ok := problem.As(err); !ok || endpoint.StatusOf(p.Code) != status || n > 64<<20 {
			t.Errorf("read %d bytes, then %v, want %d", n, err, status)
		}
	}
	r := request(op, "", "x")
	_, err = op.Bind(r, nil)
	wants(t, err, 415, "", "")
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestIfMatch(t *testing.T) {
	t.Parallel()
	op := operation(t, notes(new(echo)), "changeNote")
	bind := func(header string) (endpoint.IfMatch, error) {
		r := request(op, "", `{}`, "id", "n1")
		if header != "" {
			r.Header.Set("If-Match", header)
		}
		b, err := op.Bind(r, nil)
		if err != nil {
			return endpoint.IfMatch{}, err
		}
		return b.Input().(*changeNote).IfMatch, nil
	}
	for header, want := range map[string][]int64{
		`"3"`: {3}, ` "12" `: {12}, `W/"3"`: {3}, `"03"`: {}, `"x"`: {}, `""`: {}, `"1", "2"`: {1, 2}, `"1","2"`: {1, 2},
		`, "1",,"x", W/"4" ,"2" ,`: {1, 4, 2}, `"a,b", "3"`: {3}, `"99999999999999999999"`: {},
	} {
		m, err := bind(header)
		if err != nil || !m.Sent || m.Any || m.Revisions() == nil || !slices.Equal(m.Revisions(), want) {
			t.Errorf("If-Match %s: got %+v, %v, want %d", header, m, err, want)
		}
	}
	for header, any := range map[string]bool{"": false, "*": true} {
		m, err := bind(header)
		if err != nil || m.Revisions() != nil || m.Any != any || m.Sent != any {
			t.Errorf("If-Match %q: got %+v, %v", header, m, err)
		}
	}
	for _, header := range []string{"3", `"3`, `"1" "2"`, "W/3", `"`, ",", `*, "1"`, `"1", *`, `"a b"`, `"1"x`} {
		_, err := bind(header)
		wants(t, err, 400, "If-Match", problem.Format)
	}
	var none endpoint.IfNoneMatch
	if err := none.UnmarshalText([]byte(`W/"3", "4"`)); err != nil || none.Any || !slices.Equal(none.Revisions, []int64{3, 4}) {
		t.Errorf("If-None-Match of two: got %+v, %v", none, err)
	}
	if err := none.UnmarshalText([]byte(`*`)); err != nil || !none.Any {
		t.Errorf("If-None-Match *: got %+v, %v", none, err)
	}
	for header, want := range map[string]bool{"": false, `"3"`: true, `W/"3"`: true, `"2", "3"`: true, "*": true, `"4"`: false, `3`: false, `"3,4"`: false, `"2", W/"3"`: true} {
		if got := endpoint.Unchanged(header, endpoint.ETag(3)); got != want {
			t.Errorf("If-None-Match %s of revision 3: got %v", header, got)
		}
	}
}

func TestAWrongFormatIsDescribedWithAnExample(t *testing.T) {
	t.Parallel()
	op := operation(t, notes(new(echo)), "createNote")
	_, err := op.Bind(request(op, "", `{"title":"t","weight":1,"link":"example"}`), nil)
	const want = "link must be an http or https URL, such as https://example.com/page."
	if p, ok := problem.As(err); !ok || p.Message != want {
		t.Errorf("got %v, want %q", err, want)
	}
}
