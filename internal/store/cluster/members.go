package cluster

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Table is the table of members in the shared database.
type Table interface {
	// Join adds a member, or adds it again, under a new epoch, which it returns. If replace is set, it ends every other
	// membership with the same name: only one process at a time uses a data folder, so those are over.
	Join(ctx context.Context, m *Member, replace bool) (epoch int64, err error)
	// Heartbeat records that a member is alive, which joins it knows of, and whether it reaches Redis. It returns the table
	// as of that moment.
	Heartbeat(ctx context.Context, id string, seenEpoch int64, withoutRedis bool) (*Membership, error)
	// Confirm records that a member has applied the events up to a number.
	Confirm(ctx context.Context, id string, number int64) error
	// Unconfirmed lists the members, except one, that have not confirmed a number.
	Unconfirmed(ctx context.Context, number int64, except string) ([]Straggler, error)
	// Expel ends the membership of others. They notice it at their next heartbeat and join again.
	Expel(ctx context.Context, ids []string) error
	// Leave ends the membership of a process that stops.
	Leave(ctx context.Context, id string) error
	// Forget removes members that have sent no heartbeat since they were read.
	Forget(ctx context.Context, gone []Member) error
}

// Members knows the members of the instance. It is safe for concurrent use, and its getters only read memory.
type Members struct {
	MembersOptions

	mu            sync.Mutex
	view          *view
	membership    *Membership   // read last
	clockOffset   time.Duration // our clock minus the database's, at the last heartbeat
	warned        bool
	count         atomic.Int64
	partitioned   atomic.Int64
	settled       atomic.Bool
	lastHeartbeat atomic.Int64 // when the last successful one began, in nanoseconds since began
	began         time.Time
	settledSince  time.Time
	failing       bool
}

// Straggler is a member that has not confirmed an event.
type Straggler struct {
	ID     string
	Silent bool // it has sent no heartbeat for AnswerWithin
}

// MembersOptions is what Members needs.
type MembersOptions struct {
	Table        Table
	Self         Member      // without times and epochs
	WithoutRedis func() bool // whether Redis is unreachable; nil: as Self says
	Log          *slog.Logger
	Now          func() time.Time // monotonic; time.Now if nil
	Clock        func() time.Time // the clock to compare with the database's; time.Now if nil

	// Joining is called before each join: until then the others did not count this process, so what it holds in memory can
	// be outdated. Can be nil.
	Joining func()

	// StartTimeout is the timeout of Join's statements; zero means the timeout of a heartbeat.
	StartTimeout time.Duration
}

// heartbeatTimeout leaves room for a second heartbeat before the others count this process as dead.
const heartbeatTimeout = 2 * time.Second

// ClockTolerance is the offset from another clock above which a warning is logged.
const ClockTolerance = 5 * time.Second

// NewMembers returns Members that know only this process until Join.
func NewMembers(o MembersOptions) *Members {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	m := &Members{MembersOptions: o, view: newView(o.Self.ID), began: o.Now()}
	m.count.Store(1)
	return m
}

// Join makes this process a member, and reads the others.
func (m *Members) Join(ctx context.Context) error {
	timeout := cmp.Or(m.StartTimeout, heartbeatTimeout)
	if err := m.join(ctx, true, timeout); err != nil {
		return err
	}
	return m.heartbeat(ctx, timeout)
}

func (m *Members) join(ctx context.Context, replace bool, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if m.Joining != nil {
		m.Joining()
	}
	epoch, err := m.Table.Join(ctx, &m.Self, replace)
	if err != nil {
		return fmt.Errorf("join the members: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.view.joined = epoch
	m.publish()
	return nil
}

// heartbeat reports that this process is alive, and reads the membership.
func (m *Members) heartbeat(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	m.mu.Lock()
	seen := m.view.joined
	if m.membership != nil {
		seen = max(seen, m.membership.Epoch)
	}
	m.mu.Unlock()
	for {
		began := m.Now()
		membership, err := m.Table.Heartbeat(ctx, m.Self.ID, seen, m.withoutRedis())
		if err != nil {
			return fmt.Errorf("heartbeat: %w", err)
		}
		forget := m.update(began, membership)
		if len(forget) > 0 {
			// If this fails, the next member removes them.
			_ = m.Table.Forget(ctx, forget)
		}
		if !membership.Listed || membership.Epoch <= seen {
			return m.rejoin(ctx, began, membership.Listed)
		}
		seen = membership.Epoch // a member that joined waits for our confirmation
	}
}

// rejoin joins again if this process was silent for so long that the others can have stopped counting it. Until the join
// succeeds, lastHeartbeat stays old: after a join without a response it is unknown whether the others count this process.
func (m *Members) rejoin(ctx context.Context, began time.Time, listed bool) error {
	last := m.lastHeartbeat.Load()
	if !listed || last != 0 && began.Sub(m.began)-time.Duration(last) >= DeadAfter {
		// Without replace: two processes with the same name by mistake would end each other forever.
		if err := m.join(ctx, false, heartbeatTimeout); err != nil {
			return err
		}
	}
	m.lastHeartbeat.Store(int64(began.Sub(m.began)))
	return nil
}

// update takes in a membership that was requested at began.
func (m *Members) update(began time.Time, membership *Membership) []Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.Now()
	m.clockOffset = m.Clock().Add(-at.Sub(began) / 2).Sub(membership.At) // the database read its clock about halfway
	if far := m.clockOffset.Abs() > ClockTolerance; far != m.warned {
		m.warned = far
		if far {
			m.Log.Warn("clock differs from the database's", "ahead", m.clockOffset.Round(time.Millisecond).String())
		}
	}
	forget := m.view.update(at, membership)
	m.membership = membership
	m.publish()
	return forget
}

// publish stores the numbers that are read without the lock. The caller holds the lock.
func (m *Members) publish() {
	m.count.Store(int64(m.view.count()))
	m.partitioned.Store(int64(m.view.partitioned()))
	settled := m.view.settled()
	if settled && !m.settled.Load() {
		m.settledSince = m.Now()
	}
	m.settled.Store(settled)
}

// Run sends heartbeats until ctx ends. The membership lasts until Leave, or until the others count this process as dead.
func (m *Members) Run(ctx context.Context) {
	for ctx.Err() == nil {
		err := m.heartbeat(ctx, heartbeatTimeout)
		if ctx.Err() == nil {
			m.logFailure(err)
		}
		next := HeartbeatEvery
		if err != nil || !m.settled.Load() {
			next = PollEvery
		}
		wait(ctx, next)
	}
}

// Leave ends the membership. Call it after Run. If it fails, the others stop counting this process after DeadAfter.
func (m *Members) Leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, heartbeatTimeout)
	defer cancel()
	if err := m.Table.Leave(ctx, m.Self.ID); err != nil {
		return fmt.Errorf("leave the members: %w", err)
	}
	return nil
}

