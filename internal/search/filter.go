package search

import (
	"math"
	"strconv"

	"keepsake/internal/document"
	"keepsake/internal/index"
)

// filtersOf returns the filters of a request. The collection is none of them, because it also selects the statistics.
func filtersOf(r *Request) []index.Filter {
	var filters []index.Filter
	for _, tag := range r.Tags {
		filters = append(filters, index.Filter{Any: []index.Range{index.Only(index.Tag(tag))}})
	}
	for _, c := range r.Metadata {
		filters = append(filters, filterOf(c))
	}
	return filters
}

// filterOf returns a filter that agrees with c.Matches.
func filterOf(c document.Comparison) index.Filter {
	text, number, truth := index.Text(c.Name, c.Value), "", ""
	if v, err := strconv.ParseFloat(c.Value, 64); err == nil && !math.IsNaN(v) {
		number = index.Number(c.Name, v)
	}
	if c.Value == "true" || c.Value == "false" {
		truth = index.Bool(c.Name, c.Value == "true")
	}
	var f index.Filter
	add := func(term string, rangeOf func(string) index.Range) {
		if term != "" {
			f.Any = append(f.Any, rangeOf(term))
		}
	}
	switch c.Op {
	case document.Equal, document.NotEqual:
		add(text, index.Only)
		add(number, index.Only)
		add(truth, index.Only)
		f.Not = c.Op == document.NotEqual
	case document.Less, document.LessOrEqual:
		with := c.Op == document.LessOrEqual
		below := func(term string) index.Range { return index.Below(term, with) }
		add(text, below)
		add(number, below)
		if with {
			add(truth, index.Only)
		}
	case document.Greater, document.GreaterOrEqual:
		with := c.Op == document.GreaterOrEqual
		above := func(term string) index.Range { return index.Above(term, with) }
		add(text, above)
		add(number, above)
		if with {
			add(truth, index.Only)
		}
	}
	return f
}
