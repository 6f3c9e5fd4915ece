package document

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"keepsake/internal/base/number"
)

// Comparison compares a metadata entry with a value (docs/spec/documents.md). ParseComparison and Compare return one.
type Comparison struct {
	Name  string
	Op    Op
	Value string
	// Number is what Value is compared with numbers as; nil if it is no number.
	Number *number.Bound
}

// Compare returns a Comparison.
func Compare(name string, op Op, value string) Comparison {
	c := Comparison{Name: name, Op: op, Value: value}
	if bound, ok := number.ReadBound(value); ok {
		c.Number = &bound
	}
	return c
}

// Op is the operator of a Comparison.
type Op string

// The operators.
const (
	Equal          Op = "eq"
	NotEqual       Op = "ne"
	Less           Op = "lt"
	LessOrEqual    Op = "lte"
	Greater        Op = "gt"
	GreaterOrEqual Op = "gte"
)

// comparison is the text of a Comparison. The name ends at the first operator, because it can contain colons.
var comparison = regexp.MustCompile(`(?s)^(.+?):(eq|ne|lte?|gte?):(.*)$`)

// ParseComparison parses a filter in the form name:op:value. ok is false if it has another form.
func ParseComparison(filter string) (c Comparison, ok bool) {
	parts := comparison.FindStringSubmatch(filter)
	if parts == nil {
		return c, false
	}
	return Compare(parts[1], Op(parts[2]), parts[3]), true
}

// Matches reports whether metadata has an entry that compares as c says. A missing entry, and one that cannot be compared with the
// value, only matches ne. A list matches if an element does, and ne if none is equal.
func (c Comparison) Matches(metadata map[string]any) bool {
	if c.Op == NotEqual {
		equal := c
		equal.Op = Equal
		return !equal.Matches(metadata)
	}
	if list, ok := metadata[c.Name].([]any); ok {
		return slices.ContainsFunc(list, c.matches)
	}
	return c.matches(metadata[c.Name])
}

// matches is Matches for a value that is no list, and for other operators than ne.
func (c Comparison) matches(value any) bool {
	order, comparable := c.compare(value)
	switch c.Op {
	case Equal:
		return comparable && order == 0
	case Less:
		return comparable && order < 0
	case LessOrEqual:
		return comparable && order <= 0
	case Greater:
		return comparable && order > 0
	default:
		return comparable && order >= 0
	}
}

// compare compares an entry with the value: a number by its value, if the value of c is a number in JSON, and a string by its
// bytes. A boolean can only be equal.
func (c *Comparison) compare(entry any) (order int, comparable bool) {
	switch entry := entry.(type) {
	case string:
		return strings.Compare(entry, c.Value), true
	case float64:
		if c.Number == nil {
			return 0, false
		}
		return c.Number.Compare(entry), true
	case bool:
		return 0, strconv.FormatBool(entry) == c.Value
	default:
		return 0, false
	}
}

func matchesAll(metadata map[string]any, comparisons []Comparison) bool {
	for _, c := range comparisons {
		if !c.Matches(metadata) {
			return false
		}
	}
	return true
}
