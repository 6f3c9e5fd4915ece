package account

import (
	"runtime/metrics"
	"sync"
)

// garbage limits the garbage of finished hashes, 19 MiB each unless a test makes them cheap. The collector waits until garbage
// has the size of the live heap, which is a lot next to large indexes, and a collection after every hash would cost too much.
// So garbage forces a collection if none ran while max hashes finished.
type garbage struct {
	max     int
	cycles  func() uint64 // collections so far
	collect func()

	mu    sync.Mutex
	seen  uint64 // cycles when ended was 0
	ended int    // hashes since then
}

// garbagePerSlot is how much memory of finished hashes can be uncollected for each slot, in KiB.
const garbagePerSlot = 2 * argonMemory

// add counts a finished hash.
func (g *garbage) add() {
	if g.due() {
		g.collect()
	}
}

func (g *garbage) due() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if cycles := g.cycles(); cycles != g.seen {
		g.seen, g.ended = cycles, 0
	}
	if g.ended++; g.ended < g.max {
		return false
	}
	g.ended = 0
	return true
}

// collections returns the number of garbage collections so far.
func collections() uint64 {
	sample := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
