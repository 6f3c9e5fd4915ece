package limit

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// book is what this member knows of one subject's budgets. Its counters count what all members have used, as far as
// that is known here, so that what a request sees of them is the whole.
type book struct {
	use     Use
	tallies [kinds]tally
	group   *group
	subject string

	freshUntil  atomic.Int64  // our time since the start up to which what is known of others is good enough
	outage      atomic.Uint32 // the one for which the ceilings are made
	recovered   atomic.Uint32 // the one during which the ledger was reached again
	quotasUntil atomic.Int64  // our time since the start up to which the ceilings of the quotas are good, in an outage
	urgent      atomic.Bool   // a report is asked for

	// Guarded by the group's lock.
	seen    [kinds]uint64 // what the counters showed at the last sweep
	busyAt  time.Duration // when they were last seen changed
	heardAt time.Duration // when the last contact was sent that was answered
	evicted bool
}

// tally is one budget of a book: what this member may do of it by itself.
type tally struct {
	limit   atomic.Int64  // as last charged against; 0: none, and nothing to share
	ceiling atomic.Uint64 // window, and the count up to which a charge needs to ask nobody
	half    atomic.Uint64 // window, and the count from which on the others should hear of it

	// Guarded by the group's lock. All but the last two are of this window.
	window uint32
	others int64 // what the counter shows that this member has not admitted
	acked  int64 // of what it has admitted, what the ledger has
	total  int64 // that the ledger told
	heard  bool  // it told one
	unsure bool  // what was admitted before the book was made is not known
	at     time.Duration
	rate   float64 // by which total grew, a second

	durable       int64 // what is stored as used
	durableWindow uint32
}

func (b *book) counter(k Kind) *Counter {
	switch k {
	case Minute:
		return &b.use.Minute
	case Day:
		return &b.use.Daily
	default:
		return &b.use.Monthly
	}
}

// group is the books with one tag. One contact for them is under way at a time; requests that wait meanwhile share the
// next one.
type group struct {
	tag    string
	active atomic.Bool // it is on the list of those that are looked after

	mu      sync.Mutex
	books   []*book
	flying  bool
	again   bool // somebody asked for a report while it flew
	waiting []*ask
}

// put adds to what a counter shows of a window, which may be the one after that it shows. One that it has left behind is
// nobody's business any more.
func (c *Counter) put(window uint32, units int64) {
	for {
		word := c.word.Load()
		if windowIn(word) == next(window) {
			return
		}
		count := min(max(used(word, window)+units, 0), maxCount)
		if c.word.CompareAndSwap(word, pack(window, count)) {
			return
		}
	}
}

// turn makes the tally one of a window.
func (t *tally) turn(window uint32) {
	if t.window == window {
		return
	}
	// Only a window that was under way when the book was made can have been charged before.
	t.window, t.others, t.acked, t.total, t.heard, t.unsure, t.rate = window, 0, 0, 0, false, false, 0
}

// own is what this member has admitted of the tally's window.
func (t *tally) own(word uint64) int64 {
	if windowIn(word) != t.window {
		return 0
	}
	return max(0, int64(word&maxCount)-t.others)
}

// durableIn is what is stored as used of a window.
func (t *tally) durableIn(window uint32) int64 {
	if t.durableWindow != window {
		return 0
	}
	return t.durable
}

// allow sets how far charges may go by themselves: to total and a more, a report being due halfway.
func (t *tally) allow(window uint32, total, a int64) {
	t.half.Store(pack(window, min(total+(a+1)/2, maxCount)))
	t.ceiling.Store(pack(window, min(total+a, maxCount)))
}

// share sets what this member admits of a minute that it counts without the others, after the limit was changed.
func (b *book) share(t *tally, window uint32, n int64) {
	b.group.mu.Lock()
	defer b.group.mu.Unlock()
	t.allow(window, 0, n)
}

// entry says how the budget stands here. The caller holds the group's lock.
func (b *book) entry(k Kind, unix int64) Entry {
	t, word := &b.tallies[k], b.counter(k).word.Load()
	window, ends := windowOf(k, unix, b.use.phase(), word)
	t.turn(window)
	return Entry{
		Subject: b.subject, Kind: k, Window: window, Ends: time.Unix(ends, 0),
		Limit: t.limit.Load(), Own: t.own(word), Unsure: t.unsure, Known: used(word, window), Durable: t.durableIn(window),
	}
}

