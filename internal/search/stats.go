package search

import "keepsake/internal/search/index"

// Stats contains the statistics of the cache of open indexes.
type Stats struct {
	Entries   int64 // open indexes
	Capacity  int64
	Bytes     int64 // of open indexes, on disk and in memory
	Hits      int64
	Misses    int64
	Evictions int64
}

// Stats returns the statistics of the cache of open indexes.
func (x *Indexer) Stats() Stats {
	x.mu.Lock()
	open := append([]*folder(nil), x.open...)
	x.mu.Unlock()
	s := Stats{
		Entries: int64(len(open)), Capacity: int64(x.o.MaxOpen),
		Hits: x.hits.Load(), Misses: x.misses.Load(), Evictions: x.evictions.Load(),
	}
	for _, f := range open {
		if size, _, isOpen := f.state(); isOpen {
			s.Bytes += size.Files + size.Memory
		}
	}
	return s
}

// State describes the indexes of all workspaces. An index that was not opened since the start has no size.
type State struct {
	Size     index.Size
	Work     index.Work // since the start
	Indexes  int64
	Open     int64
	Lag      int64
	Awaited  int64
	Renewing int64 // documents that are to be indexed again, because settings of their collection changed
	Renewed  int64 // documents that were, since the start
}

// State returns the current state of the indexes.
func (x *Indexer) State() State {
	s := State{Lag: x.Lag(), Awaited: x.Awaited(), Renewed: x.renewed.Load()}
	for _, f := range x.all() {
		size, work, open := f.state()
		s.Size.Add(size)
		s.Work.Add(work)
		s.Renewing += f.renewing.Load()
		if s.Indexes++; open {
			s.Open++
		}
	}
	return s
}

// all returns the folders of all workspaces.
func (x *Indexer) all() []*folder {
	x.mu.Lock()
	defer x.mu.Unlock()
	list := make([]*folder, 0, len(x.folders))
	for _, f := range x.folders {
		list = append(list, f)
	}
	return list
}

// Lag returns how many known changes are missing in the indexes of all workspaces. A closed index does not count, because
// what it lacks is only known when it is opened.
func (x *Indexer) Lag() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	var lag int64
	for _, f := range x.folders {
		if position := f.position.Load(); position != unknown {
			lag += max(0, f.target.Load()-position)
		}
	}
	return lag
}
