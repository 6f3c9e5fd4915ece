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

// Table keeps who is a member, in the database that they share.
type Table interface {
	// Join enters a member under a new epoch, which it gives; also one that is in the table already. With alone it ends
	// the membership of whoever has its name: a place runs one process at a time, so that one is over.
	Join(ctx context.Context, m *Member, alone bool) (epoch int64, err error)
	// Beat says that a member goes on, knows of the joins up to an epoch and is split or not, and reads the table as of
	// this moment.
	Beat(ctx context.Context, id string, seen int64, split bool) (*Muster, error)
	// Heard says that a member has heard the news up to a number.
	Heard(ctx context.Context, id string, number int64) error
	// Behind lists the members but one that have not said so.
	Behind(ctx context.Context, number int64, but string) ([]Straggler, error)
	// Expel ends the membership of others. They notice with their next beat, and join again.
	Expel(ctx context.Context, ids []string) error
	// Leave says that a member stops.
	Leave(ctx context.Context, id string) error
	// Forget removes members from the table that have not been heard of since they were read.
	Forget(ctx context.Context, gone []Member) error
}

// Members knows who shares the database. It is safe for concurrent use; asking it takes memory only.
type Members struct {
	MembersOptions

	mu          sync.Mutex
	roll        *roll
	muster      *Muster       // the last one
	ahead       time.Duration // our clock before the database's, as the last beat saw it
	warned      bool
	count       atomic.Int64
	partitioned atomic.Int64
	settled     atomic.Bool
	beaten      atomic.Int64 // when the last beat that went well began, in nanoseconds since began
	began       time.Time
	since       time.Time // when this membership was settled
	failing     bool
}

// Straggler is a member that has not said to have heard something.
type Straggler struct {
	ID     string
	Silent bool // it has shown no sign of life for AnswerWithin
}

// MembersOptions is what Members need.
type MembersOptions struct {
	Table Table
	Self  Member      // without times and epochs
	Split func() bool // whether it is split at the moment; nil: as Self says
	Log   *slog.Logger
	Now   func() time.Time // nil: time.Now, whose moments a clock that is set does not part
	Clock func() time.Time // what the program writes as times, to compare with the database's; nil: time.Now

	// Joining is called before each join: what was in memory before may be of a time in which others did not count this
	// process. May be nil.
	Joining func()

	// StartTimeout is how long Join waits for each answer of the table. Zero: as long as a beat does.
	StartTimeout time.Duration
}

// beatTimeout is how long a beat may take; it must leave room for another before we count as dead.
const beatTimeout = 2 * time.Second

// clockTolerance is how far our clock may be from the database's before somebody should look after it.
const clockTolerance = 5 * time.Second

// NewMembers makes Members that know of this process only, until they join.
func NewMembers(o MembersOptions) *Members {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	m := &Members{MembersOptions: o, roll: newRoll(o.Self.ID), began: o.Now()}
	m.count.Store(1)
	return m
}

// Join makes this process a member and learns who the others are.
func (m *Members) Join(ctx context.Context) error {
	timeout := cmp.Or(m.StartTimeout, beatTimeout)
	if err := m.join(ctx, true, timeout); err != nil {
		return err
	}
	return m.beat(ctx, timeout)
}

