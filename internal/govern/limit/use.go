package limit

import (
	"hash/fnv"
	"sync"
	"time"
)

// Use is what a subject has used of its minute, its UTC day and its UTC month. All three are counted whether or not there
// is a limit, so that a quota given to a key at noon includes the morning. Init or InitKey comes before the first charge.
//
// There is one for every API key, so it has no text and no lock of its own. It is allocated as 64 bytes.
type Use struct {
	owner   *owner
	bucket  *bucket      // what Shared knows beside the counters; nil if it has not seen this subject
	used    [kinds]int64 // units used in the current windows
	windows [kinds]int32 // their numbers
	phase   uint8        // seconds by which the minute windows are shifted
}

// owner is a workspace or an address. Its lock guards its counters and, for a workspace, those of its keys.
type owner struct {
	mu      sync.Mutex
	id      string // of the workspace; of an address its network
	evicted bool   // an address that was evicted from Addresses
	group   *group // of Shared; nil if it has not seen this owner
}

// maxCount is the largest count, larger than any quota can be. A limit as large as this refuses nothing.
const maxCount = 1<<38 - 1

// Init makes the counters those of a workspace or an address. The minute windows are shifted by fnv64a(subject) mod 60
// seconds, the same in every process.
func (u *Use) Init(subject string) {
	u.owner = &owner{id: subject}
	u.setPhase(subject)
}

// InitKey makes the counters those of an API key in a workspace.
func (u *Use) InitKey(subject string, workspace *Use) {
	u.owner = workspace.owner
	u.setPhase(subject)
}

func (u *Use) setPhase(subject string) {
	h := fnv.New64a()
	h.Write([]byte(subject))
	u.phase = uint8(h.Sum64() % minute)
}

// Restore sets what the subject had used of the day and the month of now before the program started.
func (u *Use) Restore(now time.Time, usedToday, usedThisMonth int64) {
	defer u.lock().Unlock()
	today := dayOf(secondOf(now))
	u.windows[Day], u.used[Day] = int32(today), min(max(usedToday, 0), maxCount)
	u.windows[Month], u.used[Month] = monthOf(today), min(max(usedThisMonth, 0), maxCount)
}

// Used returns what the subject has used of the UTC day and month of now, as far as this process knows.
func (u *Use) Used(now time.Time) (today, thisMonth int64) {
	defer u.lock().Unlock()
	unix := secondOf(now)
	u.advance(unix, u.dayAt(unix))
	return u.used[Day], u.used[Month]
}

// lock locks the counters of the workspace and all its keys, or those of the address. It returns the lock for
// `defer u.lock().Unlock()`.
func (u *Use) lock() *sync.Mutex {
	u.owner.mu.Lock()
	return &u.owner.mu
}

// advance resets the counters that show another window than the one unix lies in, and gives the end of the minute.
//
// A counter that shows the next window keeps it: the clock stepped back a little, or a later request overtook this one. A
// counter that shows a window further ahead is reset, too: the clock was wrong by more than a window, and keeping the count
// would refuse callers until that time comes. Such a step gives a subject one more window at most.
func (u *Use) advance(unix, today int64) (minuteEnd int64) {
	window, end := minuteOf(unix, u.phase)
	if u.windows[Minute] == window+1 {
		window, end = window+1, end+minute
	}
	u.start(Minute, window)
	if u.windows[Day] != int32(today) {
		u.start(Day, int32(today))
		u.start(Month, monthOf(today))
	}
	return end
}

// start resets a counter if it shows another window.
func (u *Use) start(k Kind, window int32) {
	if u.windows[k] != window {
		u.windows[k], u.used[k] = window, 0
	}
}

// dayAt is the day that a charge at unix counts for: the one that the day's counter has begun already, if that is the
// next one.
func (u *Use) dayAt(unix int64) int64 {
	today := dayOf(unix)
	if u.windows[Day] == int32(today+1) {
		return today + 1
	}
	return today
}

// add adds units, which may be negative, to a window. A window that is over stays as it was.
func (u *Use) add(k Kind, window int32, units int64) {
	if u.windows[k] == window {
		u.used[k] = min(max(u.used[k]+units, 0), maxCount)
	}
}

// evict notes that no request will come for the counters of an address again.
func (u *Use) evict() {
	defer u.lock().Unlock()
	u.owner.evicted = true
}
