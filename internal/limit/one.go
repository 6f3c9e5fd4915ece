package limit

// step is one counter as a charge of one unit sees it.
type step struct {
	counter *Counter
	window  uint32 // that the charge goes to
	limit   int64  // maxCount where there is none
	left    int64  // once the unit is taken
}

// steps are those of one account, in the order of its budgets.
type steps [kinds]step

// look prepares a charge, and reports whether all three counters show the windows of now, with room in them. end is the
// Unix second at which the minute ends.
func (s *steps) look(unix int64, today, month uint32, a *Account) (end int64, open bool) {
	window, end := minuteOf(unix, a.Use.phase())
	s[Minute] = step{counter: &a.Use.Minute, window: window, limit: limitOf(a.PerMinute)}
	s[Day] = step{counter: &a.Use.Daily, window: today, limit: limitOf(a.Daily)}
	s[Month] = step{counter: &a.Use.Monthly, window: month, limit: limitOf(a.Monthly)}
	return end, s[Minute].open() && s[Day].open() && s[Month].open()
}

func (s *step) open() bool {
	word := s.counter.word.Load()
	return windowIn(word) == s.window && int64(word&maxCount) < s.limit
}

// take takes one unit of each, or of none where one of them is not open any more.
func (s *steps) take() bool {
	for i := range s {
		if !s[i].take() {
			s.giveBack(i)
			return false
		}
	}
	return true
}

func (s *step) take() bool {
	for {
		word := s.counter.word.Load()
		s.left = s.limit - int64(word&maxCount) - 1
		if windowIn(word) != s.window || s.left < 0 {
			return false
		}
		if s.counter.word.CompareAndSwap(word, word+1) {
			return true
		}
	}
}

// giveBack gives back what the first n took, the last of them first.
func (s *steps) giveBack(n int) {
	for n--; n >= 0; n-- {
		s[n].counter.giveBack(s[n].window, 1)
	}
}

func (s *steps) taken(u *Use) taken {
	return taken{u, s[Minute].window, s[Day].window, s[Month].window}
}

// chargeOne is the charge that nearly every request is: one unit, to windows that are under way, all with room. It does
// what chargeAny does then, in the same order, but keeps no notes for what may come otherwise. It is false, and nothing
// is charged, where there is more to see to: a window turns, a budget is used up.
func chargeOne(v *Verdict, r *Receipt, unix int64, workspace, key *Account) bool {
	d := dayOf(unix)
	today, month := uint32(d)&windowMask, monthOf(d)
	var own, shared steps
	hasKey, keyEnd := key.Use != nil, int64(0)
	if hasKey {
		end, open := own.look(unix, today, month, key)
		if !open {
			return false
		}
		keyEnd = end
	}
	tierEnd, open := shared.look(unix, today, month, workspace)
	if !open || hasKey && !own.take() {
		return false
	}
	if !shared.take() {
		if hasKey {
			own.giveBack(len(own))
		}
		return false
	}

	*v = Verdict{
		Allowed: true, Limit: workspace.PerMinute, Remaining: shared[Minute].left, ResetUnix: tierEnd,
		DailyRemaining: shared[Day].left, MonthlyRemaining: shared[Month].left,
	}
	*r = Receipt{at: unix, cost: 1, workspace: shared.taken(workspace.Use)}
	if hasKey {
		v.withKey(key, own[Minute].left, keyEnd, own[Day].left, own[Month].left)
		r.key = own.taken(key.Use)
	}
	return true
}