func (m *Members) join(ctx context.Context, alone bool, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if m.Joining != nil {
		m.Joining()
	}
	epoch, err := m.Table.Join(ctx, &m.Self, alone)
	if err != nil {
		return fmt.Errorf("join the members: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.roll.joined = epoch
	m.publish()
	return nil
}

// beat shows that we live and reads who else does.
func (m *Members) beat(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	m.mu.Lock()
	seen := m.roll.joined
	if m.muster != nil {
		seen = max(seen, m.muster.Epoch)
	}
	m.mu.Unlock()
	for {
		began := m.Now()
		muster, err := m.Table.Beat(ctx, m.Self.ID, seen, m.split())
		if err != nil {
			return fmt.Errorf("beat: %w", err)
		}
		forget := m.take(began, muster)
		if len(forget) > 0 {
			// Whoever is left in the table is only removed by the next one who looks.
			_ = m.Table.Forget(ctx, forget)
		}
		if !muster.Known || muster.Epoch <= seen {
			return m.rejoin(ctx, began, muster.Known)
		}
		seen = muster.Epoch // who joined waits for us to say so
	}
}

// rejoin joins again where we were away for so long that others may count without us. We are away until that went well:
// of a join without an answer nobody knows whether the table has it, and one that it has not may be counted by nobody.
func (m *Members) rejoin(ctx context.Context, began time.Time, known bool) error {
	last := m.beaten.Load()
	if !known || last != 0 && began.Sub(m.began)-time.Duration(last) >= DeadAfter {
		// Not alone: two that by mistake have one name would end each other for ever.
		if err := m.join(ctx, false, beatTimeout); err != nil {
			return err
		}
	}
	m.beaten.Store(int64(began.Sub(m.began)))
	return nil
}

// take makes what follows from a muster known. began is when it was asked for.
func (m *Members) take(began time.Time, muster *Muster) []Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.Now()
	m.ahead = m.Clock().Add(-at.Sub(began) / 2).Sub(muster.At) // the database read its clock about half way
	if far := m.ahead.Abs() > clockTolerance; far != m.warned {
		m.warned = far
		if far {
			m.Log.Warn("the clock of this machine differs from the database's", "ahead", m.ahead.Round(time.Millisecond).String())
		}
	}
	forget := m.roll.read(at, muster)
	m.muster = muster
	m.publish()
	return forget
}

// publish makes what the roll says known to those who ask without a lock. The caller holds the lock.
func (m *Members) publish() {
	m.count.Store(int64(m.roll.count()))
	m.partitioned.Store(int64(m.roll.partitioned()))
	settled := m.roll.settled()
	if settled && !m.settled.Load() {
		m.since = m.Now()
	}
	m.settled.Store(settled)
}

// Run beats until ctx ends. The membership goes on until Leave, or for as long as the others believe in it.
func (m *Members) Run(ctx context.Context) {
	for ctx.Err() == nil {
		err := m.beat(ctx, beatTimeout)
		if ctx.Err() == nil {
			m.note(err)
		}
		next := BeatEvery
		if err != nil || !m.settled.Load() {
			next = PollEvery
		}
		wait(ctx, next)
	}
}

// Leave ends the membership, after Run. Who cannot say goodbye is missed after DeadAfter.
func (m *Members) Leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	if err := m.Table.Leave(ctx, m.Self.ID); err != nil {
		return fmt.Errorf("leave the members: %w", err)
	}
	return nil
}

// note logs the first of a row of failures, and the end of the row.
func (m *Members) note(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if failing := err != nil; failing != m.failing {
		m.failing = failing
		if failing {
			m.Log.Warn("the other processes are not told that this one goes on", "error", err.Error())
		} else {
			m.Log.Info("the other processes are told again that this one goes on")
		}
	}
}

// AwaitHeard waits until all other members have heard the news up to a number. One that does not say so within AnswerWithin
// is fenced off: it is a member no more, and has to join again.
func (m *Members) AwaitHeard(ctx context.Context, number int64) error {
	began := m.Now()
	for {
		behind, err := m.Table.Behind(ctx, number, m.Self.ID)
		if err != nil {
			return fmt.Errorf("ask what the other processes have heard: %w", err)
		}
		late := m.Now().Sub(began) >= AnswerWithin
		var fence []string
		for _, s := range behind {
			if late || s.Silent {
				fence = append(fence, s.ID)
			}
		}
		if len(fence) == len(behind) {
			if len(fence) == 0 {
				return nil
			}
			m.Log.Warn("fenced off processes that did not answer", "members", fence)
			if err := m.Table.Expel(ctx, fence); err != nil {
				return fmt.Errorf("fence off processes: %w", err)
			}
			return nil
		}
		wait(ctx, answerPoll)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// answerPoll is how often AwaitHeard looks.
const answerPoll = 20 * time.Millisecond

// Count is how many members there are, this one included.
func (m *Members) Count() int { return int(m.count.Load()) }

// Partitioned is how many of the others reach no Redis.
func (m *Members) Partitioned() int { return int(m.partitioned.Load()) }

func (m *Members) split() bool {
	if m.MembersOptions.Split != nil {
		return m.MembersOptions.Split()
	}
	return m.Self.Split
}

// CountSince is how many there have been since a moment: one that died or left counts for what began before it went,
// because it can have used its share. A member that is alone does not count those that had left before it joined.
func (m *Members) CountSince(since time.Time) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.roll.countSince(since)
}

// Settled reports whether every other member counts this one: before, and after it was away for so long that they may
// have stopped, it takes nothing that they do not know of.
func (m *Members) Settled() bool { return m.settled.Load() && !m.away() }

// SettledSince is when the membership was settled; false while it is not.
func (m *Members) SettledSince() (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.since, m.Settled()
}

// away reports whether the last sign of life is so old that others may count without us.
func (m *Members) away() bool {
	return m.Now().Sub(m.began)-time.Duration(m.beaten.Load()) >= DeadAfter
}

// ClockError says that the clock of this machine is too far from the database's, as the last beat saw it; nil if it is not.
func (m *Members) ClockError() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ahead.Abs() <= clockTolerance {
		return nil
	}
	return fmt.Errorf("the clock of this machine is ahead of the database's by %s", m.ahead.Round(time.Millisecond))
}

// List is who shares the database, by name, as the last muster shows them: also who died or left just now.
func (m *Members) List() []Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.muster == nil {
		return nil
	}
	list := slices.Clone(m.muster.Members)
	slices.SortFunc(list, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// wait waits, or not when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
