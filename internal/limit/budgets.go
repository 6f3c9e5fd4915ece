package limit

import "time"

// The budgets in the order in which they are charged: the narrow before the wide, so that a key that is refused never
// holds, even for a moment, a unit that another key of its workspace could use.
const (
	keyMinute = iota
	keyDaily
	keyMonthly
	tierMinute
	tierDaily
	tierMonthly
	budgetCount

	perAccount = tierMinute
)

var policies = [budgetCount]Policy{KeyMinute, DailyQuota, MonthlyQuota, TierMinute, DailyQuota, MonthlyQuota}

// budget is what was seen of one budget.
type budget struct {
	counter *Counter
	limit   int64 // maxCount where there is none
	left    int64
	word    uint64 // that the counter showed
	window  uint32 // that a charge goes to
}

func (b *budget) lacks(cost int64) bool { return b.limit < maxCount && b.left < cost }

// spent notes what is left once the counter has come to count.
func (b *budget) spent(count int64) { b.left = max(0, b.limit-count) }

// budgets is everything a charge has to pass, as seen at one moment.
type budgets struct {
	day     int64 // UTC day that a charge goes to
	first   int   // keyMinute, or tierMinute when there is no key
	keyEnd  int64 // Unix seconds at which the minute windows end
	tierEnd int64
	list    [budgetCount]budget
}

// look reads the counters and settles which windows count.
//
// A counter that shows the window after now's keeps it: the clock stepped back a little, or another goroutine crossed
// the border first. A counter that shows any other window starts anew, also when that window lies further ahead: then
// the clock was wrong by more than a window, and keeping it would refuse callers until the wrong time comes round. Such
// a step gives a subject one more window at most.
//
// The day is one for all the counters of a charge, and the month follows from it, so that what they hold can be rebuilt
// from usage that is recorded under one moment (Receipt.At).
func (b *budgets) look(unix int64, workspace, key *Account) {
	b.first = tierMinute
	b.tierEnd = b.read(tierMinute, unix, workspace)
	if key.Use != nil {
		b.first = keyMinute
		b.keyEnd = b.read(keyMinute, unix, key)
	}

	b.day = dayOf(unix)
	tomorrow := uint32(b.day+1) & windowMask
	for i := b.first + keyDaily; i < budgetCount; i += perAccount {
		if windowIn(b.list[i].word) == tomorrow {
			b.day = dayOf(unix) + 1
		}
	}
	month := monthOf(b.day)
	for i := b.first; i < budgetCount; i += perAccount {
		b.list[i+keyDaily].window = uint32(b.day) & windowMask
		b.list[i+keyMonthly].window = month
	}
	for i := b.first; i < budgetCount; i++ {
		seen := &b.list[i]
		seen.spent(used(seen.word, seen.window))
	}
}

// read loads an account's counters and settles its minute window, whose end it gives.
func (b *budgets) read(at int, unix int64, a *Account) (end int64) {
	u := a.Use
	m, d, mo := &b.list[at], &b.list[at+keyDaily], &b.list[at+keyMonthly]
	m.counter, m.limit, m.word = &u.Minute, limitOf(a.PerMinute), u.Minute.word.Load()
	d.counter, d.limit, d.word = &u.Daily, limitOf(a.Daily), u.Daily.word.Load()
	mo.counter, mo.limit, mo.word = &u.Monthly, limitOf(a.Monthly), u.Monthly.word.Load()

	m.window, end = minuteOf(unix, u.phase)
	if later := next(m.window); windowIn(m.word) == later {
		m.window, end = later, end+minute
	}
	return end
}

func limitOf(allowed int64) int64 {
	if allowed <= 0 || allowed > maxCount {
		return maxCount
	}
	return allowed
}

// lacks reports whether any budget is too small for cost.
func (b *budgets) lacks(cost int64) bool {
	for i := b.first; i < budgetCount; i++ {
		if b.list[i].lacks(cost) {
			return true
		}
	}
	return false
}

// take charges every budget or none. It answers false when a counter changed so much since the look that there has to be
// another one.
func (b *budgets) take(cost int64) bool {
	for i := b.first; i < budgetCount; i++ {
		seen := &b.list[i]
		count, taken := seen.counter.take(seen.window, windowIn(seen.word), cost, seen.limit)
		if !taken {
			for i--; i >= b.first; i-- {
				b.list[i].counter.giveBack(b.list[i].window, cost)
			}
			return false
		}
		seen.spent(count)
	}
	return true
}

// verdict gives the numbers of the headers.
func (b *budgets) verdict(workspace, key *Account) Verdict {
	v := Verdict{
		Allowed:          true,
		Limit:            workspace.PerMinute,
		Remaining:        b.list[tierMinute].left,
		ResetUnix:        b.tierEnd,
		DailyRemaining:   b.list[tierDaily].left,
		MonthlyRemaining: b.list[tierMonthly].left,
	}
	if key.Use != nil {
		v.HasKey = true
		v.KeyLimit = key.PerMinute
		v.KeyRemaining = b.list[keyMinute].left
		if v.KeyRemaining < v.Remaining || v.KeyRemaining == v.Remaining && b.keyEnd > b.tierEnd {
			v.Remaining, v.ResetUnix = v.KeyRemaining, b.keyEnd
		}
		v.DailyRemaining = min(v.DailyRemaining, b.list[keyDaily].left)
		v.MonthlyRemaining = min(v.MonthlyRemaining, b.list[keyMonthly].left)
	}
	return v
}

// deny makes v the denial by the exhausted budget that ends last; of several, by the widest.
func (b *budgets) deny(v *Verdict, now time.Time, cost int64, workspace *Account) {
	v.Allowed = false
	last := int64(0)
	for i := b.first; i < budgetCount; i++ {
		if !b.list[i].lacks(cost) {
			continue
		}
		if end := b.end(i); end >= last {
			last, v.Policy = end, policies[i]
		}
	}
	if workspace.Anonymous {
		v.Policy = Anonymous
	}
	v.ResetIn = time.Unix(last, 0).Sub(now)
}

// end is the Unix second at which the window of a budget ends.
func (b *budgets) end(i int) int64 {
	switch i {
	case keyMinute:
		return b.keyEnd
	case tierMinute:
		return b.tierEnd
	case keyDaily, tierDaily:
		return (b.day + 1) * day
	default:
		return monthEnd(b.day)
	}
}
