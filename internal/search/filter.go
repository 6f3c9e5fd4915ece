package search

import (
	"keepsake/internal/search/document"
	"keepsake/internal/search/index"
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
	var f index.Filter
	with := c.Op == document.LessOrEqual || c.Op == document.GreaterOrEqual
	switch c.Op {
	case document.Equal, document.NotEqual:
		f.Not = c.Op == document.NotEqual
		f.Any = append(f.Any, index.Only(index.Text(c.Name, c.Value)))
		if c.Number != nil && c.Number.Exact {
			f.Any = append(f.Any, index.Only(index.Number(c.Name, c.Number.Below)))
		}
	case document.Less, document.LessOrEqual:
		f.Any = append(f.Any, index.Below(index.Text(c.Name, c.Value), with))
		if c.Number != nil {
			f.Any = append(f.Any, index.Below(index.Number(c.Name, c.Number.Below), with || !c.Number.Exact))
		}
	case document.Greater, document.GreaterOrEqual:
		f.Any = append(f.Any, index.Above(index.Text(c.Name, c.Value), with))
		if c.Number != nil {
			f.Any = append(f.Any, index.Above(index.Number(c.Name, c.Number.Below), with && c.Number.Exact))
		}
	}
	if truth := c.Value == "true"; (truth || c.Value == "false") && (with || c.Op == document.Equal || c.Op == document.NotEqual) {
		f.Any = append(f.Any, index.Only(index.Bool(c.Name, truth))) // a boolean can only be equal
	}
	return f
}
