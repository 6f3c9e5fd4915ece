package openapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"pgregory.net/rapid"

	"keepsake/internal/app"
	"keepsake/internal/base/problem"
	"keepsake/internal/web/endpoint"
)

// TestEveryOperationTakesWhatTheDocumentSaysItTakes makes requests out of the document, right ones and ones that are
// wrong at the edges of what it says, and asks an independent validator and the operation's own binder about each.
func TestEveryOperationTakesWhatTheDocumentSaysItTakes(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(read(t, "v1.json"))
	if err != nil {
		t.Fatal(err)
	}
	r := app.Declared()
	operations := append(r.At(1), r.Unversioned()...)
	for _, s := range app.Surfaces(r) {
		operations = append(append(operations, s.Operations.At(1)...), s.Operations.Unversioned()...)
	}
	if described := countOperations(doc); described != len(operations) {
		t.Errorf("openapi/v1.json has %d operations, and the code declares %d; run 'make openapi'", described, len(operations))
	}
	for _, op := range operations {
		t.Run(op.ID+" "+op.Path, func(t *testing.T) {
			t.Parallel()
			item := doc.Paths.Value(op.Route(1))
			if item == nil || item.GetOperation(op.Method) == nil {
				t.Fatalf("%s %s is not in openapi/v1.json; run 'make openapi'", op.Method, op.Route(1))
			}
			route := &routers.Route{Spec: doc, Path: op.Route(1), PathItem: item, Method: op.Method, Operation: item.GetOperation(op.Method)}
			taken := 0
			rapid.Check(t, func(t *rapid.T) {
				if agree(t, op, route) {
					taken++
				}
			})
			if taken < requests/10 {
				t.Errorf("%d requests were taken: too few to say something", taken)
			}
		})
	}
}

func countOperations(doc *openapi3.T) int {
	n := 0
	for _, item := range doc.Paths.Map() {
		n += len(item.Operations())
	}
	return n
}

// maker draws what a request is made of. A careful one makes only right things, so that enough requests are taken.
type maker struct {
	*rapid.T
	careful bool
}

// oneIn reports true once in n times, never from a careful maker.
func (m maker) oneIn(n int, what string) bool {
	return !m.careful && rapid.IntRange(1, n).Draw(m.T, what) == 1
}

// agree makes one request and reports whether it is taken, by both or by neither.
func agree(t *rapid.T, op *endpoint.Operation, route *routers.Route) bool {
	m := maker{T: t, careful: rapid.IntRange(0, 2).Draw(t, "careful") == 0}
	path, query, header, params := route.Path, url.Values{}, http.Header{}, map[string]string{}
	for _, ref := range route.Operation.Parameters {
		p := ref.Value
		switch p.In {
		case "path":
			params[p.Name] = m.text(p.Name, p.Schema.Value, "x y", "é")
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(params[p.Name]))
		case "query":
			for _, text := range m.parameter(p) {
				query.Add(p.Name, text)
			}
		case "header":
			if p.Name == "If-Match" && rapid.Bool().Draw(t, p.Name) {
				header.Set(p.Name, `"3"`)
			}
		}
	}
	body, media := "", ""
	if wanted := route.Operation.RequestBody; wanted != nil {
		media = "application/json" // a PATCH takes merge patches, too, of which the checker knows nothing
		if op.Class == endpoint.Stream {
			media = endpoint.MediaLines
		}
		body = `{"id":"a","title":"one line"}`
		if media == "application/json" {
			body = m.json("body", wanted.Value.Content[media].Schema.Value)
		}
		header.Set("Content-Type", media)
	}
	request := func() *http.Request {
		r := httptest.NewRequest(op.Method, path+"?"+query.Encode(), strings.NewReader(body))
		if body == "" {
			r = httptest.NewRequest(op.Method, path+"?"+query.Encode(), nil)
		}
		r.Header = header.Clone()
		for name, value := range params {
			r.SetPathValue(name, value)
		}
		return r
	}
	documented := openapi3filter.ValidateRequest(context.Background(), &openapi3filter.RequestValidationInput{
		Request: request(), PathParams: params, QueryParams: query, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, SkipSettingDefaults: true},
	})
	_, err := op.Bind(request(), nil)
	if p, ok := problem.As(err); err != nil && (!ok || p.Kind != problem.Invalid) {
		t.Fatalf("Bind: %v", err)
	}
	if (documented == nil) != (err == nil) && (err != nil || !isIDOfDigits(documented)) {
		t.Fatalf("%s %s?%s %.500s\nbinder:   %v\ndocument: %v", op.Method, path, query.Encode(), body, err, documented)
	}
	return err == nil
}

// isIDOfDigits reports whether the document only refuses that the ID of a document is an integer. It is taken as its digits
// (docs/spec/documents.md), and the document says what clients should send.
func isIDOfDigits(documented error) bool {
	return idOfDigits.MatchString(documented.Error())
}

var idOfDigits = regexp.MustCompile(`at '/(id|ids/\d+)': got number, want (null or )?string`)

// parameter draws the texts of a query parameter: none, one, or several of a list.
func (m maker) parameter(p *openapi3.Parameter) []string {
	if !p.Required && rapid.Bool().Draw(m.T, p.Name+" is left out") || m.oneIn(10, p.Name+" is forgotten") {
		return nil
	}
	s := p.Schema.Value
	switch {
	case s.Type.Is("array"):
		n := rapid.IntRange(0, 2).Draw(m.T, p.Name+" times")
		if s.MaxItems != nil && m.oneIn(10, p.Name+" too often") {
			n = int(*s.MaxItems) + 1
		}
		texts := make([]string, n)
		for i := range texts {
			texts[i] = m.text(p.Name, s.Items.Value)
		}
		return texts
	case s.Type.Is("integer"), s.Type.Is("number"):
		return []string{m.oneOf(p.Name, append(numbersOf(s), "x"))}
	case s.Type.Is("boolean"):
		return []string{m.oneOf(p.Name, []string{"true", "false", "yes"})}
	default:
		return []string{m.text(p.Name, s, " ")}
	}
}

