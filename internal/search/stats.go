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

// State describes the indexes that the process holds. Of an index that was not opened since the start, only the size of its files is
// known.
type State struct {
	Size     index.Size
	Work     index.Work // since the start, also on indexes that were dropped
	Held     int64
	Open     int64
	Lag      int64
	Renewing int64 // documents that are to be indexed again, because settings of their collection changed
	Renewed  int64 // documents that were, since the start

	Building     int64 // indexes that are being built
	BuildingDone int64 // documents in them
	BuildingAll  int64 // documents that they will have
	Builds       Builds
	Dropped      int64 // indexes that were dropped since the start
	DiskBudget   int64 // bytes; 0: no bound
}

// State returns the current state of the indexes.
func (x *Indexer) State() State {
	s := State{
		Lag: x.Lag(), Renewed: x.renewed.Load(),
		Builds: x.builds.read(), Dropped: x.trims.dropped.Load(), DiskBudget: x.o.DiskBudget,
	}
	for _, f := range x.all() {
		size, work, open := f.state()
		s.Size.Add(size)
		s.Work.Add(work)
		s.Renewing += f.renewing.Load()
		if f.holds.Load() {
			s.Held++
		}
		if open {
			s.Open++
		}
		if b := f.underway(); b != nil {
			s.Building++
			s.BuildingDone += b.done
			s.BuildingAll += max(b.done, b.documents)
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

// Lag returns how many known changes are missing in the indexes. An index that is being built does not count: no other waits for it.
// Nor does a closed one, because what it lacks is only known when it is opened.
func (x *Indexer) Lag() int64 {
	var lag int64
	for _, f := range x.all() {
		if position := f.position.Load(); position != unknown && f.underway() == nil {
			lag += max(0, f.target.Load()-position)
		}
	}
	return lag
}
