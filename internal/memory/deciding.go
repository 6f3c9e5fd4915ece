package memory

import (
	"slices"

	"keepsake/internal/problem"
)

// entry is a memory that a write has to do with, as it stands after what was decided before.
type entry struct {
	memory *Memory
	row    *Row   // memory, sealed
	base   *Row   // as it lies in the store; nil: it is new
	older  []*Row // revisions that came to be older ones
	// trimmed is how many bytes the next revision gives back, because the oldest ones go for it.
	trimmed int64
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
	room    room
}

func newDeciding(held map[Hash]*standing, left room) *deciding {
	return &deciding{
		held: held, works: map[Hash]*work{}, byID: map[string]*entry{}, byAlike: map[Alike][]*entry{}, foreign: map[string]bool{}, room: left,
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
		g.add(&entry{memory: k.memory, row: k.row, base: k.row, trimmed: k.trimmed})
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

// revise gives an entry its next revision, with further older ones besides the present one. Where there is no room for it,
// that is refused.
func (g *deciding) revise(subject Hash, e *entry, next *Memory, older ...*Row) (refused, err error) {
	row, err := g.held[subject].row(next, e.row)
	if err != nil {
		return nil, err
	}
	if !g.room.take(sizeOf(older) + int64(len(row.Sealed)) - e.trimmed) {
		return problem.StorageFull(), nil
	}
	e.trimmed = 0
	for _, name := range e.names() {
		g.byAlike[name] = slices.DeleteFunc(g.byAlike[name], func(o *entry) bool { return o == e })
	}
	e.older = append(e.older, e.row)
	e.older = append(e.older, older...)
	e.memory, e.row = next, row
	g.index(e)
	return nil, nil
}

// sizeOf is what rows take of a workspace's storage.
func sizeOf(rows []*Row) (bytes int64) {
	for _, r := range rows {
		bytes += int64(len(r.Sealed))
	}
	return bytes
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
