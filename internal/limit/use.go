package limit

import (
	"hash/fnv"
	"sync/atomic"
	"time"
)

// Use is what a subject has used of its minute, its UTC day and its UTC month. It is 32 bytes without a pointer, kept by
// value inside the entries of directories. Init comes before the first charge. All three are counted whether or not
// there is a budget, so that a quota given to a key at noon knows of the morning.
type Use struct {
	Minute  Counter
	Daily   Counter
	Monthly Counter
	home    atomic.Uint32 // the phase of the minute windows, and where Shared keeps the book of the subject
	marks   atomic.Uint32
}

// The low bits of home are the seconds by which the minute windows are shifted. The others number the book, 0 for none,
// so that an entry of a directory needs no pointer to it.
const (
	phaseBits = 6
	phaseMask = 1<<phaseBits - 1
)

func (u *Use) phase() uint32 { return u.home.Load() & phaseMask }

// Init sets the phase of the minute windows: fnv64a(subject) mod 60 seconds, the same on every instance. The subject is
// the workspace's or the key's id.
func (u *Use) Init(subject string) {
	h := fnv.New64a()
	h.Write([]byte(subject))
	u.home.Store(uint32(h.Sum64() % minute))
}

// Restore sets what the subject had used of the day and the month of now before the program started.
func (u *Use) Restore(now time.Time, day, month int64) {
	d := dayOf(secondOf(now))
	u.Daily.set(uint32(d)&windowMask, day)
	u.Monthly.set(monthOf(d), month)
}

// A charge of several units that finds a later budget too small gives back what it took. Until then its units are
// missing to smaller charges that do fit, so it marks itself, and a charge that is about to be refused looks again when
// it sees the marks changed or set. Charges of one unit need none of this: what stops one of them stops every other that
// meets the units it holds, because the key's budgets are taken before the workspace's.
const (
	markOne  = 1       // the low half counts charges under way
	markDone = 1 << 16 // the high half counts charges that ended
)

func (u *Use) mark() {
	if u != nil {
		u.marks.Add(markOne)
	}
}

func (u *Use) unmark() {
	if u != nil {
		u.marks.Add(markDone - markOne)
	}
}

func (u *Use) marked() uint32 {
	if u == nil {
		return 0
	}
	return u.marks.Load()
}

// marks is what both subjects of a charge show.
type marks struct{ workspace, key uint32 }

func marksOf(workspace, key *Account) marks { return marks{workspace.Use.marked(), key.Use.marked()} }

// doubtful reports whether larger charges were under way at some time between m and after.
func (m marks) doubtful(after marks) bool {
	return m != after || m.workspace%markDone != 0 || m.key%markDone != 0
}
