package search

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"

	"keepsake/internal/index"
)

// FacetValue is a value of a facet, with the number of matching documents that have it.
type FacetValue struct {
	Value string
	Count int64
}

// maxFacetValues is how many values of a facet are shown: the most frequent.
const maxFacetValues = 100

// facetsOf returns the facets with these names: collection, tag, or a metadata entry.
func facetsOf(names []string) []index.Facet {
	facets := make([]index.Facet, len(names))
	for i, name := range names {
		switch name {
		case "collection":
			facets[i] = index.Collections()
		case "tag":
			facets[i] = index.Tags()
		default:
			facets[i] = index.Entries(name)
		}
	}
	return facets
}

// facetValues returns the most frequent values of each facet.
func facetValues(names []string, counts []index.Counts) map[string][]FacetValue {
	all := map[string][]FacetValue{}
	for i, name := range names {
		terms := []string{}
		if i < len(counts) {
			of := counts[i].ByTerm
			terms = slices.SortedFunc(maps.Keys(of), func(a, b string) int {
				return cmp.Or(cmp.Compare(of[b], of[a]), cmp.Compare(a, b))
			})
			terms = terms[:min(len(terms), maxFacetValues)]
		}
		all[name] = make([]FacetValue, len(terms))
		for j, term := range terms {
			all[name][j] = FacetValue{textOf(index.Value(term)), counts[i].ByTerm[term]}
		}
	}
	return all
}

// textOf formats a value as it is in JSON, but a string without quotes.
func textOf(value any) string {
	switch value := value.(type) {
	case bool:
		return strconv.FormatBool(value)
	case float64:
		if a := math.Abs(value); a == 0 || a >= 1e-6 && a < 1e21 {
			return strconv.FormatFloat(value, 'f', -1, 64)
		}
		return strconv.FormatFloat(value, 'g', -1, 64)
	default:
		text, _ := value.(string)
		return text
	}
}
