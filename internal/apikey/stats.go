package apikey

import (
	"unsafe"

	"keepsake/internal/limit"
)

// Stats describes a cache of keys.
type Stats struct {
	Entries   int64
	Capacity  int64 // 0: unlimited
	Bytes     int64 // an estimate
	Hits      int64
	Misses    int64
	Evictions int64
}

// Stats describes the directory. A miss is a well-formed text that it did not hold, an eviction a revoked key that it
// forgot.
func (d *Directory) Stats() Stats {
	const (
		perSecret = 60 // of a map from 32 bytes to a pointer, a third of which is empty on average
		perID     = 36 // of a map from 16 bytes to a pointer
		perKey    = int64(unsafe.Sizeof(entry{})+unsafe.Sizeof(limit.Use{})) + perID
	)
	var s Stats
	var secrets int64
	for i := range d.index {
		secrets += int64(len(*d.index[i].entries.Load()))
		s.Hits += d.index[i].hits.Load()
	}
	d.mu.Lock()
	s.Entries, s.Evictions = int64(len(d.byID)), d.forgotten
	d.mu.Unlock()
	s.Bytes = s.Entries*perKey + secrets*perSecret
	u := d.UnknownStats()
	s.Misses = u.Hits + u.Misses
	return s
}

// UnknownStats describes the refusals of texts that are no keys.
func (d *Directory) UnknownStats() Stats {
	r := d.refusals
	r.mu.Lock()
	defer r.mu.Unlock()
	const perRefusal = 160 // an entry of a list, and of a map from 32 bytes to a pointer
	entries := int64(r.recent.Len())
	return Stats{
		Entries: entries, Capacity: maxRefusals,
		Bytes: entries * perRefusal,
		Hits:  r.hits, Misses: r.misses, Evictions: r.evicted,
	}
}
