package opensearch

import (
	"strings"

	"keepsake/internal/base/text"
	"keepsake/internal/search/index"
)

// This file writes plans of package index as queries.

// none is a query that finds nothing.
var none = object{"match_none": object{}}

// searchBody returns the request for the documents of a plan.
func searchBody(q *index.Query, p *index.Plan) []byte {
	body := object{
		"size": q.Limit, "track_total_hits": true, "_source": false, "stored_fields": "_none_", "docvalue_fields": []string{fieldLanguage},
		"query": planQuery(q, p), "sort": sortOf(q.Sort), "track_scores": true,
	}
	if q.After != nil {
		body["search_after"] = []any{keyOf(q.Sort, q.After.Key), q.After.ID}
	}
	if len(q.Facets) > 0 {
		aggregations := object{}
		for i, facet := range q.Facets {
			aggregations[facetName(i)] = object{"terms": object{"field": fieldKeys, "size": maxFacet, "include": beginningsOf(facet)}}
		}
		body["aggs"] = aggregations
	}
	return encode(body)
}

// maxFacet is how many values of a facet are counted, as in package index.
const maxFacet = 10_000

func facetName(i int) string { return string(rune('a' + i)) }

func sortOf(by index.Sort) []object {
	first := object{"_score": object{"order": "desc"}}
	switch by {
	case index.NewestFirst:
		first = object{fieldUpdated: object{"order": "desc"}}
	case index.OldestFirst:
		first = object{fieldUpdated: object{"order": "asc"}}
	}
	return []object{first, {fieldID: object{"order": "asc"}}}
}

// keyOf returns the key of a place as OpenSearch sorts by it, and the other way round.
func keyOf(by index.Sort, key int64) int64 {
	if by == index.OldestFirst {
		return -key
	}
	return key
}

// beginningsOf returns a regular expression for the terms of ranges that begin alike.
func beginningsOf(ranges []index.Range) string {
	var list []string
	for _, r := range ranges {
		var b strings.Builder
		for _, c := range latin(r.From) {
			if strings.ContainsRune(`.?+*|{}[]()"\#@&<>~^$-`, c) {
				b.WriteByte('\\')
			}
			b.WriteRune(c)
		}
		list = append(list, b.String())
	}
	return "(" + strings.Join(list, "|") + ").*"
}

func planQuery(q *index.Query, p *index.Plan) object {
	var groups, filter, without []object
	for i := range p.Groups {
		groups = append(groups, groupQuery(q, p, i))
	}
	if q.Scope != "" || len(q.All)+len(q.Any) == 0 {
		filter = append(filter, scopeQuery(q.Scope))
	}
	for i := range q.Filters {
		if f := &q.Filters[i]; f.Not {
			without = append(without, rangesQuery(f.Any))
		} else {
			filter = append(filter, rangesQuery(f.Any))
		}
	}
	return object{"bool": object{"must": []object{anyOf(groups)}, "filter": filter, "must_not": without}}
}

// scopeQuery finds the documents of a collection, or all.
func scopeQuery(scope string) object {
	if scope == "" {
		return object{"exists": object{"field": fieldUpdated}}
	}
	return termQuery(scope)
}

func groupQuery(q *index.Query, p *index.Plan, i int) object {
	g := &p.Groups[i]
	var must, should, filter, without []object
	switch {
	case g.Only:
	case !g.Rest:
		filter = append(filter, termsQuery(g.Collections))
	default:
		for j := range p.Groups {
			if other := &p.Groups[j]; !other.Rest {
				without = append(without, termsQuery(other.Collections))
			}
		}
	}
	for j := range g.Not {
		without = append(without, clauseQuery(g, &g.Not[j]))
	}
	var words []object
	for j := range g.Any {
		w := &g.Any[j]
		words = append(words, wordQuery(g, w))
		if !w.Found && len(w.Parts) > 0 {
			should = append(should, bestOf(partQueries(w)))
		}
	}
	switch {
	case len(g.All) > 0:
		for j := range g.All {
			must = append(must, clauseQuery(g, &g.All[j]))
		}
		should = append(should, words...)
	case len(g.Any) > 0:
		must = append(must, anyOf(words))
	case len(g.Not) > 0, q.Everything:
		filter = append(filter, object{"match_all": object{}})
	default:
		return none
	}
	return object{"bool": object{"must": must, "should": should, "filter": filter, "must_not": without}}
}

type group = index.PlannedGroup

// findsNothing reports whether a plan consists of words that no document has.
func findsNothing(p *index.Plan) bool {
	for i := range p.Groups {
		g := &p.Groups[i]
		if len(g.All) > 0 || len(g.Any) == 0 {
			return false
		}
		for j := range g.Any {
			if w := &g.Any[j]; len(w.Own)+len(w.Others)+len(w.Apart) > 0 || w.Form != nil || w.Found {
				return false
			}
		}
	}
	return true
}

func anyOf(list []object) object {
	switch len(list) {
	case 0:
		return none
	case 1:
		return list[0]
	}
	return object{"bool": object{"should": list, "minimum_should_match": 1}}
}

// bestOf gives documents the best score that they have in one of several queries.
func bestOf(list []object) object {
	switch len(list) {
	case 0:
		return none
	case 1:
		return list[0]
	}
	return object{"dis_max": object{"queries": list}}
}

func constant(filter object, score int32) object {
	return object{"constant_score": object{"filter": filter, "boost": score}}
}

