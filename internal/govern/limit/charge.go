package limit

import "time"

// Local is the Limiter of a process that counts alone. It is exact, no matter how many goroutines charge at once. The zero
// value is ready to use.
type Local struct{}

// Charge implements Limiter.
func (Local) Charge(now time.Time, cost int64, workspace, key Account) (Verdict, Receipt) {
	defer workspace.Use.lock().Unlock()
	var c charge
	c.open(now, cost, workspace, key)
	if !c.fits() {
		return c.refuse(), Receipt{}
	}
	r := c.take()
	return c.verdict(), r
}

// Peek implements Limiter.
func (Local) Peek(now time.Time, cost int64, workspace, key Account) Verdict {
	defer workspace.Use.lock().Unlock()
	var c charge
	c.open(now, cost, workspace, key)
	return c.peek()
}

// Mode implements Limiter.
func (Local) Mode() Mode { return ModeLocal }

// Degraded implements Limiter.
func (Local) Degraded() bool { return false }

// The budgets of a charge are numbered: first those of the key, then those of the workspace or address. Budget i belongs to
// account i/kinds, 0 for the key and 1 for the workspace, and its Kind is i%kinds.
const (
	keyMinute = iota
	keyDaily
	keyMonthly
	workspaceMinute
	workspaceDaily
	workspaceMonthly
	budgetCount
)

var policies = [budgetCount]Policy{
	PolicyKeyMinute, PolicyDailyQuota, PolicyMonthlyQuota, PolicyTierMinute, PolicyDailyQuota, PolicyMonthlyQuota,
}

// charge is a request to be charged. Its methods need the lock of the workspace.
type charge struct {
	now            time.Time
	unix           int64 // now, in seconds
	day            int64 // UTC day that the charge counts for
	cost           int64
	workspace, key Account
	first          int      // keyMinute, or workspaceMinute if there is no key
	minuteEnd      [2]int64 // of each account
	budgets        [budgetCount]budget
}

// budget is a limit with what is used of it.
type budget struct {
	use     *Use
	kind    Kind
	full    int64 // what all peers together can admit; maxCount if there is no limit
	limit   int64 // full, less what is known to be left to other peers
	ceiling int64 // what this process can admit up to; less than the limit if peers count, too
}

func (b *budget) used() int64 { return b.use.used[b.kind] }

// left is what remains of the limit.
func (b *budget) left() int64 { return max(0, b.limit-b.used()) }

// fits reports whether a charge of cost does not pass the ceiling.
func (b *budget) fits(cost int64) bool {
	return b.limit == maxCount || cost <= max(0, b.ceiling-b.used())
}

// exhausted reports whether a charge of cost is known to pass the limit. A charge that does not fit below the ceiling can still
// fit the limit: this process then does not know whether it does.
func (b *budget) exhausted(cost int64) bool { return b.full < maxCount && b.used()+cost > b.full }

// open finds the budgets of a charge in their current windows. All of them have the same day, and the month follows from
// it, so that the counters can be rebuilt from usage that is recorded under one time (Receipt.At).
func (c *charge) open(now time.Time, cost int64, workspace, key Account) {
	c.now, c.unix, c.cost = now, secondOf(now), min(max(cost, 0), maxCount)
	c.workspace, c.key, c.first = workspace, key, workspaceMinute
	c.day = workspace.Use.dayAt(c.unix)
	if key.Use != nil {
		c.first = keyMinute
		c.day = max(c.day, key.Use.dayAt(c.unix))
		c.addAccount(keyMinute, &key)
	}
	c.addAccount(workspaceMinute, &workspace)
}

// addAccount adds the budgets of an account, of which first is the number of the first one.
func (c *charge) addAccount(first int, a *Account) {
	u := a.Use
	c.minuteEnd[first/kinds] = u.advance(c.unix, c.day)
	for k, limit := range [kinds]int64{a.PerMinute, a.Daily, a.Monthly} {
		if limit <= 0 || limit > maxCount {
			limit = maxCount
		}
		c.budgets[first+k] = budget{u, Kind(k), limit, limit, limit}
	}
}

// end is the Unix second at which the window of budget i ends.
func (c *charge) end(i int) int64 {
	switch Kind(i % kinds) {
	case Minute:
		return c.minuteEnd[i/kinds]
	case Day:
		return (c.day + 1) * day
	default:
		return monthEnd(c.day)
	}
}

// fits reports whether every budget has room for the charge.
func (c *charge) fits() bool {
	for i := c.first; i < budgetCount; i++ {
		if !c.budgets[i].fits(c.cost) {
			return false
		}
	}
	return true
}

