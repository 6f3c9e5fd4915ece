package cluster

import "time"

// Member is a process, as the table of members describes it. Times are by the database's clock.
type Member struct {
	ID           string // of this run of the process
	Name         string // of its data folder; survives restarts
	Host         string
	Release      string
	WithoutRedis bool // it applies its share of the limits alone

	StartedAt time.Time
	SeenAt    time.Time  // its last heartbeat
	LeftAt    *time.Time // it left, was expelled, or another run took its place

	JoinedEpoch int64 // the number of its join; joins are numbered consecutively
	SeenEpoch   int64 // the highest join that it knows of
}

// Membership is the table of members at one moment.
type Membership struct {
	At      time.Time // by the database's clock
	Epoch   int64     // the number of the last join
	Members []Member
	Listed  bool // the process that read it is a member; else it must join again
}

// Silence returns the time since the member's last heartbeat.
func (m *Membership) Silence(of *Member) time.Duration { return m.At.Sub(of.SeenAt) }

// view is what a member concludes from the memberships that it has read. It measures the silence of its peers by its own
// clock, and only while it could read the table: an outage of the database makes no member look dead.
type view struct {
	self   string
	joined int64 // this member's own epoch; 0 before it has joined
	peers  map[string]*peer
	leaves []leave   // that can still matter for the window of a limit, oldest first
	readAt time.Time // when the last membership was read
}

// peer is a member that has not left, this one included.
type peer struct {
	Member
	heardAt time.Time // when a new heartbeat was last seen
	dead    bool
}

// leave is the end of a membership.
type leave struct {
	id     string
	at     time.Time
	before bool // it ended before this member first read the table
}

const (
	// staleAfter is how old the last membership can be for a peer's silence to count.
	staleAfter = 2 * time.Second
	// keepLeaves is how long leaves are remembered. Minute windows are shorter; for longer ones Redis or the database
	// counts, and one member too many only makes allowances smaller.
	keepLeaves = time.Hour
	// forgetAfter is how long members that left or died stay in the table.
	forgetAfter = 2 * time.Minute
)

func newView(self string) *view { return &view{self: self, peers: map[string]*peer{}} }

// update takes in a membership that was read at a time of our clock. It returns the members to remove from the table.
func (v *view) update(at time.Time, m *Membership) (forget []Member) {
	first := v.readAt.IsZero()
	stale := first || at.Sub(v.readAt) > staleAfter
	v.readAt = at
	listed := make(map[string]bool, len(m.Members))
	for _, row := range m.Members {
		listed[row.ID] = true
		if row.LeftAt != nil {
			since := m.At.Sub(*row.LeftAt)
			v.addLeave(row.ID, at.Add(-max(0, since)), first)
			delete(v.peers, row.ID)
			if since > forgetAfter {
				forget = append(forget, row)
			}
			continue
		}
		p := v.peers[row.ID]
		switch {
		case p == nil:
			p = &peer{heardAt: at}
			v.peers[row.ID] = p
		case !row.SeenAt.Equal(p.SeenAt):
			p.heardAt, p.dead = at, false
		case stale && !p.dead:
			p.heardAt = at
		}
		p.Member = row
		if !p.dead {
			v.removeLeave(row.ID)
		}
	}
	for id, p := range v.peers {
		silence := at.Sub(p.heardAt)
		switch {
		case id == v.self:
			p.heardAt = at
		case !listed[id]:
			v.addLeave(id, at, false)
			delete(v.peers, id)
		case !p.dead && silence > DeadAfter:
			p.dead = true
			v.addLeave(id, at, false)
		case p.dead && silence > forgetAfter:
			forget = append(forget, p.Member)
		}
	}
	for len(v.leaves) > 0 && at.Sub(v.leaves[0].at) > keepLeaves {
		v.leaves = v.leaves[1:]
	}
	return forget
}

// addLeave records a leave, unless it is recorded already.
func (v *view) addLeave(id string, at time.Time, before bool) {
	for _, l := range v.leaves {
		if l.id == id {
			return
		}
	}
	v.leaves = append(v.leaves, leave{id, at, before})
}

// removeLeave removes the leave of a member that was only silent.
func (v *view) removeLeave(id string) {
	for i, l := range v.leaves {
		if l.id == id {
			v.leaves = append(v.leaves[:i:i], v.leaves[i+1:]...)
			return
		}
	}
}

// others calls fn for every living peer except this member.
func (v *view) others(fn func(p *peer)) {
	for id, p := range v.peers {
		if id != v.self && !p.dead {
			fn(p)
		}
	}
}

// count returns the number of members, this one included.
func (v *view) count() int {
	n := 1
	v.others(func(*peer) { n++ })
	return n
}

// partitioned returns the number of peers without Redis.
func (v *view) partitioned() int {
	n := 0
	v.others(func(p *peer) {
		if p.WithoutRedis {
			n++
		}
	})
	return n
}

// countSince returns the number of members since a time, including those that left after it. If this member is alone, it
// does not count a member that left before it joined: this is the same instance, restarted.
func (v *view) countSince(since time.Time) int {
	n := v.count()
	alone := n == 1
	for _, l := range v.leaves {
		if l.id != v.self && !l.at.Before(since) && !(alone && l.before) {
			n++
		}
	}
	return n
}

// settled reports whether all peers know that this member has joined.
func (v *view) settled() bool {
	me := v.peers[v.self]
	if v.joined == 0 || me == nil || me.JoinedEpoch != v.joined {
		return false
	}
	settled := true
	v.others(func(p *peer) { settled = settled && p.SeenEpoch >= v.joined })
	return settled
}
