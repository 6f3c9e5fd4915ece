package mcp

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/endpoint"
)

// call is a call of a tool.
type call struct {
	tool      *tool
	caller    *auth.Principal
	arguments map[string]wire.Value // none is null
	removed   map[string]wire.Value // members of a body that take a field away
	onceKey   string                // Idempotency-Key of the HTTP request
	request   endpoint.Request
}

// check rejects the absence of arguments that the tool needs, and unknown arguments that are probably typing errors. Other
// unknown ones are ignored, because some clients add arguments of their own to every call.
func (c *call) check() error {
	known := make([]string, len(c.tool.params))
	for i := range c.tool.params {
		known[i] = c.tool.params[i].name
	}
	for _, name := range slices.Sorted(maps.Keys(c.arguments)) {
		if slices.Contains(known, name) {
			continue
		}
		if meant := resembled(name, known); meant != "" {
			shown := string([]rune(name)[:min(utf8.RuneCountInString(name), 64)])
			return problem.Validation(shown, problem.Unknown, fmt.Sprintf("There is no argument %q. Did you mean %q?", shown, meant))
		}
	}
	for i := range c.tool.params {
		p := &c.tool.params[i]
		if _, ok := c.arguments[p.name]; p.required && p.shown(c.caller) && !ok {
			return problem.Validation(p.name, problem.Required, p.name+" is required.")
		}
	}
	return nil
}

// present returns the members that are not null, because null means that an argument is left out. It applies to the members of
// arguments too, such as the entries of metadata.
func present(members map[string]wire.Value) map[string]wire.Value {
	for name, v := range members {
		switch v.Kind() {
		case 'n':
			delete(members, name)
		case '{':
			if inner, ok := objectOf(v); ok && hasNull(inner) {
				if text, err := wire.Encode(present(inner)); err == nil {
					members[name] = text
				}
			}
		}
	}
	return members
}

// hasNull reports whether a member or a member of its members is null.
func hasNull(members map[string]wire.Value) bool {
	for _, v := range members {
		if v.Kind() == 'n' {
			return true
		}
		if v.Kind() == '{' {
			if inner, ok := objectOf(v); ok && hasNull(inner) {
				return true
			}
		}
	}
	return false
}

// text returns an argument that is a string; empty if it is absent.
func (c *call) text(name string) (string, error) {
	v, ok := c.arguments[name]
	if !ok {
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
		hasBody = hasBody || p.in == inBody
		if !ok && p.preset != "" {
			v, ok = wire.Value(p.preset), true
		}
		if !ok || p.in == unsent {
			continue
		}
		if p.in == inBody {
			body = append(body, strconv.Quote(p.name)+":"+string(v))
			continue
		}
		if err := p.send(v, &request); err != nil {
			return endpoint.Response{}, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.removed)) {
		body = append(body, strconv.Quote(name)+":"+string(c.removed[name]))
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
	result, err := c.runShort(ctx)
	if err != nil {
		return nil, c.named(err)
	}
	return result, nil
}

func (c *call) run(ctx context.Context) (wire.Value, error) {
	if c.tool.run != nil {
		return c.tool.run(ctx, c)
	}
	resp, err := c.operate()
	return wire.Value(resp.Body), err
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
