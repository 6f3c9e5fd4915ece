package endpoint

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"keepsake/internal/base/problem"
)

// place is the place of a parameter in a request.
type place string

const (
	inPath   place = "path"
	inQuery  place = "query"
	inHeader place = "header"
)

// param is a parameter of an operation.
type param struct {
	member
	place  place
	header string // canonical name
}

// compileParam compiles a field with one of the tags path, query and header.
func (c *shapes) compileParam(f reflect.StructField) (param, bool) {
	for _, p := range []place{inPath, inQuery, inHeader} {
		name, ok := f.Tag.Lookup(string(p))
		if !ok {
			continue
		}
		result := param{member: c.member(name, f), place: p, header: http.CanonicalHeaderKey(name)}
		result.required = boolTag(f, "required", p == inPath)
		scalar := result.shape
		if scalar.kind == listKind && p == inQuery {
			scalar = scalar.item.shape
		}
		if result.optional || scalar.kind > textKind {
			panic(fmt.Sprintf("endpoint: field %s: %s cannot be a %s parameter", f.Name, f.Type, p))
		}
		return result, true
	}
	return param{}, false
}

// set parses text into the field of in. It appends to a list.
func (p *param) set(in reflect.Value, text string) *fault {
	v := p.of(in)
	switch {
	case p.unsupported:
		return (&fault{issue: problem.Unsupported, says: "is not supported yet."}).in(p.name)
	case p.required && blank(text):
		return p.missing().in(p.name)
	case p.place == inQuery && text == "":
		return (&fault{issue: problem.Required, says: "must not be empty; leave it out instead."}).in(p.name)
	case !utf8.ValidString(text):
		return (&fault{issue: problem.Format, says: "must be valid UTF-8."}).in(p.name)
	}
	var f *fault
	switch {
	case p.shape.kind == listKind:
		n := v.Len()
		v.Grow(1)
		v.SetLen(n + 1)
		f = p.shape.item.shape.parse(v.Index(n), text)
	case p.pointer:
		target := reflect.New(p.shape.typ)
		if f = p.shape.parse(target.Elem(), text); f == nil {
			v.Set(target)
		}
	default:
		f = p.shape.parse(v, text)
	}
	if f != nil {
		return f.in(p.name)
	}
	return nil
}

// check checks a parameter that was sent.
func (p *param) check(in reflect.Value) *fault {
	v := p.of(in)
	if p.pointer {
		v = v.Elem()
	}
	if f := p.shape.check(v, unknown); f != nil {
		return f.in(p.name)
	}
	return nil
}

// parse parses the text of a parameter into v.
func (s *shape) parse(v reflect.Value, text string) *fault {
	switch s.kind {
	case stringKind:
		v.SetString(text)
	case boolKind:
		if text != "true" && text != "false" {
			return &fault{issue: problem.Type, says: "must be true or false."}
		}
		v.SetBool(text == "true")
	case integerKind:
		// 5.0 is an integer, as in a body.
		if whole, fraction, ok := strings.Cut(text, "."); ok && fraction != "" && strings.Trim(fraction, "0") == "" {
			text = whole
		}
		n, err := strconv.ParseInt(text, 10, v.Type().Bits())
		if f := numberFault(err, text); f != nil {
			return f
		}
		if strconv.FormatInt(n, 10) != text { // +5, 007
			return &fault{issue: problem.Type, says: "must be an integer."}
		}
		v.SetInt(n)
	case numberKind:
		x, err := strconv.ParseFloat(text, v.Type().Bits())
		if strings.Trim(text, "0123456789.eE+-") != "" { // infinities, hexadecimal
			err = strconv.ErrSyntax
		}
		if f := numberFault(err, text); f != nil {
			return f
		}
		v.SetFloat(x)
	default:
		err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
		if p, ok := problem.As(err); ok {
			return &fault{issue: p.Details.Issue, says: "is refused: " + p.Message}
		}
		if err != nil {
			return &fault{issue: problem.Format, says: "is malformed."}
		}
	}
	return nil
}

func numberFault(err error, text string) *fault {
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, strconv.ErrRange):
		return &fault{issue: problem.Type, says: "must be a number."}
	case strings.HasPrefix(text, "-"):
		return &fault{issue: problem.TooSmall, says: "is too small a number."}
	default:
		return &fault{issue: problem.TooLargeVal, says: "is too large a number."}
	}
}

// bindQuery parses raw into the query parameters of in. It sets seen for each parameter that was sent.
func (d *input) bindQuery(raw string, in reflect.Value, seen []bool) *fault {
	for raw != "" {
		var pair string
		if pair, raw, _ = strings.Cut(raw, "&"); pair == "" {
			continue
		}
		name, text, _ := strings.Cut(pair, "=")
		name, err := unescape(name)
		if err != nil {
			return &fault{field: "query", issue: problem.Format, says: "must be percent-encoded."}
		}
		i, ok := d.queries[name]
		if !ok {
			return d.unknownQuery(name)
		}
		p := &d.params[i]
		if text, err = unescape(text); err != nil {
			return (&fault{issue: problem.Format, says: "must be percent-encoded."}).in(p.name)
		}
		if seen[i] && p.shape.kind != listKind {
			return (&fault{issue: problem.Duplicate, says: "is given twice."}).in(p.name)
		}
		seen[i] = true
		if f := p.set(in, text); f != nil {
			return f
		}
	}
	return nil
}

// unknownQuery returns the problem of an unknown query parameter, with a suggestion.
func (d *input) unknownQuery(name string) *fault {
	shown := cmp.Or(printable(name), "query")
	says := fmt.Sprintf("There is no query parameter %q.", shown)
	says += problem.Meant(name, slices.Sorted(maps.Keys(d.queries)))
	return &fault{field: shown, issue: problem.Unknown, anonymous: true, says: says}
}

func unescape(s string) (string, error) {
	if !strings.ContainsAny(s, "%+") {
		return s, nil
	}
	return url.QueryUnescape(s)
}

// printable shortens a name that the client chose, for an error message.
func printable(name string) string {
	const most = 128
	if len(name) > most {
		name = name[:most] + "…"
	}
	return strings.ToValidUTF8(name, "\uFFFD")
}
