package account

import (
	"runtime/metrics"
	"sync"
)

// garbage bounds the memory of hashes that have ended, 19 MiB each. The collector lets as much garbage pile up as the heap
// is large, which beside large indexes is a great deal; collecting after every hash would read all of them each time. So a
// collection is asked for only if the collector has run none while so many hashes ended.
type garbage struct {
	most    int
	cycles  func() uint64 // collections so far
	collect func()

	mu    sync.Mutex
	seen  uint64 // cycles when ended was 0
	ended int    // hashes since then
}

// garbagePerSlot is how many hashes may have ended uncollected for each that can run.
const garbagePerSlot = 2

// add counts a hash that has ended.
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
	if g.ended++; g.ended < g.most {
		return false
	}
	g.ended = 0
	return true
}

// collections is how many times the process has collected its garbage.
func collections() uint64 {
	sample := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
