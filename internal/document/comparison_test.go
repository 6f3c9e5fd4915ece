package document_test

import (
	"testing"

	"pgregory.net/rapid"

	"keepsake/internal/document"
)

func TestComparisonsOfMetadata(t *testing.T) {
	t.Parallel()
	metadata := map[string]any{"floor": 2.5, "team": "front desk", "open": true, "day": "2026-07-01", "a:eq": "x", "digits": "10"}
	for filter, want := range map[string]bool{
		"floor:eq:2.5": true, "floor:eq:2.50": true, "floor:eq:25e-1": true, "floor:eq:2": false, "floor:ne:2": true, "floor:ne:2.5": false,
		"floor:lt:3": true, "floor:lt:2.5": false, "floor:lte:2.5": true, "floor:gt:-1": true, "floor:gte:2.6": false,
		"floor:lt:ten": false, "floor:gt:ten": false, "floor:ne:ten": true, "floor:lt:NaN": false, "floor:lt:Inf": true,
		"team:eq:front desk": true, "team:eq:Front desk": false, "team:gt:back": true, "team:lt:back": false, "team:eq:": false,
		"day:gte:2026-07-01": true, "day:lt:2026-07-01": false, "day:lt:2027": true, "digits:lt:9": true,
		"open:eq:true": true, "open:eq:false": false, "open:ne:false": true, "open:eq:1": false, "open:lt:true": false, "open:gte:true": true,
		"none:eq:x": false, "none:ne:x": true, "none:lt:x": false, "none:gte:": false,
		"a:eq:eq:x": false, "a:ne:eq:x": true,
	} {
		c, ok := document.ParseComparison(filter)
		if got := c.Matches(metadata); !ok || got != want {
			t.Errorf("%s: got %v, want %v", filter, got, want)
		}
	}
}

func TestAFilterIsNameOperatorAndValue(t *testing.T) {
	t.Parallel()
	for filter, want := range map[string]document.Comparison{
		"a:eq:b":      {Name: "a", Op: document.Equal, Value: "b"},
		"a:lte:b:c":   {Name: "a", Op: document.LessOrEqual, Value: "b:c"},
		"a:b:gt:":     {Name: "a:b", Op: document.Greater, Value: ""},
		"a b:ne:\n":   {Name: "a b", Op: document.NotEqual, Value: "\n"},
		"::gte:é":     {Name: ":", Op: document.GreaterOrEqual, Value: "é"},
		"eq:lt:eq:lt": {Name: "eq", Op: document.Less, Value: "eq:lt"},
	} {
		if got, ok := document.ParseComparison(filter); !ok || got != want {
			t.Errorf("%q: got %+v, %v; want %+v", filter, got, ok, want)
		}
	}
	for _, filter := range []string{"", "a", "a:b", "a:eq", ":eq:b", "a:like:b", "a:EQ:b"} {
		if got, ok := document.ParseComparison(filter); ok {
			t.Errorf("%q: got %+v, want an error", filter, got)
		}
	}
}

// Whatever a document contains: an operator and its opposite never both match, and ne matches exactly what eq does not.
func TestOperatorsExcludeEachOther(t *testing.T) {
	t.Parallel()
	entry := rapid.SampledFrom([]any{nil, "", "a", "b", "1", 1.0, -2.0, 0.0, true, false})
	value := rapid.SampledFrom([]string{"", "a", "b", "1", "1.0", "-2", "true", "false"})
	rapid.Check(t, func(t *rapid.T) {
		metadata := map[string]any{"other": "a"}
		if v := entry.Draw(t, "entry"); v != nil {
			metadata["m"] = v
		}
		v := value.Draw(t, "value")
		matches := func(op document.Op) bool {
			return document.Comparison{Name: "m", Op: op, Value: v}.Matches(metadata)
		}
		eq, lt, gt := matches(document.Equal), matches(document.Less), matches(document.Greater)
		if eq == matches(document.NotEqual) || eq && (lt || gt) || lt && gt ||
			matches(document.LessOrEqual) != (lt || eq) || matches(document.GreaterOrEqual) != (gt || eq) {
			t.Fatalf("%v against %q: eq %v, lt %v, gt %v", metadata["m"], v, eq, lt, gt)
		}
	})
}
