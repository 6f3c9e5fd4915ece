package search

// leave drops f's index, because searches of its workspace read another one elsewhere. While it is in use, it stays until the next turn.
func (x *Indexer) leave(f *folder) error {
	f.handed.clear()
	f.announce() // searches that wait for it
	if f.holds.Load() {
		return x.drop(f)
	}
	return nil
}

// elsewhere reports whether searches of a workspace read an index that is not in this process.
func (x *Indexer) elsewhere(workspaceID string) bool {
	return x.o.Elsewhere != nil && x.o.Elsewhere(workspaceID)
}

// Reached reports whether a workspace's index in this process has all changes up to a number, and how many it has. If it is not
// built, it is now.
func (x *Indexer) Reached(workspaceID string, change int64) (position int64, reached bool) {
	f := x.folder(workspaceID)
	f.raise(change)
	f.mu.Lock()
	f.holds.Store(true)
	f.cold.Store(false)
	f.mu.Unlock()
	if position = f.position.Load(); position == unknown || position < change {
		x.turns.add(f)
	}
	return max(position, 0), position >= change
}
