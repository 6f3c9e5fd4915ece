// Package number reads and writes the numbers of metadata, and compares them with those of filters, without rounding an integer
// (docs/spec/conventions.md).
package number

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// Read reads a JSON number. A fraction is the float64 nearest to it. ok is false if the number is an integer that no float64
// holds, if it overflows, or if it is not zero but reads as zero. An integer with an exponent also counts as held if it is the
// shortest text of a float64, such as 6.02214076e23: it comes from a program that has a float64.
func Read(text string) (value float64, ok bool) {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, false
	}
	d := decimalOf(text)
	switch {
	case value == 0:
		return 0, d.digits == ""
	case d.fraction():
		return value, true
	case d == integerOf(value):
		return value, true
	default:
		return value, strings.ContainsAny(text, "eE") && d == shortestOf(value)
	}
}

// Append appends a finite number as JSON: the shortest text that reads as x. But digits without an exponent are those of exactly x,
// because many programs read them as an integer.
func Append(dst []byte, x float64) []byte {
	size := math.Abs(x)
	switch {
	case size == 0:
		return append(dst, '0')
	case size < 1<<53 && size >= 1e-6:
		return strconv.AppendFloat(dst, x, 'f', -1, 64)
	case size >= 1<<53 && size < 1e21:
		return strconv.AppendFloat(dst, x, 'f', 0, 64)
	}
	dst = strconv.AppendFloat(dst, x, 'e', -1, 64)
	if n := len(dst); dst[n-2] == '0' && (dst[n-3] == '-' || dst[n-3] == '+') { // e-09 becomes e-9
		dst = append(dst[:n-2], dst[n-1])
	}
	return dst
}

// Bound is the number of a filter, which need not be a float64.
type Bound struct {
	// Below is the largest float64 that is not above the number. It is minus infinity if there is none.
	Below float64
	// Exact reports whether Below is the number.
	Exact bool
}

// ReadBound reads the number of a filter: what Read returns or, if Read refuses it, its exact value. ok is false if the text is
// no JSON number.
func ReadBound(text string) (b Bound, ok bool) {
	if !valid(text) {
		return Bound{}, false
	}
	if value, ok := Read(text); ok {
		return Bound{Below: value + 0, Exact: true}, true // -0 is 0
	}
	d := decimalOf(text)
	near, _ := strconv.ParseFloat(text, 64) // an infinity if it overflows, 0 if it is too small
	switch {
	case math.IsInf(near, 1):
		return Bound{Below: math.MaxFloat64}, true
	case math.IsInf(near, -1):
		return Bound{Below: math.Inf(-1)}, true
	case near == 0 && d.negative:
		return Bound{Below: -math.SmallestNonzeroFloat64}, true
	case near == 0:
		return Bound{}, true
	case integerOf(near).compare(d) > 0:
		return Bound{Below: math.Nextafter(near, math.Inf(-1))}, true
	default:
		return Bound{Below: near}, true
	}
}

// Compare compares a number of metadata with b, like cmp.Compare.
func (b Bound) Compare(x float64) int {
	switch {
	case x > b.Below:
		return 1
	case x < b.Below || !b.Exact:
		return -1
	default:
		return 0
	}
}

// valid reports whether text is a number of JSON.
func valid(text string) bool {
	text = strings.TrimPrefix(text, "-")
	digits := func() int {
		n := 0
		for n < len(text) && text[n] >= '0' && text[n] <= '9' {
			n++
		}
		return n
	}
	n := digits()
	if n == 0 || n > 1 && text[0] == '0' {
		return false
	}
	text = text[n:]
	if strings.HasPrefix(text, ".") {
		text = text[1:]
		if n = digits(); n == 0 {
			return false
		}
		text = text[n:]
	}
	if text != "" && (text[0] == 'e' || text[0] == 'E') {
		text = text[1:]
		if text != "" && (text[0] == '+' || text[0] == '-') {
			text = text[1:]
		}
		if n = digits(); n == 0 {
			return false
		}
		text = text[n:]
	}
	return text == ""
}

// decimal is the value of a number: 0.digits × 10^exponent.
type decimal struct {
	negative bool
	digits   string // without leading and trailing zeros; empty for zero
	exponent int64
}

// maxExponent is larger than the length of any text, so a larger exponent of a number that is not zero changes nothing about how it
// compares with a float64.
const maxExponent = 1 << 40

// decimalOf parses a JSON number.
func decimalOf(text string) (d decimal) {
	text, d.negative = strings.CutPrefix(text, "-")
	mantissa, exponent := text, ""
	if e := strings.IndexAny(text, "eE"); e >= 0 {
		mantissa, exponent = text[:e], text[e+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	d.exponent = int64(len(digits) - len(fraction))
	if d.digits = strings.TrimRight(digits, "0"); d.digits == "" {
		return decimal{} // minus zero is zero
	}
	if exponent != "" {
		n, _ := strconv.ParseInt(exponent, 10, 64) // the nearest integer, if it is out of range
		d.exponent += max(-maxExponent, min(n, maxExponent))
	}
	return d
}

// integerOf returns the exact value of x, which is an integer if it is not below 1<<53.
func integerOf(x float64) decimal { return decimalOf(strconv.FormatFloat(x, 'f', 0, 64)) }

// shortestOf returns the value of the shortest text that reads as x.
func shortestOf(x float64) decimal { return decimalOf(strconv.FormatFloat(x, 'e', -1, 64)) }

// fraction reports whether d is not an integer.
func (d decimal) fraction() bool { return d.digits != "" && d.exponent < int64(len(d.digits)) }

// compare compares two numbers that are not zero and have the same sign.
func (d decimal) compare(other decimal) int {
	size := cmp.Or(cmp.Compare(d.exponent, other.exponent), strings.Compare(d.digits, other.digits))
	if d.negative {
		return -size
	}
	return size
}
