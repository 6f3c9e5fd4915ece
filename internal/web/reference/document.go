package reference

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// description is what the reference shows of an OpenAPI document.
type description struct {
	Version int
	Intro   string
	Groups  []group
}

// group is the operations of a tag.
type group struct {
	Slug, Name, Text string
	Operations       []operation
}

// operation is an operation of the API.
type operation struct {
	ID, Method, Path, Summary, Text string
	Scope                           string
	Keys, Tokens, Secret            bool   // it accepts API keys, access tokens, the backend secret
	Server                          string // its base address, if that is not the API's
	Parameters                      []parameter
	Media                           []string // of the body
	Body                            []field
	BodyExamples                    []string // one for each of Media
	BodyRequired                    bool
	Results                         []result
	Codes                           []string
}

// parameter is a parameter in the path, the query or a header.
type parameter struct {
	field
	In      string
	Many    bool // it can be repeated
	Example string
}

// result is a successful response.
type result struct {
	Status  string
	Text    string
	Media   []string
	Body    []field
	Example string
	Headers []field
}

// openAPI is the part of an OpenAPI document that the reference reads.
type openAPI struct {
	Info struct {
		Description string
	}
	Tags []struct {
		Name, Description string
	}
	Paths      map[string]map[string]*openOperation
	Components struct {
		Schemas    map[string]*schema
		Parameters map[string]*openParameter
		Headers    map[string]*openHeader
	}

	memories bool // the operation that is described is about memories
}

type openOperation struct {
	OperationID          string
	Summary, Description string
	Tags                 []string
	Parameters           []*openParameter
	RequestBody          *struct {
		Required bool
		Content  map[string]openMedia
	}
	Responses map[string]*struct {
		Description string
		Content     map[string]openMedia
		Headers     map[string]*openHeader
	}
	Security []map[string][]string
	Servers  []struct{ URL string }
	Scope    string   `json:"x-required-scope"`
	Codes    []string `json:"x-error-codes"`
}

type openParameter struct {
	Ref         string `json:"$ref"`
	Name, In    string
	Description string
	Required    bool
	Schema      *schema
}

type openMedia struct {
	Schema  *schema
	Example json.RawMessage
}

type openHeader struct {
	Ref         string `json:"$ref"`
	Description string
	Schema      *schema
}

// describe reads the OpenAPI document of a version.
func describe(version int, text []byte) (*description, error) {
	var doc openAPI
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("read the description of version %d: %w", version, err)
	}
	d := &description{Version: version, Intro: doc.Info.Description}
	for _, t := range doc.Tags {
		g := group{Slug: strings.ReplaceAll(t.Name, " ", "-"), Name: title(t.Name), Text: t.Description}
		for path, methods := range doc.Paths {
			for method, op := range methods {
				if slices.Contains(op.Tags, t.Name) {
					g.Operations = append(g.Operations, doc.operation(strings.ToUpper(method), path, op))
				}
			}
		}
		slices.SortFunc(g.Operations, func(a, b operation) int {
			return cmp.Or(cmp.Compare(a.Path, b.Path), slices.Index(methodOrder, a.Method)-slices.Index(methodOrder, b.Method))
		})
		if len(g.Operations) > 0 {
			d.Groups = append(d.Groups, g)
		}
	}
	return d, nil
}

var methodOrder = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}

// title returns the name of a tag as a title.
func title(name string) string {
	if name == "api keys" {
		return "API keys"
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

func (doc *openAPI) operation(method, path string, from *openOperation) operation {
	doc.memories = strings.Contains(path, "/memories")
	op := operation{
		ID: from.OperationID, Method: method, Path: path, Summary: from.Summary, Text: from.Description, Scope: from.Scope, Codes: from.Codes,
	}
	for _, alternative := range from.Security {
		_, key := alternative["apiKey"]
		_, token := alternative["bearer"]
		_, secret := alternative["backendSecret"]
		op.Keys, op.Tokens, op.Secret = op.Keys || key, op.Tokens || token, op.Secret || secret
	}
	for _, s := range from.Servers {
		op.Server = s.URL
	}
	for _, p := range from.Parameters {
		if known := doc.Components.Parameters[name(p.Ref)]; known != nil {
			p = known
		}
		op.Parameters = append(op.Parameters, doc.parameter(p))
	}
	if body := from.RequestBody; body != nil {
		op.BodyRequired = body.Required
		op.Media = medias(body.Content)
		if s := body.Content[op.Media[0]].Schema; s != nil {
			op.Body = doc.fields(s, 0, true)
		}
		for _, media := range op.Media {
			op.BodyExamples = append(op.BodyExamples, doc.bodyExample(body.Content[media], media))
		}
	}
	for status, r := range from.Responses {
		if status[0] != '2' {
			continue
		}
		res := result{Status: status, Text: r.Description, Media: medias(r.Content)}
		if len(res.Media) > 0 {
			s := r.Content[res.Media[0]].Schema
			res.Body = doc.fields(s, 0, false)
			res.Example = doc.exampleText(s, res.Media[0], false)
		}
		for header, h := range r.Headers {
			if known := doc.Components.Headers[name(h.Ref)]; known != nil {
				h = known
			}
			res.Headers = append(res.Headers, doc.field(header, h.Schema, h.Description, false, 0, false))
		}
		slices.SortFunc(res.Headers, func(a, b field) int { return cmp.Compare(a.Name, b.Name) })
		op.Results = append(op.Results, res)
	}
	slices.SortFunc(op.Results, func(a, b result) int { return cmp.Compare(a.Status, b.Status) })
	return op
}

func (doc *openAPI) parameter(p *openParameter) parameter {
	s := p.Schema
	param := parameter{field: doc.field(p.Name, s, p.Description, p.Required, 0, true), In: p.In, Many: s.Type.has("array")}
	switch {
	case len(s.Examples) == 0:
	case param.Many:
		// The example of a list is a list, or an item.
		list, ok := s.Examples[0].([]any)
		if !ok {
			list = s.Examples[:1]
		}
		for _, item := range list {
			param.Example += fmt.Sprintln(item)
		}
	default:
		param.Example = text(s.Examples[0])
	}
	param.Example = strings.TrimSpace(param.Example)
	return param
}

// medias returns media types, JSON first.
func medias(content map[string]openMedia) []string {
	list := make([]string, 0, len(content))
	for media := range content {
		list = append(list, media)
	}
	slices.SortFunc(list, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	return list
}

func rank(media string) int {
	if i := slices.Index([]string{"application/json", "application/x-ndjson"}, media); i >= 0 {
		return i
	}
	return 2
}

// name returns the last part of a reference.
func name(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// text returns a JSON value as a person writes it.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}