// take charges every budget.
func (c *charge) take() Receipt {
	for i := c.first; i < budgetCount; i++ {
		b := &c.budgets[i]
		b.use.used[b.kind] = min(b.used()+c.cost, maxCount)
	}
	return c.receipt()
}

func (c *charge) receipt() Receipt {
	r := Receipt{at: max(c.unix, c.day*day), cost: c.cost, workspace: taken{c.workspace.Use, c.workspace.Use.windows}}
	if c.key.Use != nil {
		r.key = taken{c.key.Use, c.key.Use.windows}
	}
	return r
}

// peek is the verdict that the charge would get.
func (c *charge) peek() Verdict {
	if !c.fits() {
		return c.refuse()
	}
	return c.verdict()
}

// verdict gives the numbers of the headers.
func (c *charge) verdict() Verdict {
	v := Verdict{
		Allowed:          true,
		Limit:            c.workspace.PerMinute,
		Remaining:        c.budgets[workspaceMinute].left(),
		ResetUnix:        c.end(workspaceMinute),
		DailyRemaining:   c.budgets[workspaceDaily].left(),
		MonthlyRemaining: c.budgets[workspaceMonthly].left(),
	}
	if c.key.Use == nil {
		return v
	}
	v.HasKey, v.KeyLimit, v.KeyRemaining = true, c.key.PerMinute, c.budgets[keyMinute].left()
	if end := c.end(keyMinute); v.KeyRemaining < v.Remaining || v.KeyRemaining == v.Remaining && end > v.ResetUnix {
		v.Remaining, v.ResetUnix = v.KeyRemaining, end
	}
	v.DailyRemaining = min(v.DailyRemaining, c.budgets[keyDaily].left())
	v.MonthlyRemaining = min(v.MonthlyRemaining, c.budgets[keyMonthly].left())
	return v
}

// refuse is the verdict of a charge that does not fit. The policy is that of the exhausted budget whose window ends last;
// if several end then, that of the workspace. If no budget is known to be exhausted, the verdict does not name the end of a
// window: what is left can be known much earlier.
func (c *charge) refuse() Verdict {
	v := c.verdict()
	v.Allowed, v.Unknown = false, true
	last := int64(0)
	for i := c.first; i < budgetCount; i++ {
		b := &c.budgets[i]
		if b.fits(c.cost) {
			continue
		}
		exhausted := b.exhausted(c.cost)
		if exhausted && v.Unknown {
			v.Unknown, last = false, 0
		}
		if exhausted != v.Unknown && c.end(i) >= last {
			last, v.Policy = c.end(i), policies[i]
		}
	}
	if c.workspace.Anonymous {
		v.Policy = PolicyAnonymous
	}
	v.ResetIn = time.Unix(last, 0).Sub(c.now)
	if v.Unknown {
		v.ResetIn = min(v.ResetIn, unknownWait)
	}
	return v
}

// unknownWait is when a client can try again that was refused because this process does not know what is left: within that
// time it hears again what the database has, or a minute that is over for the counter store begins again.
const unknownWait = 2 * time.Second

// Receipt says what a charge took, and from which windows. The zero Receipt is that of a charge that was refused.
type Receipt struct {
	at             int64 // Unix second
	cost           int64
	workspace, key taken
}

type taken struct {
	use     *Use
	windows [kinds]int32
}

// At is the time that the charge counts for, to the second. It is the time of the request, unless the day's counter had
// begun the next day already: then it is that day's first second. Usage is recorded under this time, so that counters
// and recorded usage agree to the unit.
func (r Receipt) At() time.Time { return time.Unix(r.at, 0).UTC() }

// Cost is what the charge took from each budget.
func (r Receipt) Cost() int64 { return r.cost }

// Refund gives the charge back to the windows it came from. A receipt is refunded once.
func (r Receipt) Refund() {
	if r.workspace.use == nil {
		return
	}
	defer r.workspace.use.lock().Unlock()
	r.add(-r.cost)
}

// Spend adds units to the day and the month of the charge, whether or not they are left; a negative number takes them back.
// Windows that are over stay as they are. Requests that another service has counted are spent with it.
func (r Receipt) Spend(units int64) {
	if r.workspace.use == nil {
		return
	}
	defer r.workspace.use.lock().Unlock()
	r.workspace.windows[Minute], r.key.windows[Minute] = noWindow, noWindow
	r.add(units)
}

// noWindow is the number of no window.
const noWindow = -1

// add adds units to all windows of the charge that are not over.
func (r *Receipt) add(units int64) {
	for _, t := range []taken{r.workspace, r.key} {
		if t.use == nil {
			continue
		}
		for k, window := range t.windows {
			t.use.add(Kind(k), window, units)
		}
	}
}
