package index

import "keepsake/internal/base/text"

// Group are the documents of some collections, which have synonyms and fields of their own. A document belongs to one group.
type Group struct {
	Collections []string   // terms of its collections
	Rest        bool       // the group has the documents of all collections that no group names
	Synonyms    [][]Phrase // by the numbers of the words of Any: what is found in place of a word, too
	Fields      *Fields    // nil: the defaults
}

// Fields are the searched fields with their weights, relative to each other.
type Fields struct {
	Title, Text float64 // 0: not searched
	Metadata    []FieldWeight
}

// FieldWeight is the weight of an entry of metadata, which documents have as a Field.
type FieldWeight struct {
	Name   string
	Weight float64
}

// defaultFields are the fields of documents without others.
var defaultFields = &Fields{Title: titleWeight, Text: 1}

// everyone is the group of a query without groups.
var everyone = Group{Rest: true}

// group is what a search needs of a group.
type group struct {
	*Group
	any []*word
	all []clause
	not []clause
}

// groups returns the groups of the query.
func (q *Query) groups() []Group {
	if len(q.Groups) == 0 {
		return []Group{everyone}
	}
	return q.Groups
}

// openGroup prepares the words of a group.
func (r *search) openGroup(of *Group) (g *group, telling int, err error) {
	g = &group{Group: of}
	if r.ranking = r.base; of.Fields != nil {
		r.ranking = r.base.with(of.Fields)
	}
	r.fields = r.ranking.fields
	for i := range r.q.Any {
		wanted := &r.q.Any[i]
		if i < len(of.Synonyms) && len(of.Synonyms[i]) > 0 && len(wanted.Similar) == 0 {
			tuned := *wanted
			tuned.synonyms = of.Synonyms[i]
			wanted = &tuned
		}
		w, err := r.newWord(wanted)
		if err != nil {
			return nil, 0, err
		}
		g.any = append(g.any, w)
		if !w.stopword {
			telling++
		}
	}
	for i := range r.q.Glued {
		w, err := r.newGlued(&r.q.Glued[i])
		if err != nil {
			return nil, 0, err
		}
		g.any = append(g.any, w)
	}
	if g.all, err = r.newClauses(r.q.All); err != nil {
		return nil, 0, err
	}
	g.not, err = r.newClauses(r.q.Not)
	return g, telling, err
}

// members returns the documents of a part that belong to a group; nil: all.
func (r *search) members(p *searchedPart, g *group) (bitmap, error) {
	if len(r.groups) == 1 {
		return nil, nil
	}
	if !g.Rest {
		return r.withAny(p, only(g.Collections))
	}
	rest := full(p.docs)
	for _, other := range r.groups {
		if other.Rest {
			continue
		}
		docs, err := r.withAny(p, only(other.Collections))
		if err != nil {
			return nil, err
		}
		rest.without(docs)
	}
	return rest, nil
}

func only(terms []string) []Range {
	ranges := make([]Range, len(terms))
	for i, term := range terms {
		ranges[i] = Only(term)
	}
	return ranges
}

// fieldDocs returns how many documents of the scope have a stem or a word, of which the term is given, in searched entries of
// metadata; a document counts once for each entry.
func (r *search) fieldDocs(term string) (docs int64, err error) {
	for _, f := range r.fields {
		n, err := r.frequency(fieldTerm(f.Name, term))
		if err != nil {
			return 0, err
		}
		docs += n
	}
	return docs, nil
}

// inFields is a phrase that can also be in a searched entry of metadata.
type inFields struct {
	clause
	run   *search
	terms [][]string // each list is found by all of its terms
	flat  int32
	docs  bitmap // of the part
}

// withFields lets a phrase also be in a searched entry of metadata. Entries have the pairs of their words, not their positions.
func (r *search) withFields(c clause, words []readWord) clause {
	fields := r.fields
	if len(fields) == 0 || len(words) == 0 {
		return c
	}
	in := &inFields{clause: c, run: r}
	weight, best := 0.0, 0.0
	for i := range words {
		weight += words[i].idf
	}
	for _, f := range fields {
		best = max(best, f.Weight)
		in.terms = append(in.terms, r.entryTerms(f.Name, words)...)
	}
	in.flat = units(weight * saturated(best))
	return in
}

// entryTerms returns lists of terms. A document with all terms of a list has the words next to each other in a searched entry of
// metadata.
func (r *search) entryTerms(entry string, words []readWord) (all [][]string) {
	for l := range r.languages.All {
		var terms []string
		before := ""
		for i := range words {
			term := stemTermIn(words[i].stems, l)
			terms = append(terms, fieldTerm(entry, term))
			if i > 0 && words[i].offset == words[i-1].offset+1 {
				terms = append(terms, pairTerm(entry, before, term))
			}
			before = term
		}
		all = append(all, terms)
	}
	return all
}

// withAll returns the documents of a part with all terms of one of the lists.
func (r *search) withAll(p *searchedPart, lists [][]string) (all bitmap, err error) {
	all = newBitmap(p.docs)
	for _, terms := range lists {
		var found bitmap
		for _, term := range terms {
			docs, err := r.withAny(p, []Range{Only(term)})
			if err != nil {
				return nil, err
			}
			if found == nil {
				found = docs
			} else {
				found.and(docs)
			}
		}
		all.or(found)
	}
	return all, nil
}

// stemTermIn returns the term of the stem in a language, or of the one that all languages share.
func stemTermIn(stems []stem, l text.Language) string {
	for i := range stems {
		if stems[i].language == l {
			return stems[i].term
		}
	}
	return stems[0].term
}

func (in *inFields) open(p *searchedPart) {
	in.clause.open(p)
	var err error
	if in.docs, err = in.run.withAll(p, in.terms); err != nil {
		in.docs = newBitmap(p.docs) // the next step of the search returns the error again
	}
}

func (in *inFields) count() int { return in.clause.count() + in.docs.count() }

func (in *inFields) seek(target uint32) uint32 {
	return min(in.clause.seek(target), in.docs.next(target))
}

func (in *inFields) score(doc uint32) (score int32, ok bool) {
	if in.clause.seek(doc) == doc {
		score, ok = in.clause.score(doc)
	}
	if doc != noDoc && in.docs.has(doc) {
		return max(score, in.flat), true
	}
	return score, ok
}