// logFailure logs the first of several failures, and the first success after them.
func (m *Members) logFailure(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if failing := err != nil; failing != m.failing {
		m.failing = failing
		if failing {
			m.Log.Warn("heartbeat failed", "error", err.Error())
		} else {
			m.Log.Info("heartbeat succeeded again")
		}
	}
}

// AwaitConfirmed waits until all other members have applied the events up to a number. It expels a member that does not
// confirm that within AnswerWithin.
func (m *Members) AwaitConfirmed(ctx context.Context, number int64) error {
	began := m.Now()
	for {
		behind, err := m.unconfirmed(ctx, number)
		if err != nil {
			return fmt.Errorf("read the confirmations of other processes: %w", err)
		}
		late := m.Now().Sub(began) >= AnswerWithin
		var expel []string
		for _, s := range behind {
			if late || s.Silent {
				expel = append(expel, s.ID)
			}
		}
		if len(expel) == len(behind) {
			if len(expel) == 0 {
				return nil
			}
			m.Log.Warn("expelled members that did not answer", "members", expel)
			if err := m.expel(ctx, expel); err != nil {
				return fmt.Errorf("expel members: %w", err)
			}
			return nil
		}
		wait(ctx, confirmPoll)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// unconfirmed is Table.Unconfirmed with a time-out: a silent database holds up neither the caller nor others that need the
// connection.
func (m *Members) unconfirmed(ctx context.Context, number int64) ([]Straggler, error) {
	ctx, cancel := context.WithTimeout(ctx, AnswerWithin)
	defer cancel()
	return m.Table.Unconfirmed(ctx, number, m.Self.ID)
}

func (m *Members) expel(ctx context.Context, ids []string) error {
	ctx, cancel := context.WithTimeout(ctx, AnswerWithin)
	defer cancel()
	return m.Table.Expel(ctx, ids)
}

// confirmPoll is how often AwaitConfirmed reads the confirmations.
const confirmPoll = 20 * time.Millisecond

// Count returns the number of members, this one included.
func (m *Members) Count() int { return int(m.count.Load()) }

// Partitioned returns the number of other members without Redis.
func (m *Members) Partitioned() int { return int(m.partitioned.Load()) }

func (m *Members) withoutRedis() bool {
	if m.WithoutRedis != nil {
		return m.WithoutRedis()
	}
	return m.Self.WithoutRedis
}

// CountSince returns the number of members since a time. One that left or died after it counts, because it can have used
// its share of a limit. A member that is alone does not count those that left before it joined.
func (m *Members) CountSince(since time.Time) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.view.countSince(since)
}

// Settled reports whether every other member counts this one. It is false until they have seen its join, and after it was
// silent for so long that they can have stopped counting it.
func (m *Members) Settled() bool { return m.settled.Load() && !m.away() }

// SettledSince returns when the membership was settled; false if it is not.
func (m *Members) SettledSince() (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.settledSince, m.Settled()
}

// away reports whether the last heartbeat is so old that the others can have stopped counting this process.
func (m *Members) away() bool {
	return m.Now().Sub(m.began)-time.Duration(m.lastHeartbeat.Load()) >= DeadAfter
}

// ClockOffset returns the clock of this machine minus the database's, at the last heartbeat.
func (m *Members) ClockOffset() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.clockOffset
}

// List returns the last membership by name, including members that left or died recently.
func (m *Members) List() []Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.membership == nil {
		return nil
	}
	list := slices.Clone(m.membership.Members)
	slices.SortFunc(list, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// wait waits for d or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
