package document_test

import (
	"testing"

	"pgregory.net/rapid"

	"keepsake/internal/search/document"
)

func TestComparisonsOfMetadata(t *testing.T) {
	t.Parallel()
	metadata := map[string]any{
		"floor": 2.5, "team": "front desk", "open": true, "day": "2026-07-01", "a:eq": "x", "digits": "10",
		"sizes": []any{38.0, 40.0, "XL", true}, "nothing": []any{},
	}
	for filter, want := range map[string]bool{
		"floor:eq:2.5": true, "floor:eq:2.50": true, "floor:eq:25e-1": true, "floor:eq:2": false, "floor:ne:2": true, "floor:ne:2.5": false,
		"floor:lt:3": true, "floor:lt:2.5": false, "floor:lte:2.5": true, "floor:gt:-1": true, "floor:gte:2.6": false,
		"floor:lt:ten": false, "floor:gt:ten": false, "floor:ne:ten": true, "floor:lt:NaN": false, "floor:lt:Inf": false, "floor:lt:1e400": true, "floor:gt:-1e400": true, "floor:eq:02.5": false, "floor:lt:.3e1": false,
		"team:eq:front desk": true, "team:eq:Front desk": false, "team:gt:back": true, "team:lt:back": false, "team:eq:": false,
		"day:gte:2026-07-01": true, "day:lt:2026-07-01": false, "day:lt:2027": true, "digits:lt:9": true,
		"open:eq:true": true, "open:eq:false": false, "open:ne:false": true, "open:eq:1": false, "open:lt:true": false, "open:gte:true": true,
		"none:eq:x": false, "none:ne:x": true, "none:lt:x": false, "none:gte:": false,
		"sizes:eq:38": true, "sizes:eq:40.0": true, "sizes:eq:XL": true, "sizes:eq:true": true, "sizes:eq:39": false, "sizes:ne:39": true, "sizes:ne:40": false,
		"sizes:gt:39": true, "sizes:gt:40": true, "sizes:lt:39": true, "sizes:lt:38": false, "nothing:ne:x": true, "nothing:eq:": false,
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
		got, ok := document.ParseComparison(filter)
		if got.Number = nil; !ok || got != want {
			t.Errorf("%q: got %+v, %v; want %+v", filter, got, ok, want)
		}
	}
	for _, filter := range []string{"", "a", "a:b", "a:eq", ":eq:b", "a:like:b", "a:EQ:b"} {
		if got, ok := document.ParseComparison(filter); ok {
			t.Errorf("%q: got %+v, want an error", filter, got)
		}
	}
}

func TestFiltersNeverRoundTheirNumber(t *testing.T) {
	t.Parallel()
	metadata := map[string]any{"big": 9007199254740992.0, "next": 9007199254740994.0, "tiny": 5e-324, "zero": 0.0, "price": 9.99}
	for filter, want := range map[string]bool{
		"big:eq:9007199254740992": true, "big:eq:9007199254740993": false, "big:ne:9007199254740993": true, "big:lt:9007199254740993": true,
		"big:gte:9007199254740993": false, "next:gt:9007199254740993": true, "next:gte:9007199254740993": true, "next:lte:9007199254740993": false,
		"next:eq:9007199254740993": false, "next:eq:9007199254740993.5": true, "big:lt:1e400": true, "big:gt:1e400": false, "big:gt:-1e400": true,
		"big:lt:1e999999999": true, "tiny:lt:1e-400": false, "tiny:gt:1e-400": true, "zero:lt:1e-400": true, "zero:eq:1e-400": false, "zero:gt:-1e-400": true,
		"price:eq:9.990": true, "price:eq:9.99000000000000000001": true, "zero:eq:-0": true, "zero:eq:0e999999999999": true,
	} {
		c, ok := document.ParseComparison(filter)
		if got := c.Matches(metadata); !ok || got != want {
			t.Errorf("%s: got %v, want %v", filter, got, want)
		}
	}
}

// Whatever a document contains: an operator and its opposite never both match, and ne matches exactly what eq does not.
func TestOperatorsExcludeEachOther(t *testing.T) {
	t.Parallel()
	entry := rapid.SampledFrom([]any{nil, "", "a", "b", "1", 1.0, -2.0, 0.0, true, false})
	value := rapid.SampledFrom([]string{"", "a", "b", "1", "1.0", "-2", "true", "false", "1e400", "-1e400", "1e-400", "9007199254740993"})
	rapid.Check(t, func(t *rapid.T) {
		metadata := map[string]any{"other": "a"}
		if v := entry.Draw(t, "entry"); v != nil {
			metadata["m"] = v
		}
		v := value.Draw(t, "value")
		matches := func(op document.Op) bool {
			return document.Compare("m", op, v).Matches(metadata)
		}
		eq, lt, gt := matches(document.Equal), matches(document.Less), matches(document.Greater)
		if eq == matches(document.NotEqual) || eq && (lt || gt) || lt && gt ||
			matches(document.LessOrEqual) != (lt || eq) || matches(document.GreaterOrEqual) != (gt || eq) {
			t.Fatalf("%v against %q: eq %v, lt %v, gt %v", metadata["m"], v, eq, lt, gt)
		}
	})
}