// oneOf draws one of texts, of which the first is right.
func (m maker) oneOf(name string, texts []string) string {
	if m.careful {
		return texts[0]
	}
	return rapid.SampledFrom(texts).Draw(m.T, name)
}

// text draws a text that is right for s or wrong by little. It is never empty, as a path's segment is not.
func (m maker) text(name string, s *openapi3.Schema, others ...string) string {
	return m.oneOf(name, slices.DeleteFunc(append(textsOf(s), others...), func(text string) bool { return text == "" }))
}

// textsOf lists texts around the edges of what s takes, a right one first.
func textsOf(s *openapi3.Schema) []string {
	switch s.Format {
	case "date-time":
		return []string{"2031-07-01T12:00:00Z", "2031-07-01T12:00:00.123+02:00"}
	case "cidr":
		return []string{"203.0.113.0/24", "2001:db8::/32"}
	case "uri":
		return []string{"https://example.com/a?b=c"}
	}
	var texts []string
	for _, allowed := range s.Enum {
		if text, ok := allowed.(string); ok {
			texts = append(texts, text)
		}
	}
	if texts != nil {
		return append(texts, "odd", "")
	}
	for _, example := range s.Examples {
		if text, ok := example.(string); ok {
			texts = append(texts, text)
		}
	}
	texts = append(texts, "a", "b7", "", " ", "-x", strings.Repeat("a", 129))
	if most := s.MaxLength; most != nil && *most < 5000 {
		texts = append(texts, strings.Repeat("a", int(*most)), strings.Repeat("a", int(*most)+1), strings.Repeat("é", int(*most)))
	}
	return texts
}

func numbersOf(s *openapi3.Schema) []string {
	numbers := []string{"1", "2", "0", "-1"}
	if s.Min != nil && *s.Min > 1 { // the first is right
		numbers = append([]string{strconv.FormatFloat(*s.Min, 'f', -1, 64)}, numbers...)
	}
	for _, bound := range []*float64{s.Min, s.Max} {
		if bound != nil {
			for _, x := range []float64{*bound, *bound - 1, *bound + 1} {
				numbers = append(numbers, strconv.FormatFloat(x, 'f', -1, 64))
			}
		}
	}
	return numbers
}

// json draws a JSON text for s, seldom of another type.
func (m maker) json(name string, s *openapi3.Schema) string {
	if m.oneIn(15, name+" is of another type") {
		others := []string{"null", "true", "7", "[]", "{}", "[null]"}
		if s.Format == "" { // a validator need not look at the format of a text, the binder does
			others = append(others, `"text"`)
		}
		return rapid.SampledFrom(others).Draw(m.T, name)
	}
	if len(s.AnyOf) > 0 {
		return m.json(name, rapid.SampledFrom(s.AnyOf).Draw(m.T, name+" is one of").Value)
	}
	switch {
	case s.Type.Includes("string"):
		text, err := json.Marshal(m.oneOf(name, textsOf(s)))
		if err != nil {
			m.Fatal(err)
		}
		return string(text)
	case s.Type.Includes("integer"), s.Type.Includes("number"):
		return m.oneOf(name, numbersOf(s))
	case s.Type.Includes("boolean"):
		return strconv.FormatBool(rapid.Bool().Draw(m.T, name))
	case s.Type.Includes("array"):
		return m.list(name, s)
	case s.Type.Includes("object"):
		return m.object(name, s)
	default:
		return "null"
	}
}

func (m maker) list(name string, s *openapi3.Schema) string {
	items := make([]string, rapid.IntRange(int(s.MinItems), int(s.MinItems)+2).Draw(m.T, name+" items"))
	for i := range items {
		items[i] = m.json(name+" item", s.Items.Value)
	}
	switch {
	case m.oneIn(10, name+" has too few"):
		items = nil
	case s.MaxItems != nil && len(items) > 0 && m.oneIn(10, name+" has too many"):
		items = slices.Repeat(items[:1], int(*s.MaxItems)+1)
	}
	return "[" + strings.Join(items, ",") + "]"
}

func (m maker) object(name string, s *openapi3.Schema) string {
	var members []string
	for _, property := range slices.Sorted(maps.Keys(s.Properties)) {
		required := slices.Contains(s.Required, property)
		if required && !m.oneIn(15, property+" is forgotten") || !required && rapid.IntRange(0, 2).Draw(m.T, property+" is there") == 0 {
			members = append(members, strconv.Quote(property)+":"+m.json(property, s.Properties[property].Value))
		}
	}
	switch of := s.AdditionalProperties.Schema; {
	case of != nil:
		n := rapid.IntRange(0, 2).Draw(m.T, name+" entries")
		if s.MaxProps != nil && m.oneIn(10, name+" has too many") {
			n = int(*s.MaxProps) + 1
		}
		for i := range n {
			entry := m.json(name+" entry", of.Value)
			if entry == "null" && n > 2 {
				entry = `"x"` // an entry of null is absent, so it does not count
			}
			members = append(members, fmt.Sprintf(`"k%d":%s`, i, entry))
		}
	case m.oneIn(15, name+" has one more"):
		members = append(members, `"oneMore":1`)
	}
	return "{" + strings.Join(members, ",") + "}"
}
