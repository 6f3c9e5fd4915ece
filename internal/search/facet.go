package search

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"keepsake/internal/base/number"
	"keepsake/internal/search/index"
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
		all[name] = []FacetValue{}
		if i < len(counts) {
			all[name] = mostFrequent(counts[i].ByTerm)
		}
	}
	return all
}

// entry is a value of a facet. Terms that one filter with eq selects together are one entry, so its count is the number of
// documents that the filter finds.
type entry struct {
	first string // its term that sorts first
	count int64
}

func mostFrequent(byTerm map[string]int64) []FacetValue {
	entries := map[string]entry{}
	numbers := map[float64]int64{}
	twice := map[string]int64{}
	for term, count := range byTerm {
		value := index.Value(term)
		if text, ok := value.(index.Twice); ok {
			twice[string(text)] = count
			continue
		}
		if n, ok := value.(float64); ok {
			numbers[n] = count
		}
		text := textOf(value)
		e, there := entries[text]
		if !there || term < e.first {
			e.first = term
		}
		e.count += count
		entries[text] = e
	}
	for text, e := range entries { // a text such as "7.0", which also selects the number 7
		if b, ok := number.ReadBound(text); ok && b.Exact && textOf(b.Below) != text && len(numbers) > 0 {
			e.count += numbers[b.Below]
			entries[text] = e
		}
	}
	for text, count := range twice {
		if e, there := entries[text]; there {
			e.count -= count
			entries[text] = e
		}
	}
	texts := slices.SortedFunc(maps.Keys(entries), func(a, b string) int {
		return cmp.Or(cmp.Compare(entries[b].count, entries[a].count), cmp.Compare(entries[a].first, entries[b].first))
	})
	values := make([]FacetValue, min(len(texts), maxFacetValues))
	for i := range values {
		values[i] = FacetValue{texts[i], entries[texts[i]].count}
	}
	return values
}

// textOf formats a value as it is in JSON, but a string without quotes.
func textOf(value any) string {
	switch value := value.(type) {
	case bool:
		return strconv.FormatBool(value)
	case float64:
		return string(number.Append(nil, value))
	default:
		text, _ := value.(string)
		return text
	}
}
