package index

import (
	"errors"
	"fmt"
	"runtime"

	"keepsake/internal/base/text"
)

// Step is called regularly during a search, with the number of steps since the last call. Its error ends the search.
type Step func(steps int) error

// ErrCorrupt says that an index cannot be read, because its files were changed.
var ErrCorrupt = errors.New("the index is corrupt")

// Search finds documents. It returns ErrCorrupt or the error of step.
func (s *Snapshot) Search(q *Query, step Step) (found *Found, err error) {
	defer recoverCorrupt(&err)
	run := &search{snapshot: s, q: q, step: step}
	if err := run.open(); err != nil {
		return nil, err
	}
	hits := newCollector(s, q)
	for i := range s.parts {
		if err := run.searchPart(i, hits); err != nil {
			return nil, err
		}
	}
	found = run.found()
	found.Hits, found.Total, found.Facets = hits.page(), hits.total, run.counts
	return found, nil
}

// found returns what is known before documents are read.
func (r *search) found() *Found {
	found := &Found{Statistics: r.ranking.statistics}
	for _, w := range r.groups[0].any[:len(r.q.Any)] {
		found.Weights, found.Others = append(found.Weights, w.weight), append(found.Others, w.used)
		found.Parts = append(found.Parts, w.foundParts())
	}
	return found
}

// recoverCorrupt turns a panic about an index out of range, which only a corrupt segment causes, into an error.
func recoverCorrupt(err *error) {
	switch cause := recover().(type) {
	case nil:
	case runtime.Error:
		*err = fmt.Errorf("%w: %w", ErrCorrupt, cause)
	default:
		panic(cause)
	}
}

// search is the state of a search.
type search struct {
	snapshot *Snapshot
	away     Elsewhere // instead of snapshot; nil: the documents are here
	q        *Query
	step     Step
	cost     int // steps since the last call of step

	ranking   *ranking         // of the group that is prepared
	base      *ranking         // of documents with the default fields
	languages text.LanguageSet // of the documents
	language  text.Language    // of the query
	parts     []searchedPart
	groups    []*group
	*group                  // that is searched
	fields    []FieldWeight // searched entries of metadata, of the group that is prepared
	blank     []blank
	list      list // for counting
	counts    []Counts
	columns   columnCounts
}

// searchedPart is what a search needs of a part of the snapshot.
type searchedPart struct {
	*part
	number  int
	scope   bitmap // live documents of the collection; nil: all documents of the part
	matches bitmap // for facets
}

// clause is a word or a phrase that is required or excluded. open is called for each part, seek with rising targets.
type clause interface {
	open(p *searchedPart)
	count() int // an upper bound of the documents of the part
	seek(target uint32) uint32
	// score returns whether the document at which seek stopped matches, and its score.
	score(doc uint32) (score int32, ok bool)
	cost() int // steps of the last call of score
}

// open reads the statistics and prepares the clauses. The order in which the frequencies of words are read is fixed, because
// those of a cursor are in that order.
func (r *search) open() error {
	r.counts = make([]Counts, len(r.q.Facets))
	for i := range r.counts {
		r.counts[i] = Counts{ByTerm: map[string]int64{}, Complete: true}
	}
	if err := r.openScope(); err != nil {
		return err
	}
	r.base = newRanking(r.statistics(), r.q.Statistics)
	r.ranking = r.base
	r.languages = r.ranking.statistics.Languages
	r.language = languageOf(r.q.Any, r.languages)
	most := 0
	groups := r.q.groups()
	for i := range groups {
		g, telling, err := r.openGroup(&groups[i])
		if err != nil {
			return err
		}
		r.groups = append(r.groups, g)
		most = max(most, telling)
	}
	if most <= strictWords {
		r.countFirst(int32(most))
	}
	r.openBlank()
	return nil
}

// countFirst makes each word that is not a stop word worth more than all scores together. Similar words are not, so that
// documents with a word as it was asked for come first. Other spellings are, but a little less: of documents with as many words,
// those come first that have more of them as they were asked for. telling is the number of words that are no stop words.
func (r *search) countFirst(telling int32) {
	most, others := int32(0), false
	for _, g := range r.groups {
		sum := int32(0)
		for _, w := range g.any {
			sum += w.most()
			others = others || w.others
		}
		most = max(most, sum) // the same for all groups, whose documents are compared
	}
	bonus, exact := most, int32(0)
	if others {
		bonus, exact = (telling+2*int32(len(r.q.Glued))+1)*most, most
	}
	for _, g := range r.groups {
		for i, w := range g.any {
			if i < len(r.q.Any) {
				w.setBonus(bonus, exact)
			} else {
				w.gluedFirst(exact)
			}
		}
	}
}

