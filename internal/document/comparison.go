package document

import (
	"cmp"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Comparison compares a metadata entry with a value (decisions.md, F).
type Comparison struct {
	Name  string
	Op    Op
	Value string
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
	return Comparison{Name: parts[1], Op: Op(parts[2]), Value: parts[3]}, true
}

// Matches reports whether metadata has an entry that compares as c says. A missing entry, and one that cannot be compared with the
// value, only matches ne.
func (c Comparison) Matches(metadata map[string]any) bool {
	order, comparable := compare(metadata[c.Name], c.Value)
	switch c.Op {
	case Equal:
		return comparable && order == 0
	case NotEqual:
		return !comparable || order != 0
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

// compare compares an entry with a value: a number with a number, a string by its bytes. A boolean can only be equal.
func compare(entry any, value string) (order int, comparable bool) {
	switch entry := entry.(type) {
	case string:
		return strings.Compare(entry, value), true
	case float64:
		number, err := strconv.ParseFloat(value, 64)
		return cmp.Compare(entry, number), err == nil && !math.IsNaN(number)
	case bool:
		return 0, strconv.FormatBool(entry) == value
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
