package mcp

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"keepsake/internal/auth"
	"keepsake/internal/endpoint"
	"keepsake/internal/problem"
	"keepsake/internal/wire"
)

// tool is an operation of the API, or a few of them, in the form that agents call.
type tool struct {
	name, title string
	description string
	hints       hints
	params      []param
	output      string // JSON Schema of the result

	// allowed reports whether the caller's scopes allow the tool; scope is the one that is missing if not.
	scope   auth.Scopes
	allowed func(p *auth.Principal) bool // nil: the scope decides

	operation string // that the arguments go to, unless run is set
	// run calls operations and returns the result as JSON.
	run func(ctx context.Context, c *call) (wire.Value, error)
}

// hints say what a tool can do, for a client that asks its user before it calls one.
type hints struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"` // never: tools reach nothing outside of the instance
}

// place is the part of an operation's request that an argument goes to.
type place uint8

const (
	inBody place = iota
	inPath
	inQuery
	inHeader
)

// param is an argument of a tool.
type param struct {
	name     string
	schema   string // JSON Schema
	required bool
	in       place
	target   string                       // its name in the request; empty: the same
	quoted   bool                         // sent in quotes, as an entity tag
	preset   string                       // JSON that is sent in a body in place of an absent argument; empty: none
	bound    func(p *auth.Principal) bool // reports whether the API key decides the value; nil: never
}

// shown reports whether a caller sees the parameter.
func (p *param) shown(caller *auth.Principal) bool { return p.bound == nil || !p.bound(caller) }

// mayCall reports whether a caller sees the tool.
func (t *tool) mayCall(p *auth.Principal) bool {
	if t.allowed != nil {
		return t.allowed(p)
	}
	return p.Scopes.Allows(t.scope)
}

// definition is a tool in a list.
type definition struct {
	Name         string     `json:"name"`
	Title        string     `json:"title"`
	Description  string     `json:"description"`
	InputSchema  wire.Value `json:"inputSchema"`
	OutputSchema wire.Value `json:"outputSchema"`
	Annotations  hints      `json:"annotations"`
}

// define returns the tool as a caller sees it.
func (t *tool) define(p *auth.Principal) definition {
	var properties, required []string
	for i := range t.params {
		a := &t.params[i]
		if !a.shown(p) {
			continue
		}
		properties = append(properties, strconv.Quote(a.name)+":"+a.schema)
		if a.required {
			required = append(required, strconv.Quote(a.name))
		}
	}
	input := `{"type":"object","properties":{` + strings.Join(properties, ",") + `}`
	if required != nil {
		input += `,"required":[` + strings.Join(required, ",") + `]`
	}
	return definition{
		Name: t.name, Title: t.title, Description: t.description, InputSchema: wire.Value(input + `,"additionalProperties":false}`),
		OutputSchema: wire.Value(t.output), Annotations: t.hints,
	}
}

// call is a call of a tool.
type call struct {
	tool      *tool
	caller    *auth.Principal
	arguments map[string]wire.Value
	onceKey   string // Idempotency-Key of the HTTP request
	request   endpoint.Request
}

// check rejects arguments that the tool does not have, and misses those that it needs.
func (c *call) check() error {
	known := make([]string, len(c.tool.params))
	for i := range c.tool.params {
		p := &c.tool.params[i]
		known[i] = p.name
		if v, ok := c.arguments[p.name]; p.required && p.shown(c.caller) && (!ok || v.Kind() == 'n') {
			return problem.Validation(p.name, problem.Required, p.name+" is required.")
		}
	}
	for name := range c.arguments {
		if slices.Contains(known, name) {
			continue
		}
		shown := name[:min(len(name), 64)]
		says := fmt.Sprintf("There is no argument %q.", shown)
		if meant := problem.Similar(name, known); meant != "" {
			says += fmt.Sprintf(" Did you mean %q?", meant)
		}
		return problem.Validation(shown, problem.Unknown, says)
	}
	return nil
}

// text returns an argument that is a string; empty if it is absent.
func (c *call) text(name string) (string, error) {
	v, ok := c.arguments[name]
	if !ok || v.Kind() == 'n' {
		return "", nil
	}
	s, ok := stringOf(v)
	if !ok {
		return "", problem.Validation(name, problem.Type, name+" must be a string.")
	}
	return s, nil
}

// operate sends the arguments to the tool's operation.
func (c *call) operate() (endpoint.Response, error) {
	request := endpoint.Call{Operation: c.tool.operation, Path: map[string]string{}, Query: url.Values{}, Header: c.once()}
	body, hasBody := []string{}, false
	for i := range c.tool.params {
		p := &c.tool.params[i]
		v, ok := c.arguments[p.name]
		if p.in == inBody {
			hasBody = true
			if !ok && p.preset != "" {
				v, ok = wire.Value(p.preset), true
			}
			if ok {
				body = append(body, strconv.Quote(p.name)+":"+string(v))
			}
			continue
		}
		if !ok || v.Kind() == 'n' {
			continue
		}
		if err := p.send(v, &request); err != nil {
			return endpoint.Response{}, err
		}
	}
	if hasBody {
		request.Body = []byte("{" + strings.Join(body, ",") + "}")
	}
	return c.request.Call(&request)
}

// send puts an argument into the path, the query or a header.
func (p *param) send(v wire.Value, to *endpoint.Call) error {
	name := p.name
	if p.target != "" {
		name = p.target
	}
	values := []wire.Value{v}
	if v.Kind() == '[' && p.in == inQuery {
		if err := wire.Decode(v, &values); err != nil {
			return err
		}
	}
	for _, v := range values {
		text := string(v)
		switch v.Kind() {
		case '"':
			text, _ = stringOf(v)
		case '0', 't', 'f':
		default:
			return problem.Validation(p.name, problem.Type, p.name+" has the wrong type.")
		}
		if p.quoted {
			text = strconv.Quote(text)
		}
		switch p.in {
		case inPath:
			to.Path[name] = text
		case inQuery:
			to.Query.Add(name, text)
		default:
			if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
				return problem.Validation(p.name, problem.Format, p.name+" must have only printable ASCII characters.")
			}
			to.Header[name] = text
		}
	}
	return nil
}

// result calls the tool.
func (c *call) result(ctx context.Context) (wire.Value, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.tool.run != nil {
		result, err := c.tool.run(ctx, c)
		return result, c.named(err)
	}
	resp, err := c.operate()
	if err != nil {
		return nil, c.named(err)
	}
	return wire.Value(resp.Body), nil
}

// named returns a problem with the name of the argument that it is about, which can differ from that in the operation.
func (c *call) named(err error) error {
	p, ok := problem.As(err)
	if !ok {
		return err
	}
	for i := range c.tool.params {
		a := &c.tool.params[i]
		if _, given := c.arguments[a.name]; given && a.target != "" && p.Details.Field == a.target {
			renamed := *p
			renamed.Details.Field = a.name
			return &renamed
		}
	}
	return err
}
