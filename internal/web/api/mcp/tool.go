package mcp

import (
	"context"
	"strconv"
	"strings"

	"keepsake/internal/base/wire"
	"keepsake/internal/govern/auth"
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

	operation string     // that the arguments go to, unless run is set
	shorten   *shortened // what can be too long in the result; nil: nothing
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
	unsent // the tool handles it itself
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
		Name: t.name, Title: t.title, Description: t.description, InputSchema: wire.Value(input + `}`),
		OutputSchema: wire.Value(t.output), Annotations: t.hints,
	}
}
