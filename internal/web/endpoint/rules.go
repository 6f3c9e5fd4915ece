package endpoint

import (
	"fmt"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"keepsake/internal/base/problem"
)

// rules are the constraints of a value. The zero value has none.
type rules struct {
	minLength, maxLength *int // code points
	maxBytes             *int
	minItems, maxItems   *int // of a list
	maxProperties        *int // of a map
	minimum, maximum     *float64
	pattern              *regexp.Regexp
	format               *format
	enum                 []string // as text, also of numbers
}

// format is a supported value of the tag format.
type format struct {
	valid func(string) bool
	says  string // what a value must be
}

var formats = map[string]*format{
	// A stored URL is shown as a link, where javascript: and the like would run.
	"uri": {says: "an http or https URL, such as https://example.com/page", valid: func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
	}},
	"cidr": {says: "a network in CIDR notation, such as 203.0.113.0/24 or 203.0.113.7/32", valid: func(s string) bool {
		_, err := netip.ParsePrefix(s)
		return err == nil
	}},
}

// patterns caches compiled patterns: few are used in many places, and a bound on characters compiles to a large one.
var patterns sync.Map

func compiled(text string) (*regexp.Regexp, error) {
	if there, ok := patterns.Load(text); ok {
		return there.(*regexp.Regexp), nil
	}
	pattern, err := regexp.Compile(text)
	if err == nil {
		patterns.Store(text, pattern)
	}
	return pattern, err
}

// constrained returns s with the constraint tags of f. On a list, the tags of scalars apply to each item.
func constrained(s *shape, f reflect.StructField) *shape {
	var r rules
	for tag, target := range map[string]**int{
		"minLength": &r.minLength, "maxLength": &r.maxLength, "maxBytes": &r.maxBytes,
		"minItems": &r.minItems, "maxItems": &r.maxItems, "maxProperties": &r.maxProperties,
	} {
		if text, ok := f.Tag.Lookup(tag); ok {
			n, err := strconv.Atoi(text)
			must(err, f, tag)
			*target = &n
		}
	}
	for tag, target := range map[string]**float64{"minimum": &r.minimum, "maximum": &r.maximum} {
		if text, ok := f.Tag.Lookup(tag); ok {
			x, err := strconv.ParseFloat(text, 64)
			must(err, f, tag)
			*target = &x
		}
	}
	if text, ok := f.Tag.Lookup("pattern"); ok {
		pattern, err := compiled(text)
		must(err, f, "pattern")
		r.pattern = pattern
	}
	if text, ok := f.Tag.Lookup("enum"); ok {
		r.enum = strings.Split(text, ",")
	}
	if text, ok := f.Tag.Lookup("format"); ok {
		if r.format = formats[text]; r.format == nil {
			panic(fmt.Sprintf("endpoint: field %s: no such format %q", f.Name, text))
		}
	}
	if reflect.ValueOf(r).IsZero() {
		return s
	}
	limited := *s
	if s.kind != listKind {
		r.mustFit(s, f)
		limited.rules = r
		return &limited
	}
	limited.rules = rules{minItems: r.minItems, maxItems: r.maxItems}
	r.minItems, r.maxItems = nil, nil
	item, itemShape := *s.item, *s.item.shape
	r.mustFit(&itemShape, f)
	itemShape.rules = r
	item.shape = &itemShape
	limited.item = &item
	return &limited
}

// mustFit panics if a constraint does not apply to values of s, because it would never be checked.
func (r *rules) mustFit(s *shape, f reflect.StructField) {
	left := *r
	switch s.kind {
	case stringKind:
		left = rules{minItems: r.minItems, maxItems: r.maxItems, maxProperties: r.maxProperties, minimum: r.minimum, maximum: r.maximum}
	case integerKind:
		left.minimum, left.maximum, left.enum = nil, nil, nil
	case numberKind:
		left.minimum, left.maximum = nil, nil
	case mapKind:
		left.maxProperties = nil
	}
	if !reflect.ValueOf(left).IsZero() {
		panic(fmt.Sprintf("endpoint: field %s: a constraint does not fit %s", f.Name, s.typ))
	}
}

