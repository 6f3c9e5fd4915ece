package endpoint

import (
	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"keepsake/internal/base/problem"
)

// AutoBool is true, false or auto. In JSON it is a boolean or one of these three as a text. It is empty if it is absent.
type AutoBool string

// The values of an AutoBool.
const (
	AutoBoolAuto  AutoBool = "auto"
	AutoBoolTrue  AutoBool = "true"
	AutoBoolFalse AutoBool = "false"
)

const autoBoolValues = "It must be auto, true or false."

// UnmarshalText parses a parameter.
func (b *AutoBool) UnmarshalText(text []byte) error {
	if !b.set(string(text)) {
		return problem.Validation("", problem.Type, autoBoolValues)
	}
	return nil
}

// UnmarshalJSONFrom decodes a member of a body.
func (b *AutoBool) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	switch kind := token.Kind(); {
	case kind == 'n':
		*b = ""
		return nil
	case kind == 't' || kind == 'f' || kind == '"':
		if b.set(token.String()) {
			return nil
		}
	}
	return problem.Validation("", problem.Format, autoBoolValues)
}

func (b *AutoBool) set(text string) bool {
	switch v := AutoBool(text); v {
	case AutoBoolAuto, AutoBoolTrue, AutoBoolFalse:
		*b = v
		return true
	}
	return false
}

// Schema describes the type in the document.
func (AutoBool) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{{Type: "boolean"}, {Type: "string", Enum: []any{"auto", "true", "false"}}}}
}
