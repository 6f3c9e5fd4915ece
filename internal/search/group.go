package search

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"keepsake/internal/base/text"
	"keepsake/internal/search/index"
)

// groups are the collections that a search treats alike, because their settings have the same effect on it.
type groups struct {
	list     []index.Group       // empty: all documents have the default settings
	synonyms [][]index.Phrase    // of all groups, by the numbers of the query's words
	metadata []index.FieldWeight // searched entries of all groups
}

// groupsOf returns the groups of a search.
func groupsOf(a *text.Analyzer, s *settings, q query, r *Request) groups {
	var all groups
	if r.Collection != "" {
		t := s.of(r.Collection)
		if r.Preview != nil {
			t = tuningOf(a, r.Preview)
		}
		if g := groupOf(t, q); g != nil {
			g.Rest = true
			all.add(*g)
		}
		return all
	}
	byEffect := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(s.byCollection)) {
		g := groupOf(s.byCollection[name], q)
		if g == nil {
			continue
		}
		effect := effectOf(g)
		if i, known := byEffect[effect]; known {
			all.list[i].Collections = append(all.list[i].Collections, index.Collection(name))
			continue
		}
		byEffect[effect] = len(all.list)
		g.Collections = []string{index.Collection(name)}
		all.add(*g)
	}
	if len(all.list) > 0 {
		all.list = append(all.list, index.Group{Rest: true})
	}
	return all
}

func (all *groups) add(g index.Group) {
	all.list = append(all.list, g)
	for i, others := range g.Synonyms {
		if all.synonyms == nil {
			all.synonyms = make([][]index.Phrase, len(g.Synonyms))
		}
		all.synonyms[i] = addOthers(all.synonyms[i], others)
	}
	if g.Fields == nil {
		return
	}
	for _, f := range g.Fields.Metadata {
		if !slices.ContainsFunc(all.metadata, func(o index.FieldWeight) bool { return o.Name == f.Name }) {
			all.metadata = append(all.metadata, f)
		}
	}
}

// groupOf returns how documents of a collection are searched, or nil for the defaults.
func groupOf(t *tuning, q query) *index.Group {
	if t == nil {
		return nil
	}
	g := &index.Group{Synonyms: t.synonyms.of(q.words)}
	if t.fields {
		g.Fields = &index.Fields{Title: t.title, Text: t.text}
		for _, f := range t.metadata {
			g.Fields.Metadata = append(g.Fields.Metadata, index.FieldWeight{Name: f.name, Weight: f.weight})
		}
	}
	if g.Synonyms == nil && g.Fields == nil {
		return nil
	}
	return g
}

// effectOf identifies what a group does in a search.
func effectOf(g *index.Group) string {
	var b strings.Builder
	if g.Fields != nil {
		fmt.Fprintf(&b, "%v %v", g.Fields.Title, g.Fields.Text)
		for _, f := range g.Fields.Metadata {
			fmt.Fprintf(&b, " %q %v", f.Name, f.Weight)
		}
	}
	for i, others := range g.Synonyms {
		for _, p := range others {
			fmt.Fprintf(&b, "\n%d", i)
			for _, w := range p {
				fmt.Fprintf(&b, " %d %q", w.Offset, w.Word.Word)
			}
		}
	}
	return b.String()
}

// want adds synonyms to what is highlighted.
func (all *groups) want(w *text.Wanted, weights []float64) {
	for i, others := range all.synonyms {
		weight := 1.0
		if i < len(weights) {
			weight = weights[i]
		}
		for _, p := range others {
			for _, word := range p {
				if word.Stem != "" {
					w.Terms[stemIn(w.Language, word.Stem, word.Word.Word)] = weight
				}
			}
		}
	}
}
