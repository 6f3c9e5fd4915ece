package search

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"keepsake/internal/search/document"
	"keepsake/internal/search/index"
)

func termOf(value any) string {
	switch value := value.(type) {
	case string:
		return index.Text("k", value)
	case float64:
		return index.Number("k", value)
	default:
		return index.Bool("k", value.(bool))
	}
}

// Whatever types the values of an entry have, each value of its facet is there once, and counts the documents that a filter with it finds.
func TestFacetsAgreeWithFilters(t *testing.T) {
	t.Parallel()
	value := rapid.SampledFrom([]any{
		7.0, "7", "7.0", "07", "7e0", "+7", 10.0, "1e1", "10", true, "true", false, 0.0, "-0", "0", 1152921504606846976.0, "1152921504606846976",
		"1152921504606847000", 1e300, "1e+300", "1e300", 0.1, "0.1", "0.10000000000000001", "Inf", "NaN", "", "x",
	})
	rapid.Check(t, func(t *rapid.T) {
		either := rapid.OneOf(value, rapid.SliceOfN(value, 0, 5).AsAny())
		values := rapid.SliceOfN(either, 0, 30).Draw(t, "values")
		counts := map[string]int64{}
		for _, v := range values {
			for _, key := range entryOf(&document.Document{Metadata: map[string]any{"k": v}}, nil).Keys[1:] {
				counts[key]++
			}
		}
		seen := map[string]bool{}
		for _, entry := range facetValues([]string{"k"}, []index.Counts{{ByTerm: counts}})["k"] {
			if seen[entry.Value] {
				t.Fatalf("%s is there twice", entry.Value)
			}
			seen[entry.Value] = true
			c, want := document.Compare("k", document.Equal, entry.Value), int64(0)
			for _, v := range values {
				if c.Matches(map[string]any{"k": v}) {
					want++
				}
			}
			if entry.Count != want {
				t.Fatalf("%s: counted %d times, a filter finds %d of %v", entry.Value, entry.Count, want, values)
			}
		}
		for _, v := range values {
			list, ok := v.([]any)
			if !ok {
				list = []any{v}
			}
			for _, v := range list {
				if text := textOf(v); !seen[text] {
					t.Fatalf("%s is not there", fmt.Sprint(v))
				}
			}
		}
	})
}

func TestValuesThatAFilterFindsTogetherAreOne(t *testing.T) {
	t.Parallel()
	counts := map[string]int64{termOf(7.0): 2, termOf("7"): 1, termOf("x"): 1, termOf(true): 1, termOf("true"): 1}
	got := fmt.Sprint(facetValues([]string{"k"}, []index.Counts{{ByTerm: counts}})["k"])
	if want := "[{7 3} {true 2} {x 1}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
