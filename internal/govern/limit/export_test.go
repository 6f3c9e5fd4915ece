package limit

// What the tests of all limiters need.

const MaxCount = maxCount

// SetPhase shifts the minute windows of a subject by some seconds, whatever its name is.
func SetPhase(u *Use, seconds int64) { u.phase = uint8(seconds) }

func PhaseOf(u *Use) int64 { return int64(u.phase) }

// ActiveGroups is how many workspaces and addresses are in use.
func ActiveGroups(s *Shared) int { return len(s.activeGroups()) }

// Syncing reports whether a sync request is on its way.
func Syncing(s *Shared) bool {
	for _, g := range s.activeGroups() {
		g.owner.mu.Lock()
		syncing := g.syncing != nil
		g.owner.mu.Unlock()
		if syncing {
			return true
		}
	}
	return false
}
