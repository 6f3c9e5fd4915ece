package apikey

import (
	"unsafe"

	"keepsake/internal/govern/limit"
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

// Stats describes the directory. A miss is a text that LookupStored looked for, an eviction a revoked key that was removed
// from memory.
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
	r := d.RefusalStats()
	s.Misses = r.Hits + r.Misses // LookupStored asks the refusals first
	return s
}

// RefusalStats describes the remembered refusals of texts of no key, or of a revoked one. A miss leads to a read
// of the database, which concurrent calls share.
func (d *Directory) RefusalStats() Stats {
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
