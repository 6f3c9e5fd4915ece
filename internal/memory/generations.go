package memory

import "sync"

// generations caches the generation in which subjects were written last, which saves a read before each write. An entry can
// be stale: the transaction that writes compares it with the locked row.
type generations struct {
	mu      sync.Mutex
	entries map[Hash]int64 // the hash of a subject depends on its workspace, too
}

// maxGenerations is the number of entries at which the cache is cleared.
const maxGenerations = 1 << 15

func (g *generations) get(subject Hash) (generation int64, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	generation, ok = g.entries[subject]
	return generation, ok
}

func (g *generations) put(subject Hash, generation int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.entries == nil || len(g.entries) >= maxGenerations {
		g.entries = map[Hash]int64{}
	}
	g.entries[subject] = generation
}

func (g *generations) remove(subject Hash) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.entries, subject)
}

func (g *generations) clear() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.entries = nil
}
