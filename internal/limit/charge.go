package limit

import (
	"runtime"
	"time"
)

// Receipt says what a charge took, from which windows. The zero Receipt took nothing.
type Receipt struct {
	at             int64 // Unix second
	cost           int64
	workspace, key taken
}

type taken struct {
	use                    *Use
	minute, daily, monthly uint32
}

// At is the moment the charge counts for, to the second. It is the moment it was asked for, unless the day's counter had
// begun the next day already: then it is that day's first second. Usage is recorded under this moment, so that counters
// and recorded usage agree to the unit.
func (r Receipt) At() time.Time { return time.Unix(r.at, 0).UTC() }

// Refund gives the charge back to the windows it came from. A receipt is refunded once.
func (r Receipt) Refund() {
	r.key.giveBack(r.cost)
	r.workspace.giveBack(r.cost)
}

func (t taken) giveBack(cost int64) {
	if t.use == nil {
		return
	}
	t.use.Minute.giveBack(t.minute, cost)
	t.use.Daily.giveBack(t.daily, cost)
	t.use.Monthly.giveBack(t.monthly, cost)
}

// A charge that would be refused gives way to larger ones under way before it believes what it sees. They end within
// nanoseconds, so at first it only yields; where the machine has taken their thread away, it sleeps.
const (
	yields = 100
	sleeps = 20
	nap    = 200 * time.Microsecond
)

// giveWay waits a little longer with each try, and is false once it has waited enough. Tests replace it.
var giveWay = func(try int) bool {
	switch {
	case try <= yields:
		runtime.Gosched()
	case try <= yields+sleeps:
		time.Sleep(nap)
	default:
		return false
	}
	return true
}

// Charge takes cost units from every budget of both accounts, or from none. key is the zero Account where the caller has
// no key; workspace, whose Use is never nil, is the client's address (Addresses) where there is no credential at all. A
// cost below 0 counts as 0.
//
// It takes no lock and allocates nothing. However many goroutines charge at once, as many units are admitted as the
// budgets have, never more.
func Charge(now time.Time, cost int64, workspace, key Account) (v Verdict, r Receipt) {
	charge(&v, &r, now, cost, &workspace, &key)
	return v, r
}

// charge is Charge into a verdict and a receipt, which it replaces.
func charge(v *Verdict, r *Receipt, now time.Time, cost int64, workspace, key *Account) {
	unix := secondOf(now)
	if cost == 1 && chargeOne(v, r, unix, workspace, key) {
		return
	}
	*v, *r = chargeAny(now, unix, min(max(cost, 0), maxCount), workspace, key)
}

// chargeAny is a charge of any cost, which may be refused.
func chargeAny(now time.Time, unix, cost int64, workspace, key *Account) (Verdict, Receipt) {
	var b budgets
	for try := 0; ; {
		before := marksOf(workspace, key)
		b.look(unix, workspace, key)
		if !b.lacks(cost) {
			if b.charge(cost, workspace, key) {
				return b.verdict(workspace, key), b.receipt(unix, cost, workspace, key)
			}
			continue // somebody was faster
		}
		if try++; before.doubtful(marksOf(workspace, key)) && giveWay(try) {
			continue
		}
		v := b.verdict(workspace, key)
		b.deny(&v, now, cost, workspace)
		return v, Receipt{at: unix}
	}
}

// Peek gives the verdict a charge of one unit would get, and charges nothing.
func Peek(now time.Time, workspace, key Account) Verdict { return PeekFor(now, 1, workspace, key) }

// PeekFor gives the verdict a charge of cost would get, and charges nothing.
func PeekFor(now time.Time, cost int64, workspace, key Account) Verdict {
	var b budgets
	b.look(secondOf(now), &workspace, &key)
	v := b.verdict(&workspace, &key)
	if b.lacks(cost) {
		b.deny(&v, now, cost, &workspace)
	}
	return v
}

// charge is take, marked where a larger charge could for a moment stand in the way of smaller ones.
func (b *budgets) charge(cost int64, workspace, key *Account) bool {
	if cost <= 1 {
		return b.take(cost)
	}
	workspace.Use.mark()
	key.Use.mark()
	done := b.take(cost)
	key.Use.unmark()
	workspace.Use.unmark()
	return done
}

func (b *budgets) receipt(unix, cost int64, workspace, key *Account) Receipt {
	r := Receipt{at: max(unix, b.day*day), cost: cost, workspace: b.taken(tierMinute, workspace.Use)}
	if key.Use != nil {
		r.key = b.taken(keyMinute, key.Use)
	}
	return r
}

func (b *budgets) taken(at int, u *Use) taken {
	return taken{u, b.list[at].window, b.list[at+keyDaily].window, b.list[at+keyMonthly].window}
}
