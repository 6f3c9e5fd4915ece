package wire

import (
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// integers decodes integers with a fraction of zeros, such as 5.0. JSON has only one number type, and in JSON Schema
// 5.0 is an integer. The library rejects them.
var integers = json.JoinUnmarshalers(json.UnmarshalFromFunc(readInteger[int]), json.UnmarshalFromFunc(readInteger[int64]))

func readInteger[T int | int64](dec *jsontext.Decoder, n *T) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported // the decoder explains what is wrong
	}
	text, err := dec.ReadValue()
	if err != nil {
		return err
	}
	whole, fraction, _ := strings.Cut(string(text), ".")
	if strings.Trim(fraction, "0") != "" {
		return &json.SemanticError{JSONPointer: dec.StackPointer(), JSONKind: '0', Err: errType}
	}
	parsed, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return &json.SemanticError{JSONPointer: dec.StackPointer(), JSONKind: '0', JSONValue: text.Clone(), Err: err}
	}
	*n = T(parsed)
	return nil
}

// IntegerText returns the digits of a JSON number that is an integer without an exponent. 5.0 is one.
func IntegerText(number string) (digits string, ok bool) {
	whole, fraction, _ := strings.Cut(number, ".")
	switch {
	case strings.Trim(fraction, "0") != "" || strings.ContainsAny(whole, "eE"):
		return "", false
	case whole == "-0":
		return "0", true
	default:
		return whole, true
	}
}
