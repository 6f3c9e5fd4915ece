package wire

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// exactly parses a JSON number into a float64. It returns false if the float64 is a different number.
func exactly(text string) (float64, bool) {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, false
	}
	return number, decimalOf(text) == decimalOf(strconv.FormatFloat(number, 'e', -1, 64))
}

// decimal is the value of a number: 0.digits × 10^exponent.
type decimal struct {
	negative bool
	digits   string // without leading and trailing zeros; empty for zero
	exponent int
}

// decimalOf parses a JSON number.
func decimalOf(text string) (d decimal) {
	text, d.negative = strings.CutPrefix(text, "-")
	mantissa, exponent := text, ""
	if e := strings.IndexAny(text, "eE"); e >= 0 {
		mantissa, exponent = text[:e], text[e+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	d.exponent = len(digits) - len(fraction)
	if d.digits = strings.TrimRight(digits, "0"); d.digits == "" {
		return decimal{} // minus zero is zero
	}
	if exponent != "" {
		n, err := strconv.Atoi(exponent)
		if err != nil {
			n = math.MaxInt32 // far outside the range of a float64
		}
		d.exponent += n
	}
	return d
}

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
