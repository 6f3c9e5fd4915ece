package memory

import "sync"

// generations remembers in which generation subjects were written last, so that a write need not ask before it is made
// ready. It may be wrong: the unit that writes looks at what it holds, and then nothing is remembered.
type generations struct {
	mu sync.Mutex
	of map[Hash]int64 // a hash is one of its workspace, too
}

// maxGenerations bounds what is remembered; beyond that all is forgotten.
const maxGenerations = 1 << 15

func (g *generations) get(subject Hash) (generation int64, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	generation, ok = g.of[subject]
	return generation, ok
}

func (g *generations) put(subject Hash, generation int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.of == nil || len(g.of) >= maxGenerations {
		g.of = map[Hash]int64{}
	}
	g.of[subject] = generation
}

func (g *generations) forgetAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.of = nil
}

func (g *generations) forget(subjects map[Hash]*standing) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for hash := range subjects {
		delete(g.of, hash)
	}
}
