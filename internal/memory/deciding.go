package memory

import "slices"

// entry is a memory that a write has to do with, as it stands after what was decided before.
type entry struct {
	memory *Memory
	row    *Row   // memory, sealed
	base   *Row   // as it lies in the store; nil: it is new
	older  []*Row // revisions that came to be older ones
}

// deciding is a decision that is being made on what stands in the store, one item after the other. Everything is sealed as
// it is decided, and by what a row is found it is found here.
type deciding struct {
	held    map[Hash]*standing
	works   map[Hash]*work
	byID    map[string]*entry
	byAlike map[Alike][]*entry
	foreign map[string]bool // ids of memories of other subjects, which an import may name
	order   []*entry
	room    int64
}

func newDeciding(held map[Hash]*standing, room int64) *deciding {
	return &deciding{
		held: held, works: map[Hash]*work{}, byID: map[string]*entry{}, byAlike: map[Alike][]*entry{}, foreign: map[string]bool{}, room: room,
	}
}

func (g *deciding) workOf(subject Hash) *work {
	w := g.works[subject]
	if w == nil {
		w = &work{standing: g.held[subject]}
		g.works[subject] = w
	}
	return w
}

// know makes a memory of the store one that items find.
func (g *deciding) know(k known) {
	if g.byID[k.row.ID] == nil {
		g.add(&entry{memory: k.memory, row: k.row, base: k.row})
	}
}

func (g *deciding) add(e *entry) {
	g.byID[e.memory.ID] = e
	g.order = append(g.order, e)
	g.index(e)
}

// names are what an entry is found by.
func (e *entry) names() []Alike {
	same := Alike{Subject: e.row.Subject, Generation: e.row.Generation, Same: e.row.Same}
	if e.row.Key == (Hash{}) {
		return []Alike{same}
	}
	return []Alike{same, {Subject: e.row.Subject, Generation: e.row.Generation, Key: e.row.Key}}
}

func (g *deciding) index(e *entry) {
	for _, name := range e.names() {
		g.byAlike[name] = append(g.byAlike[name], e)
	}
}

// first is the first memory that has a key, or is equal; nil where there is none.
func (g *deciding) first(alike Alike) (first *entry) {
	for _, e := range g.byAlike[alike] {
		if first == nil || earlier(e.memory, first.memory) {
			first = e
		}
	}
	return first
}

// earlier orders memories by which came first.
func earlier(a, b *Memory) bool {
	if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
		return c < 0
	}
	return a.ID < b.ID
}

// revise gives an entry its next revision.
func (g *deciding) revise(subject Hash, e *entry, next *Memory) error {
	row, err := g.held[subject].row(next)
	if err != nil {
		return err
	}
	for _, name := range e.names() {
		g.byAlike[name] = slices.DeleteFunc(g.byAlike[name], func(o *entry) bool { return o == e })
	}
	e.older = append(e.older, e.row)
	e.memory, e.row = next, row
	g.index(e)
	return nil
}

// finish gives what was decided by subject, in the order in which they are held.
func (g *deciding) finish() ([]*work, error) {
	for _, e := range g.order {
		if e.row == e.base {
			continue // it stays as it is
		}
		w := g.workOf(e.row.Subject)
		w.older = append(w.older, e.older...)
		w.bytes += e.row.Size
		if e.base == nil {
			w.insert = append(w.insert, e.row)
		} else {
			w.replace = append(w.replace, e.row)
			w.bytes -= e.base.Size
		}
	}
	works := make([]*work, 0, len(g.works))
	for _, hash := range rising(g.works) {
		works = append(works, g.works[hash])
	}
	return works, nil
}