// windowOf is the window that a charge at a moment goes to, by the rule of budgets.look.
func windowOf(k Kind, unix int64, phase uint32, word uint64) (window uint32, ends int64) {
	if k == Minute {
		window, ends = minuteOf(unix, phase)
		if windowIn(word) == next(window) {
			return next(window), ends + minute
		}
		return window, ends
	}
	d := dayOf(unix)
	if k == Day {
		if windowIn(word) == uint32(d+1)&windowMask {
			d++
		}
		return uint32(d) & windowMask, (d + 1) * day
	}
	if later := monthOf(d + 1); windowIn(word) == later {
		d++ // the last day of a month, whose counter has turned already
	}
	return monthOf(d), monthEnd(d)
}

// learn takes in how a budget stands in the ledger, after a contact that granted some units. Whoever gets them adds them
// to the counters, under the same hold of the lock. An answer that comes late, when the book is fallen and has its share,
// takes nothing of that away and adds nothing to it.
func (b *book) learn(e *Entry, st *Standing, granted, members int64, settled, fallen bool, sent time.Duration, unix int64) {
	t := &b.tallies[e.Kind]
	if t.window != e.Window {
		return
	}
	others := max(0, st.Total-st.Own)
	more := others - t.others
	if e.Unsure {
		more += st.Own - granted
		t.unsure = false
	}
	t.others = others
	b.counter(e.Kind).put(e.Window, more)
	t.rate = t.rateTo(st.Total, sent, max(1, unix-(e.Ends.Unix()-minute)))
	t.total, t.acked, t.at, t.heard = st.Total, st.Own, sent, true
	if fallen {
		return
	}
	a := int64(0)
	if settled {
		a = leased(e.Limit, st.Total, members)
	}
	t.allow(e.Window, st.Total, a)
}

// rateTo is how fast a minute's total grows: as in the last interval, or half as fast as before where that is more.
// elapsed is the age of the window.
func (t *tally) rateTo(total int64, at time.Duration, elapsed int64) float64 {
	if !t.heard {
		return float64(total) / float64(elapsed)
	}
	interval := (at - t.at).Seconds()
	if interval <= 0 {
		return t.rate
	}
	return max(float64(total-t.total)/interval, t.rate/2)
}

// fall sets how far charges may go in the windows of a call when the others are not heard any more. began is when the
// minute did.
func (b *book) fall(out *outage, windows [kinds]uint32, began, members int64, counted bool, now time.Duration) {
	b.group.mu.Lock()
	defer b.group.mu.Unlock()
	if b.outage.Load() == out.id {
		return // somebody was faster
	}
	for k := range Kind(kinds) {
		t := &b.tallies[k]
		limit, window := t.limit.Load(), windows[k]
		if limit == 0 {
			continue
		}
		if k != Minute {
			rest := shareOfRest
			if !t.heard || now-t.at > stale {
				rest = unheardOfRest
			}
			b.byDurable(k, window, limit, members, rest)
			continue
		}
		if out.blind || began >= out.unix {
			t.allow(window, 0, shareOf(limit, members))
			continue
		}
		if t.window != window || !t.heard || !counted {
			continue
		}
		most := int64(0)
		if word := t.ceiling.Load(); windowIn(word) == window {
			most = int64(word & maxCount)
		}
		share := shareAtLoss(limit, t.total, members, out.latest-t.at, t.rate)
		t.allow(window, t.total, max(most-t.total, share))
	}
	b.quotasUntil.Store(int64(now + storedFor))
	b.outage.Store(out.id)
}

// narrow takes back what this member was to admit of quotas and has not, for nothing was heard of them for so long that
// the others may have used it. What it keeps is stored soon after it is used, and then it hears again.
func (b *book) narrow(windows [kinds]uint32, members int64, now time.Duration) {
	b.group.mu.Lock()
	defer b.group.mu.Unlock()
	if int64(now) <= b.quotasUntil.Load() {
		return
	}
	for _, k := range []Kind{Day, Month} {
		t := &b.tallies[k]
		limit, ceiling := t.limit.Load(), t.ceiling.Load()
		if limit == 0 || windowIn(ceiling) != windows[k] {
			continue
		}
		count := used(b.counter(k).word.Load(), windows[k])
		if a := unheardOfRest(limit, count, members); int64(ceiling&maxCount) > count+a {
			t.allow(windows[k], count, a)
		}
	}
	b.quotasUntil.Store(math.MaxInt64)
}

// byDurable lets charges go as far as this member's share of what is left of a quota, by what is known to be used of it.
// The caller holds the group's lock.
func (b *book) byDurable(k Kind, window uint32, limit, members int64, rest func(limit, total, members int64) int64) {
	t, c := &b.tallies[k], b.counter(k)
	t.turn(window)
	word := c.word.Load()
	if more := t.durableIn(window) - t.own(word) - t.others; more > 0 {
		t.others += more
		c.put(window, more)
	}
	count := used(c.word.Load(), window)
	t.allow(window, count, rest(limit, count, members))
}
