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
)

var policies = [budgetCount]Policy{KeyMinute, DailyQuota, MonthlyQuota, TierMinute, DailyQuota, MonthlyQuota}

// budget is what was seen of one budget.
type budget struct {
	counter *Counter
	limit   int64 // maxCount where there is none
	most    int64 // up to which a charge may come without asking anybody; the limit where this process counts alone
	left    int64
	beyond  int64  // is left besides, for others to admit
	word    uint64 // that the counter showed
	window  uint32 // that a charge goes to
}

func (b *budget) lacks(cost int64) bool { return b.limit < maxCount && b.left < cost }

// saw notes what a counter showed, for a charge to window.
func (b *budget) saw(c *Counter, word uint64, window uint32, allowed int64) {
	b.counter, b.limit, b.word, b.window = c, limitOf(allowed), word, window
	b.most = b.limit
	b.spent(used(word, window))
}

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
	b.day = dayOf(unix)
	tomorrow := uint32(b.day+1) & windowMask
	tierDay, keyDay := workspace.Use.Daily.word.Load(), uint64(0)
	late := windowIn(tierDay) == tomorrow
	if key.Use != nil {
		b.first = keyMinute
		keyDay = key.Use.Daily.word.Load()
		late = late || windowIn(keyDay) == tomorrow
	}
	if late {
		b.day++
	}
	today, month := uint32(b.day)&windowMask, monthOf(b.day)

	b.tierEnd = b.lookAtMinute(tierMinute, unix, workspace)
	b.list[tierDaily].saw(&workspace.Use.Daily, tierDay, today, workspace.Daily)
	b.list[tierMonthly].saw(&workspace.Use.Monthly, workspace.Use.Monthly.word.Load(), month, workspace.Monthly)
	if key.Use != nil {
		b.keyEnd = b.lookAtMinute(keyMinute, unix, key)
		b.list[keyDaily].saw(&key.Use.Daily, keyDay, today, key.Daily)
		b.list[keyMonthly].saw(&key.Use.Monthly, key.Use.Monthly.word.Load(), month, key.Monthly)
	}
}

// lookAtMinute settles the minute window of an account and gives its end.
func (b *budgets) lookAtMinute(at int, unix int64, a *Account) (end int64) {
	word := a.Use.Minute.word.Load()
	window, end := minuteOf(unix, a.Use.phase())
	if later := next(window); windowIn(word) == later {
		window, end = later, end+minute
	}
	b.list[at].saw(&a.Use.Minute, word, window, a.PerMinute)
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
		count, taken := seen.counter.take(seen.window, windowIn(seen.word), cost, seen.most)
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
		DailyRemaining:   b.list[tierDaily].left + b.list[tierDaily].beyond,
		MonthlyRemaining: b.list[tierMonthly].left + b.list[tierMonthly].beyond,
	}
	if key.Use != nil {
		daily, monthly := &b.list[keyDaily], &b.list[keyMonthly]
		v.withKey(key, b.list[keyMinute].left, b.keyEnd, daily.left+daily.beyond, monthly.left+monthly.beyond)
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
