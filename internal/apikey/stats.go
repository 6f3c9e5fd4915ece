package apikey

// Stats is what a cache of keys says of itself.
type Stats struct {
	Entries   int64
	Capacity  int64 // 0: as many as there are
	Bytes     int64 // an estimate
	Hits      int64
	Misses    int64
	Evictions int64
}

// Stats describes the directory. A miss is a well-formed text it did not hold, an eviction a revoked key it forgot.
func (d *Directory) Stats() Stats {
	// A map keeps up to half of its places empty.
	const (
		perSecret = 2 * (32 + 4)
		perKey    = 2 * (16 + 4)
	)
	var s Stats
	var secrets int64
	for i := range d.shards {
		secrets += int64(len(*d.shards[i].index.Load()))
		s.Hits += int64(d.shards[i].hits.Load())
	}
	u := d.unknown
	d.mu.Lock()
	s.Entries = int64(len(d.byID))
	d.mu.Unlock()
	s.Bytes = int64(len(*d.shelves.Load()))*shelfLen*(slotBytes+hashesBytes) + secrets*perSecret + s.Entries*perKey
	s.Misses = u.hits.Load() + u.misses.Load()
	s.Evictions = d.evicted.Load()
	return s
}

// UnknownStats describes what is remembered for a short while of texts that are nobody's.
func (d *Directory) UnknownStats() Stats {
	u := d.unknown
	u.mu.Lock()
	entries := int64(len(u.refused))
	u.mu.Unlock()
	return Stats{
		Entries: entries, Capacity: unknownCapacity,
		Bytes: unknownCapacity*32 + entries*2*(32+32),
		Hits:  u.hits.Load(), Misses: u.misses.Load(), Evictions: u.evicted.Load(),
	}
}
