package cluster

import "time"

// Member is a process that shares the database, as the table of members shows it. Its times are of the database's clock.
type Member struct {
	ID      string // of this run of the process
	Name    string // of the place it runs in: stays the same when it is started again
	Host    string
	Release string
	Split   bool // it reaches no Redis: it takes its share of the limits by the number of members

	StartedAt time.Time
	SeenAt    time.Time
	LeftAt    *time.Time // it said that it stops, or another run took its place

	JoinedEpoch int64 // the number of its join: every join is one more
	SeenEpoch   int64 // the joins up to this one are known to it
}

// Muster is the table of members at one moment.
type Muster struct {
	At      time.Time // of the database's clock
	Epoch   int64     // the number of the last join
	Members []Member
	Known   bool // who asked is in the table; else it was silent for so long that it must join again
}

// Unheard is how long ago the member was last heard of.
func (m *Muster) Unheard(of *Member) time.Duration { return m.At.Sub(of.SeenAt) }

// roll is what a member makes of the musters it has read, as a value to decide on. A silence counts by the clock of who
// listens, and only while it could listen: when the database was away for everybody, everybody is still there.
type roll struct {
	self     string
	joined   int64 // this member's own epoch; 0 before it has joined
	here     map[string]*presence
	gone     []departure // that may still matter for a window of a limit, oldest first
	listened time.Time   // when the last muster was read
}

// presence is a member in the table.
type presence struct {
	Member
	heard time.Time // when its sign of life was last seen to be a new one
	dead  bool
}

type departure struct {
	id     string
	at     time.Time
	before bool // it had left already when this member first read the table
}

const (
	// deaf is how long a member may go without a muster and still trust what it knows of the others' silence.
	deaf = 2 * time.Second
	// remembered is how long departures are: no minute window is older, and longer ones are counted by Redis or the
	// database, where one member too many only makes allowances smaller.
	remembered = time.Hour
)

func newRoll(self string) *roll { return &roll{self: self, here: map[string]*presence{}} }

// read takes in a muster that was read at a moment of our clock. It gives the members that nobody needs in the table any
// more.
func (r *roll) read(at time.Time, m *Muster) (forget []Member) {
	first := r.listened.IsZero()
	afresh := first || at.Sub(r.listened) > deaf
	r.listened = at
	listed := make(map[string]bool, len(m.Members))
	for _, row := range m.Members {
		listed[row.ID] = true
		if row.LeftAt != nil {
			since := m.At.Sub(*row.LeftAt)
			r.depart(row.ID, at.Add(-max(0, since)), first)
			delete(r.here, row.ID)
			if since > 2*time.Minute {
				forget = append(forget, row)
			}
			continue
		}
		p := r.here[row.ID]
		switch {
		case p == nil:
			p = &presence{heard: at}
			r.here[row.ID] = p
		case !row.SeenAt.Equal(p.SeenAt):
			p.heard, p.dead = at, false
		case afresh && !p.dead:
			p.heard = at
		}
		p.Member = row
		if !p.dead {
			r.arrive(row.ID)
		}
	}
	for id, p := range r.here {
		silence := at.Sub(p.heard)
		switch {
		case id == r.self:
			p.heard = at
		case !listed[id]:
			r.depart(id, at, false)
			delete(r.here, id)
		case !p.dead && silence > DeadAfter:
			p.dead = true
			r.depart(id, at, false)
		case p.dead && silence > 2*time.Minute:
			forget = append(forget, p.Member)
		}
	}
	for len(r.gone) > 0 && at.Sub(r.gone[0].at) > remembered {
		r.gone = r.gone[1:]
	}
	return forget
}

// depart remembers when a member left, the first time that is seen.
func (r *roll) depart(id string, at time.Time, before bool) {
	for _, d := range r.gone {
		if d.id == id {
			return
		}
	}
	r.gone = append(r.gone, departure{id, at, before})
}

// arrive takes a departure back, where there was one: the member was only silent.
func (r *roll) arrive(id string) {
	for i, d := range r.gone {
		if d.id == id {
			r.gone = append(r.gone[:i:i], r.gone[i+1:]...)
			return
		}
	}
}

// count is how many members there are, this one included.
func (r *roll) count() int {
	n := 1
	for id, p := range r.here {
		if id != r.self && !p.dead {
			n++
		}
	}
	return n
}

// partitioned is how many others take their share of the limits by themselves.
func (r *roll) partitioned() int {
	n := 0
	for id, p := range r.here {
		if id != r.self && !p.dead && p.Split {
			n++
		}
	}
	return n
}

// countSince is how many there have been since a moment: who left after it still counts. If this member is alone, a member
// that left before it joined does not: the two never ran side by side, so this one is the instance, restarted.
func (r *roll) countSince(since time.Time) int {
	n := r.count()
	alone := n == 1
	for _, d := range r.gone {
		if d.id != r.self && !d.at.Before(since) && !(alone && d.before) {
			n++
		}
	}
	return n
}

// settled reports whether all others know that this member has joined.
func (r *roll) settled() bool {
	me := r.here[r.self]
	if r.joined == 0 || me == nil || me.JoinedEpoch != r.joined {
		return false
	}
	for id, p := range r.here {
		if id != r.self && !p.dead && p.SeenEpoch < r.joined {
			return false
		}
	}
	return true
}
