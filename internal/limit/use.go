package limit

import (
	"hash/fnv"
	"sync/atomic"
	"time"
)

// Use is what a subject has used: of its minute, its UTC day and its UTC month. It holds no pointer and is kept by value
// inside the entries of directories. Init comes before the first charge; a Use must not be copied after it.
type Use struct {
	Minute    Counter
	Daily     Counter
	Monthly   Counter
	phase     uint32       // seconds by which the minute windows are shifted
	undecided atomic.Int32 // charges of more than one unit under way
}

// Init sets the phase of the minute windows: fnv64a(subject) mod 60 seconds, the same on every instance. The subject is
// the workspace's or key's id.
func (u *Use) Init(subject string) {
	h := fnv.New64a()
	h.Write([]byte(subject))
	u.phase = uint32(h.Sum64() % 60)
}

// Restore sets what the subject had used of the day and the month of now before the program started.
func (u *Use) Restore(now time.Time, day, month int64) {
	d := dayOf(now)
	u.Daily.set(uint32(d), day)
	u.Monthly.set(monthOf(d), month)
}