// wordQuery scores documents with a word.
func wordQuery(g *group, w *index.PlannedWord) object {
	var list, own []object
	for i := range w.Own {
		list = append(list, listQuery(g, &w.Own[i]))
		own = append(own, termQuery(w.Own[i].Term))
	}
	if w.Form != nil {
		form := conditionQuery(w.Form)
		list = append(list, object{"bool": object{"must": []object{constant(form, w.FormScore)}, "must_not": own}})
	}
	for i := range w.Others {
		list = append(list, listQuery(g, &w.Others[i]))
	}
	for i := range w.Apart {
		list = append(list, phraseQuery(g, &w.Apart[i]))
	}
	for i := range w.Entries {
		list = append(list, constant(allOf(w.Entries[i].Terms), w.Entries[i].Score))
	}
	if w.Found {
		list = append(list, partQueries(w)...)
	}
	return bestOf(list)
}

func partQueries(w *index.PlannedWord) (list []object) {
	for i := range w.Parts {
		list = append(list, constant(termQuery(w.Parts[i].Term), w.Parts[i].Score))
	}
	return list
}

func clauseQuery(g *group, c *index.PlannedClause) object {
	var list []object
	if c.Word != nil {
		list = append(list, wordQuery(g, c.Word))
	}
	for i := range c.Phrases {
		list = append(list, phraseQuery(g, &c.Phrases[i]))
	}
	for _, terms := range c.Terms {
		list = append(list, constant(allOf(terms), c.Flat))
	}
	return bestOf(list)
}

// allOf finds documents with all terms.
func allOf(terms []string) object {
	var all []object
	for _, term := range terms {
		all = append(all, termQuery(term))
	}
	return object{"bool": object{"filter": all}}
}

func listQuery(g *group, l *index.PlannedList) object {
	if l.Flat > 0 {
		return constant(termQuery(l.Term), l.Flat+l.Bonus)
	}
	return object{"script_score": object{
		"query": termQuery(l.Term), "script": object{"source": stemScript, "params": parameters(g, l.Weight, l.Bonus)},
	}}
}

// parameters returns those of the scripts.
func parameters(g *group, weight float64, bonus int32) object {
	return object{
		"title": g.Title, "text": g.Text, "averageTitle": g.AverageTitle, "averageText": g.AverageText,
		"fixed": index.ScaleFixed, "share": index.ScaleShare, "k1": index.ScaleK1, "unit": index.ScaleUnit, "weight": weight, "bonus": bonus,
	}
}

func phraseQuery(g *group, p *index.PlannedPhrase) object {
	if len(p.Words) == 0 {
		return none
	}
	params := parameters(g, p.Weight, p.Bonus)
	params["words"] = len(p.Words)
	found := object{"script_score": object{"query": wordsQuery(p.Words), "script": object{"source": phraseScript, "params": params}}}
	if len(p.Compounds) == 0 {
		return found
	}
	return object{"bool": object{"must": []object{found}, "should": []object{constant(allOf(p.Compounds), p.Exact)}}}
}

// wordsQuery finds stems at their distances.
func wordsQuery(words index.Words) object {
	if len(words) == 0 {
		return none
	}
	var list []index.Occurrence
	for _, w := range words {
		list = append(list, index.Occurrence{Term: w.Term, Position: int(w.Offset-words[0].Offset) + 1})
	}
	phrase := places(list)
	in := func(field, analyzer string, boost int) object {
		return object{"match_phrase": object{field: object{"query": phrase, "analyzer": analyzer, "boost": boost}}}
	}
	return anyOf([]object{
		in(fieldTitle, "places", titleBoost), in(fieldText, "places", 1),
		in(fieldTitleBoth, "places", titleBoost), in(fieldTextBoth, "places", 1),
	})
}

// conditionQuery finds the documents of a condition.
func conditionQuery(c *index.Condition) object {
	var list []object
	switch {
	case c.Marked != nil:
		vietnamese := object{"term": object{fieldLanguage: int(text.Vietnamese)}}
		list = append(list, object{"bool": object{"filter": []object{rangesQuery(c.Any)}, "must_not": []object{vietnamese}}}, rangesQuery(c.Marked))
	case c.Any != nil:
		list = append(list, rangesQuery(c.Any))
	}
	for _, words := range c.Phrases {
		list = append(list, wordsQuery(words))
	}
	for _, terms := range c.All {
		list = append(list, allOf(terms))
	}
	return anyOf(list)
}

func rangesQuery(ranges []index.Range) object {
	var list []object
	for _, r := range ranges {
		list = append(list, rangeQuery(r))
	}
	return anyOf(list)
}

func rangeQuery(r index.Range) object {
	if term, ok := r.Term(); ok {
		return termQuery(term)
	}
	if prefix, ok := r.Prefix(); ok {
		field, value := fieldOf(prefix)
		return object{"prefix": object{field: value}}
	}
	return object{"range": object{fieldKeys: object{"gte": latin(r.From), "lt": latin(r.To)}}}
}

func termQuery(term string) object {
	field, value := fieldOf(term)
	return object{"term": object{field: value}}
}

// termsQuery finds documents with one of the keys.
func termsQuery(keys []string) object {
	values := make([]string, len(keys))
	for i, key := range keys {
		values[i] = latin(key)
	}
	return object{"terms": object{fieldKeys: values}}
}

// fieldOf returns the field of a term, and the term as it is there.
func fieldOf(term string) (field, value string) {
	switch kind, _, rest := index.KindOf(term); kind {
	case index.StemTerm:
		return fieldStems, stemOf(term)
	case index.WordTerm:
		return fieldWords, rest
	case index.FieldTerm:
		return fieldEntries, latin(term)
	default:
		return fieldKeys, latin(term)
	}
}