func must(err error, f reflect.StructField, tag string) {
	if err != nil {
		panic(fmt.Sprintf("endpoint: field %s: tag %s: %v", f.Name, tag, err))
	}
}

// fault is a violated constraint. Its path grows from the inside out, so that a valid value costs nothing.
type fault struct {
	field     string
	issue     problem.Issue
	says      string // the end of the message, after the field's name: "must be at least 1."
	anonymous bool   // the caller chose the field's name, so the message omits it
}

func (f *fault) problem() *problem.Problem {
	switch {
	case f.anonymous:
		return problem.Validation(f.field, f.issue, f.says)
	case f.field == "":
		return problem.Validation("body", f.issue, "The body "+f.says)
	default:
		return problem.Validation(f.field, f.issue, f.field+" "+f.says)
	}
}

// matches says in words what a text must be to match a pattern, if the pattern is that of an ID that clients choose.
func matches(pattern string) string {
	const chosen = "must have 1 to 128 letters, digits and . _ : @ | + = -, and must not begin with "
	switch pattern {
	case "^[A-Za-z0-9_|+=-][A-Za-z0-9._:@|+=-]{0,127}$":
		return chosen + ". : or @"
	case "^[A-Za-z0-9_|+=@-][A-Za-z0-9._:@|+=-]{0,127}$":
		return chosen + ". or :"
	default:
		return "must match " + pattern
	}
}

func (r *rules) checkString(s string) *fault {
	switch {
	case r.maxBytes != nil && len(s) > *r.maxBytes:
		return &fault{issue: problem.TooLong, says: "must have at most " + count(*r.maxBytes, "byte") + "."}
	case r.maxLength != nil && len(s) > *r.maxLength && utf8.RuneCountInString(s) > *r.maxLength:
		return &fault{issue: problem.TooLong, says: "must have at most " + count(*r.maxLength, "character") + "."}
	case r.minLength != nil && utf8.RuneCountInString(s) < *r.minLength:
		return &fault{issue: problem.TooShort, says: "must have at least " + count(*r.minLength, "character") + "."}
	case r.enum != nil && !slices.Contains(r.enum, s):
		return r.notAllowed()
	case r.pattern != nil && !r.pattern.MatchString(s):
		return &fault{issue: problem.Format, says: matches(r.pattern.String())}
	case r.format != nil && !r.format.valid(s):
		return &fault{issue: problem.Format, says: "must be " + r.format.says + "."}
	}
	return nil
}

func (r *rules) checkInteger(n int64) *fault {
	if r.enum != nil && !slices.Contains(r.enum, strconv.FormatInt(n, 10)) {
		return r.notAllowed()
	}
	return r.checkNumber(float64(n))
}

func (r *rules) checkNumber(x float64) *fault {
	switch {
	case r.minimum != nil && x < *r.minimum:
		return &fault{issue: problem.TooSmall, says: "must be at least " + decimal(*r.minimum) + "."}
	case r.maximum != nil && x > *r.maximum:
		return &fault{issue: problem.TooLargeVal, says: "must be at most " + decimal(*r.maximum) + "."}
	}
	return nil
}

// count returns a number with a noun, for messages.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func (r *rules) checkItems(n int) *fault {
	switch {
	case r.minItems != nil && n < *r.minItems:
		return &fault{issue: problem.TooShort, says: "must have at least " + count(*r.minItems, "item") + "."}
	case r.maxItems != nil && n > *r.maxItems:
		return &fault{issue: problem.TooLong, says: "must have at most " + count(*r.maxItems, "item") + "."}
	}
	return nil
}

func (r *rules) checkProperties(n int) *fault {
	if r.maxProperties != nil && n > *r.maxProperties {
		return &fault{issue: problem.TooLong, says: fmt.Sprintf("must have at most %d entries.", *r.maxProperties)}
	}
	return nil
}

func (r *rules) notAllowed() *fault {
	return &fault{issue: problem.NotAllowed, says: "must be one of " + strings.Join(r.enum, ", ") + "."}
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