func (r *search) newClauses(phrases []Phrase) ([]clause, error) {
	var all []clause
	for _, p := range phrases {
		c, err := r.newClause(p)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func (r *search) newClause(p Phrase) (clause, error) {
	if len(p) == 1 {
		return r.newWord(&p[0].Word)
	}
	return r.newPhrase(p)
}

// steps counts steps, and reports them from time to time.
func (r *search) steps(n int) error {
	const often = 1024
	if r.cost += n; r.cost < often || r.step == nil {
		return nil
	}
	n, r.cost = r.cost, 0
	return r.step(n)
}

// frequency returns how many documents of the scope have a term.
func (r *search) frequency(term string) (int64, error) {
	if r.away != nil {
		return r.away.Count(r.q.Scope, &Condition{Any: []Range{Only(term)}}), nil
	}
	sum := int64(0)
	for i := range r.parts {
		p := &r.parts[i]
		e, ok := p.dictionary.find(term)
		if !ok {
			continue
		}
		n, err := r.countIn(p, e)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, r.steps(len(r.parts))
}

// countIn returns how many documents of a list are in the scope.
func (r *search) countIn(p *searchedPart, e entry) (int64, error) {
	if p.scope == nil {
		return int64(e.count), nil
	}
	r.list.open(p.lists, e)
	const ofSeek = 16 // steps
	if sameBitmap(p.scope, p.live) && p.dead*ofSeek < int(e.count) {
		n := int64(e.count)
		p.eachDead(func(doc uint32) {
			if r.list.seek(doc) == doc {
				n--
			}
		})
		return n, r.steps(p.dead * ofSeek)
	}
	n := int64(0)
	for doc := r.list.seek(0); doc != noDoc; doc = r.list.next() {
		if p.scope.has(doc) {
			n++
		}
	}
	return n, r.steps(r.list.stored)
}

func (p *part) eachDead(do func(doc uint32)) {
	if p.dead == 0 {
		return
	}
	dead := full(p.docs)
	dead.without(p.live)
	dead.each(do)
}

// searchPart finds the matching documents of a part.
func (r *search) searchPart(i int, hits *collector) error {
	p := &r.parts[i]
	if p.liveDocs() == 0 {
		return nil
	}
	hits.begin(i, p.part)
	if len(r.q.Facets) > 0 {
		p.matches = newBitmap(p.docs)
	}
	for _, g := range r.groups {
		r.group = g
		if err := r.searchGroup(p, hits); err != nil {
			return err
		}
	}
	return r.countFacets(p)
}

// searchGroup finds the matching documents of a part that belong to the group.
func (r *search) searchGroup(p *searchedPart, hits *collector) error {
	r.openBlankIn(p)
	mask, err := r.mask(p)
	if err != nil {
		return err
	}
	switch {
	case len(r.all) > 0:
		return r.searchAll(p, mask, hits)
	case len(r.any) > 0:
		return r.searchAny(p, mask, hits)
	case len(r.not) > 0, r.q.Everything:
		return r.searchRest(p, mask, hits)
	}
	return nil
}

// searchRest finds all documents of the mask.
func (r *search) searchRest(p *searchedPart, mask bitmap, hits *collector) error {
	if mask == nil {
		mask = full(p.docs)
	}
	var err error
	mask.each(func(doc uint32) {
		if err == nil {
			r.offer(p, doc, 0, hits)
			err = r.steps(1)
		}
	})
	return err
}

func (r *search) offer(p *searchedPart, doc uint32, score int32, hits *collector) {
	if p.matches != nil {
		p.matches.add(doc)
	}
	hits.total++
	hits.offer(doc, score)
}

// searchAll moves all clauses to the same documents, from the rarest to the most frequent.
func (r *search) searchAll(p *searchedPart, mask bitmap, hits *collector) error {
	for _, c := range r.all {
		c.open(p)
	}
	for _, w := range r.any {
		w.open(p)
	}
	order := sortedByCount(r.all)
	for doc := uint32(0); ; doc++ {
		if doc = meet(order, doc); doc == noDoc {
			return nil
		}
		if err := r.steps(8); err != nil {
			return err
		}
		if mask != nil && !mask.has(doc) {
			continue
		}
		score, ok, err := r.scoreAll(doc)
		if err != nil {
			return err
		}
		if ok {
			r.offer(p, doc, score-r.typedApart(doc), hits)
		}
	}
}

// meet returns the first document at or after target at which all clauses stop.
func meet(clauses []clause, target uint32) uint32 {
	for i := 0; i < len(clauses) && target != noDoc; {
		if doc := clauses[i].seek(target); doc > target {
			target, i = doc, 0
			continue
		}
		i++
	}
	return target
}

func (r *search) scoreAll(doc uint32) (sum int32, ok bool, err error) {
	for _, c := range r.all {
		score, ok := c.score(doc)
		if !ok {
			return 0, false, nil
		}
		sum += score
	}
	for _, w := range r.any {
		if w.seek(doc) == doc {
			score, _ := w.score(doc)
			sum += score
		}
		if !w.finds() {
			sum += w.partScore(doc)
		}
	}
	for _, c := range r.all {
		if err := r.steps(c.cost()); err != nil {
			return 0, false, err
		}
	}
	return sum, true, nil
}
