package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Micros is how a time is stored.
func Micros(t time.Time) int64 { return t.UnixMicro() }

// maybeMicros is Micros for a column that may be NULL.
func maybeMicros(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	us := t.UnixMicro()
	return &us
}

// TimeOf reads what Micros wrote.
func TimeOf(us int64) time.Time { return time.UnixMicro(us).UTC() }

// maybeTime reads what maybeMicros wrote.
func maybeTime(us *int64) *time.Time {
	if us == nil {
		return nil
	}
	t := TimeOf(*us)
	return &t
}

// metadataText is how metadata is stored: a JSON object with sorted names.
func metadataText(m map[string]any) (string, error) {
	if len(m) == 0 {
		return "{}", nil
	}
	text, err := json.Marshal(m)
	if err != nil {
		return "", fmt.Errorf("encode metadata: %w", err)
	}
	return string(text), nil
}

// metadataOf reads what metadataText wrote; numbers are float64.
func metadataOf(text string) (map[string]any, error) {
	m := map[string]any{}
	if text == "{}" {
		return m, nil
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return nil, fmt.Errorf("decode metadata: %w", err)
	}
	return m, nil
}

// listText is how a list of texts is stored: a JSON array.
func listText(list []string) (string, error) {
	if len(list) == 0 {
		return "[]", nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return "", fmt.Errorf("encode list: %w", err)
	}
	return string(text), nil
}

// listOf reads what listText wrote; nil for an empty list.
func listOf(text string) ([]string, error) {
	if text == "[]" {
		return nil, nil
	}
	var list []string
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("decode list: %w", err)
	}
	return list, nil
}

// Conditions collects the WHERE of a statement with a filter. The text depends only on which filters are given, so that there
// are few texts and they stay prepared.
type Conditions struct {
	Args []any // of the statement
	all  []string
}

// Where adds a condition in which each ? stands for the next of args.
func (c *Conditions) Where(condition string, args ...any) {
	for _, a := range args {
		condition = strings.Replace(condition, "?", c.Arg(a), 1)
	}
	c.all = append(c.all, condition)
}

// In adds the condition that a column is one of at most ListSize values. There are two texts, for short and for long lists.
func (c *Conditions) In(column string, values []string) {
	size := ListSize
	if len(values) <= ShortListSize {
		size = ShortListSize
	}
	first := len(c.Args) + 1
	c.Args = PaddedTo(c.Args, values, size)
	c.all = append(c.all, column+` IN (`+Parameters(first, size)+`)`)
}

// Arg adds a parameter and returns its name.
func (c *Conditions) Arg(a any) string {
	c.Args = append(c.Args, a)
	return "$" + strconv.Itoa(len(c.Args))
}

func (c *Conditions) String() string { return strings.Join(c.all, " AND ") }

// None reports whether there is no condition.
func (c *Conditions) None() bool { return len(c.all) == 0 }

// Clause is the WHERE of a statement that may have no condition.
func (c *Conditions) Clause() string {
	if c.None() {
		return ""
	}
	return " WHERE " + c.String()
}

// ListSize is how many values a statement with a list has. Shorter lists are padded, so that there is one text. ShortListSize is
// that of a page of search results: SQLite takes twice as long to find ten rows with a list of a hundred.
const (
	ListSize      = 100
	ShortListSize = 10
)

// Padded appends a list of at most ListSize values to args. It repeats the last value until there are ListSize.
func Padded[T any](args []any, list []T) []any { return PaddedTo(args, list, ListSize) }

// PaddedTo is Padded for lists of another size.
func PaddedTo[T any](args []any, list []T, size int) []any {
	args = slices.Grow(args, size)
	for i := range size {
		args = append(args, list[min(i, len(list)-1)])
	}
	return args
}

// Parameters lists n parameters from $first on.
func Parameters(first, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("$" + strconv.Itoa(first+i))
	}
	return b.String()
}
