package limit

import (
	"cmp"
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Members is who counts together.
type Members interface {
	// Count is how many members there are, this one included.
	Count() int
	// MostSince is how many there have been since a moment, those that have gone included.
	MostSince(time.Time) int
	// Settled reports whether all others know of this one.
	Settled() bool
	// Apart is how many of the others reach no ledger, so that each of them admits its share.
	Apart() int
}

// SharedOptions is what Shared needs.
type SharedOptions struct {
	Ledger    Ledger // nil: there is none, and every member takes its share
	Members   Members
	Addresses int    // how many callers without a credential are remembered
	Secret    []byte // with it addresses are hashed, so that the ledger learns none
	// Durable reads what is stored as used of the present day and month, after the ledger has lost it. It may be nil.
	Durable func(ctx context.Context) ([]Durable, error)
	Wait    time.Duration // how long a request waits for the ledger before this member takes its share; 0: 50 ms
	Now     func() time.Time
	Log     *slog.Logger
}

// Durable is what is stored as used by a subject in a period: "2026-11-21" or "2026-11".
type Durable struct {
	Subject string
	Period  string
	Used    int64
}

// Shared is limits that several members keep together. The nil Shared is those of one process alone.
//
// Every member counts in memory, tells the ledger what it has admitted, and hears what all have. In between it admits by
// itself no more than its allowance; where that is spent, or a budget is nearly used up, the request waits for the ledger.
// No unit is set aside for later, so none lies idle, and a member that is lost takes nothing with it.
//
// When the ledger does not answer, each member takes its share (see Degraded). All methods are safe for concurrent use.
type Shared struct {
	o     SharedOptions
	began time.Time

	members atomic.Int64
	settled atomic.Bool
	counted atomic.Int64          // our time since the start up to which the others count this member, also when it is settled no more
	apart   atomic.Pointer[apart] // nil where all reach the ledger
	offset  atomic.Int64          // the ledger's Unix time less our time since the start
	number  atomic.Uint64
	outage  atomic.Pointer[outage] // nil while the ledger answers
	outages atomic.Uint32          // the id of the last one

	books     atomic.Pointer[[]*book] // by their number in Use.home; 0 is none
	addresses [addressShards]addressBooks

	mu       sync.RWMutex // guards what follows
	subjects map[string]*book
	tags     map[string]*group
	active   []*group
	cursor   int // where the next sweep begins

	clockMu sync.Mutex
	clock   reckoning

	flights sync.WaitGroup
	urgent  chan *group
	missing chan struct{} // the ledger lacks quotas
	beatMu  sync.Mutex    // guards what follows
	life    string
	joined  time.Duration // since when this member is settled, 0 while it is not

	counts struct{ waits, contacts, outages atomic.Int64 }
}

// apart is others who reach no ledger and say so.
type apart struct {
	members int64
	unix    int64 // since when, by the ledger's clock
}

// leave is what they leave of a limit to those that count together. A minute that began before they said so is theirs
// only by their share of what was left then, which is less: it stays as it was.
func (a *apart) leave(limit, members, began int64) int64 {
	if began < a.unix {
		return limit
	}
	return max(1, limit-min(a.members, members-1)*shareOf(limit, members))
}

// outage is a time without the ledger.
type outage struct {
	id     uint32
	blind  bool          // nothing was ever heard
	unix   int64         // when it began, by the ledger's clock
	latest time.Duration // when it last got worse, by our time since the start
	better atomic.Bool   // the ledger was reached since
}

const (
	defaultWait = 50 * time.Millisecond
	goodFor     = 5 * time.Second // how long what is known of others is good enough for the headers
	storedFor   = 3 * time.Second // how long what is stored of a quota is good enough to divide the rest by it
	sweepEvery  = 100 * time.Millisecond
	beatEvery   = 250 * time.Millisecond
	busyFor     = 75 * time.Second // how long a subject is looked after when it sends nothing any more
	reportAfter = 100 * time.Millisecond
	refreshMost = 4 * time.Second
	settleAfter = time.Second // from when all know of a member until the last of them has told what it took before
)

// missedFor is for how long the others still count a member that they do not hear of any more, and a little less: it has its
// share of what is left in that time.
const missedFor = 55 * time.Second

// NewShared makes Shared. Run keeps it going.
func NewShared(o SharedOptions) *Shared {
	o.Wait = cmp.Or(o.Wait, defaultWait)
	s := &Shared{
		o: o, began: o.Now(), subjects: map[string]*book{}, tags: map[string]*group{},
		urgent: make(chan *group, 1024), missing: make(chan struct{}, 1),
	}
	s.books.Store(&[]*book{nil})
	for i := range s.addresses {
		s.addresses[i].byKey = map[addressKey]*book{}
	}
	s.offset.Store(s.began.UnixNano())
	s.outage.Store(&outage{id: s.outages.Add(1), blind: true})
	s.muster()
	return s
}

// The modes (cache-stats).
const (
	ModeLocal  = "local"  // one process counts all
	ModeSplit  = "split"  // each member has its share of every limit
	ModeShared = "shared" // the members count together, unless that is degraded: then each has its share
)

// Mode says how limits are meant to be kept.
func (s *Shared) Mode() string {
	switch {
	case s == nil:
		return ModeLocal
	case s.o.Ledger == nil:
		return ModeSplit
	default:
		return ModeShared
	}
}

// Degraded reports whether there is a ledger and it does not answer.
func (s *Shared) Degraded() bool { return s != nil && s.o.Ledger != nil && s.outage.Load() != nil }

// Split reports whether this member admits its share of every limit, because it reaches no ledger.
func (s *Shared) Split() bool { return s != nil && s.outage.Load() != nil }

// Counted reports whether this member may admit by itself, because all others know of it. Until then every request waits for
// the ledger, and is refused where that does not answer.
func (s *Shared) Counted() bool { return s == nil || s.settled.Load() || s.o.Members.Count() == 1 }

// SharedStats counts what Shared did since it was made.
type SharedStats struct {
	Waits    int64 // requests that waited for the ledger
	Contacts int64 // with the ledger
	Outages  int64
}

// Stats gives the counts of now.
func (s *Shared) Stats() SharedStats {
	return SharedStats{s.counts.waits.Load(), s.counts.contacts.Load(), s.counts.outages.Load()}
}

// Payer tells whose accounts are charged. It is asked where that is not known from before.
type Payer interface{ Payer() Subject }

// Subject names the accounts of a charge.
type Subject struct {
	Workspace string     // its id; empty for an address
	Key       string     // id of the key; empty where there is none
	KeyAlone  bool       // the first account is the key's, and there is no second one
	Address   netip.Addr // of a caller without a credential
	SignIn    bool       // the address's budget for signing in
}

// Charge is the function Charge, for all members together.
func (s *Shared) Charge(now time.Time, cost int64, workspace, key Account, payer Payer) (v Verdict, r Receipt) {
	s.ChargeInto(&v, &r, now, cost, &workspace, &key, payer)
	return v, r
}

// ChargeInto is Charge for the way of every request, where copies count: it replaces v and r.
func (s *Shared) ChargeInto(v *Verdict, r *Receipt, now time.Time, cost int64, workspace, key *Account, payer Payer) {
	if s == nil {
		charge(v, r, now, cost, workspace, key)
		return
	}
	*v, *r = s.charge(now, cost, workspace, key, payer)
}

func (s *Shared) charge(now time.Time, cost int64, workspace, key *Account, payer Payer) (Verdict, Receipt) {
	var c charging
	s.begin(&c, now, min(max(cost, 0), maxCount), workspace, key, payer)
	for asked := 0; ; asked++ {
		switch c.try() {
		case admitted:
			c.hurry()
			return c.b.verdict(&c.workspace, &c.key), c.b.receipt(c.unix, c.cost, &c.workspace, &c.key)
		case refused:
			v := c.b.verdict(&c.workspace, &c.key)
			c.b.deny(&v, c.now, c.cost, &c.workspace)
			return v, Receipt{at: c.unix}
		case short:
			if asked == asksMost {
				c.shut = true // the units there are go to others: whoever is as fast as that
				continue
			}
			if r, granted := c.ask(c.cost); granted {
				return c.look(), r
			}
		}
	}
}

// asksMost is how often a request asks the ledger when others are always faster.
const asksMost = 4

// Peek is the function Peek, for all members together.
func (s *Shared) Peek(now time.Time, workspace, key Account, payer Payer) Verdict {
	return s.PeekFor(now, 1, workspace, key, payer)
}

// PeekFor is the function PeekFor, for all members together. It waits for the ledger where nothing is known.
func (s *Shared) PeekFor(now time.Time, cost int64, workspace, key Account, payer Payer) Verdict {
	if s == nil {
		return PeekFor(now, cost, workspace, key)
	}
	var c charging
	s.begin(&c, now, min(max(cost, 0), maxCount), &workspace, &key, payer)
	c.b.look(c.unix, &c.workspace, &c.key)
	if c.lower() {
		c.ask(0)
		c.b.look(c.unix, &c.workspace, &c.key)
		c.lower()
	}
	v := c.b.verdict(&c.workspace, &c.key)
	if c.b.lacks(c.cost) {
		c.b.deny(&v, c.now, c.cost, &c.workspace)
	}
	return v
}

// charging is one charge under way.
type charging struct {
	s         *Shared
	b         budgets
	books     [2]*book // of the key, nil without one, and of the workspace or address
	workspace Account
	key       Account
	cost      int64
	since     time.Duration
	now       time.Time // by the ledger's clock
	unix      int64
	shut      bool // only what needs no asking
}

// begin puts the books' counters in the place of the directories'.
func (s *Shared) begin(c *charging, now time.Time, cost int64, workspace, key *Account, payer Payer) {
	c.s, c.cost, c.workspace, c.key = s, cost, *workspace, *key
	c.since = now.Sub(s.began)
	c.now = time.Unix(0, int64(c.since)+s.offset.Load()).UTC()
	c.unix = secondOf(c.now)
	if workspace.Anonymous {
		c.books[1] = s.addressBook(payer.Payer())
	} else {
		c.books[1] = s.bookOf(workspace.Use, payer, false)
	}
	c.workspace.Use = &c.books[1].use
	if key.Use != nil {
		c.books[0] = s.bookOf(key.Use, payer, true)
		c.key.Use = &c.books[0].use
	}
	if g := c.books[1].group; !g.active.Load() {
		s.activate(g)
	}
}

type outcome uint8

const (
	admitted outcome = iota
	refused
	short // only the ledger knows
)

// try is a charge by what is known here. It does as the function Charge does, but that a budget may end before its limit.
func (c *charging) try() outcome {
	for try := 0; ; {
		before := marksOf(&c.workspace, &c.key)
		c.b.look(c.unix, &c.workspace, &c.key)
		if c.lower() && !c.shut {
			return short
		}
		if !c.b.lacks(c.cost) {
			if c.b.short(c.cost) {
				return short
			}
			if c.b.charge(c.cost, &c.workspace, &c.key) {
				return admitted
			}
			continue // somebody was faster
		}
		if try++; before.doubtful(marksOf(&c.workspace, &c.key)) && giveWay(try) {
			continue
		}
		return refused
	}
}

// look gives the numbers of now.
func (c *charging) look() Verdict {
	c.b.look(c.unix, &c.workspace, &c.key)
	c.lower()
	return c.b.verdict(&c.workspace, &c.key)
}

// lower says how far each budget may go here. It reports whether too little is known for that.
func (c *charging) lower() (cold bool) {
	s := c.s
	out := s.outage.Load()
	members, settled := s.members.Load(), s.settled.Load()
	for i := c.b.first; i < budgetCount; i++ {
		seen, k := &c.b.list[i], Kind(i%kinds)
		if seen.limit == maxCount {
			continue
		}
		book := c.books[i/kinds]
		t := &book.tallies[k]
		alone := out != nil && book.recovered.Load() != out.id
		if others := s.apart.Load(); others != nil && k == Minute && !alone {
			seen.limit = others.leave(seen.limit, members, c.b.end(i)-minute)
			seen.spent(used(seen.word, seen.window))
		}
		if t.limit.Load() != seen.limit {
			t.limit.Store(seen.limit)
			if alone && k == Minute && (out.blind || c.b.end(i)-minute >= out.unix) {
				book.share(t, seen.window, shareOf(seen.limit, members))
			}
		}
		if alone && (book.outage.Load() != out.id || int64(c.since) > book.quotasUntil.Load()) {
			c.fall(book, i-int(k), out, members, settled || int64(c.since) < s.counted.Load())
			seen.word = seen.counter.word.Load()
			seen.spent(used(seen.word, seen.window))
		}
		most := int64(0)
		switch word := t.ceiling.Load(); {
		case windowIn(word) == seen.window:
			most = int64(word & maxCount)
		case alone && k != Minute:
			most = unheardOfRest(seen.limit, 0, members)
		case alone && c.b.end(i)-minute >= out.unix:
			most = shareOf(seen.limit, members)
		case settled:
			most = leased(seen.limit, 0, members)
		}
		seen.most, seen.beyond = min(seen.limit, most), 0
		if alone || c.shut {
			if k != Minute { // the share grows with each flush: what the quota has is nearer to the truth
				seen.beyond = seen.limit - seen.most
			}
			seen.limit = seen.most
			seen.spent(used(seen.word, seen.window))
		} else if int64(c.since) > book.freshUntil.Load() {
			cold = true
		}
	}
	return cold
}

// fall prepares a book for a time without the ledger. first is where its budgets begin.
func (c *charging) fall(book *book, first int, out *outage, members int64, counted bool) {
	var windows [kinds]uint32
	for k := range Kind(kinds) {
		windows[k] = c.b.list[first+int(k)].window
		if limit := c.b.list[first+int(k)].limit; limit < maxCount {
			book.tallies[k].limit.Store(limit)
		}
	}
	book.fall(out, windows, c.b.end(first)-minute, members, counted, c.since)
	book.narrow(windows, members, c.since)
}

// hurry has the others told soon where much of what may go untold is used.
func (c *charging) hurry() {
	for i := c.b.first; i < budgetCount; i++ {
		seen := &c.b.list[i]
		if seen.limit == maxCount {
			continue
		}
		book := c.books[i/kinds]
		half := (seen.most + 1) / 2 // of a window that was not heard of
		if word := book.tallies[i%kinds].half.Load(); windowIn(word) == seen.window {
			half = int64(word & maxCount)
		}
		if seen.limit-seen.left >= half && !book.urgent.Load() {
			c.s.hurry(book)
		}
	}
}

// short reports whether any budget has enough for cost, but not without asking.
func (b *budgets) short(cost int64) bool {
	for i := b.first; i < budgetCount; i++ {
		if seen := &b.list[i]; seen.most < maxCount && used(seen.word, seen.window)+cost > seen.most {
			return true
		}
	}
	return false
}
