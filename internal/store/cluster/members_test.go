package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"keepsake/internal/store/cluster"
)

// table is the table of members in memory.
type table struct {
	mu    sync.Mutex
	epoch int64
	rows  map[string]*cluster.Member
	heard map[string]int64
	away  bool // no process reaches it
}

// link is how one member reaches the table.
type link struct {
	*table
	cut     atomicBool
	refused atomicBool // its joins fail
	unheard atomicBool // its joins succeed, but their responses are lost
}

type atomicBool struct {
	mu sync.Mutex
	is bool
}

func (b *atomicBool) set(is bool) { b.mu.Lock(); b.is = is; b.mu.Unlock() }

func (b *atomicBool) get() bool { b.mu.Lock(); defer b.mu.Unlock(); return b.is }

var errCut = errors.New("cut off")

func (l *link) enter() error {
	if l.cut.get() {
		return errCut
	}
	l.mu.Lock()
	if l.away {
		l.mu.Unlock()
		return errCut
	}
	return nil
}

func (l *link) Join(_ context.Context, m *cluster.Member, alone bool) (int64, error) {
	if err := l.enter(); err != nil {
		return 0, err
	}
	defer l.mu.Unlock()
	if l.refused.get() {
		return 0, errCut
	}
	now := time.Now()
	l.epoch++
	for _, row := range l.rows {
		if alone && row.Name == m.Name && row.ID != m.ID && row.LeftAt == nil {
			row.LeftAt = &now
		}
	}
	row := *m
	row.StartedAt, row.SeenAt, row.JoinedEpoch, row.SeenEpoch = now, now, l.epoch, l.epoch
	l.rows[m.ID] = &row
	if l.unheard.get() {
		return 0, errCut
	}
	return l.epoch, nil
}

func (l *link) Heartbeat(_ context.Context, id string, seen int64, split bool) (*cluster.Membership, error) {
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	m := &cluster.Membership{At: time.Now(), Epoch: l.epoch}
	if row := l.rows[id]; row != nil && row.LeftAt == nil {
		row.SeenAt, row.SeenEpoch, row.WithoutRedis, m.Listed = time.Now(), seen, split, true
	}
	for _, row := range l.rows {
		m.Members = append(m.Members, *row)
	}
	return m, nil
}

func (l *link) Confirm(_ context.Context, id string, number int64) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.mu.Unlock()
	l.heard[id] = number
	return nil
}

func (l *link) Unconfirmed(_ context.Context, number int64, but string) (list []cluster.Straggler, err error) {
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	for id, row := range l.rows {
		if id != but && row.LeftAt == nil && l.heard[id] < number {
			list = append(list, cluster.Straggler{ID: id, Silent: time.Since(row.SeenAt) >= cluster.AnswerWithin})
		}
	}
	return list, nil
}

// silentTable does not answer about confirmations.
type silentTable struct{ cluster.Table }

func (silentTable) Unconfirmed(ctx context.Context, _ int64, _ string) ([]cluster.Straggler, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (l *link) Expel(_ context.Context, ids []string) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.mu.Unlock()
	for _, id := range ids {
		now := time.Now()
		l.rows[id].LeftAt = &now
	}
	return nil
}

func (l *link) Leave(_ context.Context, id string) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.mu.Unlock()
	if row := l.rows[id]; row != nil { // it may have been forgotten
		now := time.Now()
		row.LeftAt = &now
	}
	return nil
}

func (l *link) Forget(_ context.Context, gone []cluster.Member) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.mu.Unlock()
	for _, g := range gone {
		if row := l.rows[g.ID]; row != nil && row.SeenAt.Equal(g.SeenAt) {
			delete(l.rows, g.ID)
		}
	}
	return nil
}

func (t *table) setAway(away bool) { t.mu.Lock(); t.away = away; t.mu.Unlock() }

// running is a member that sends heartbeats.
type running struct {
	*cluster.Members
	link *link
	stop func() // as on SIGTERM
	kill func() // as on kill -9
}

func start(t *testing.T, tab *table, name string) *running {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	l := &link{table: tab}
	m := cluster.NewMembers(cluster.MembersOptions{
		Table: l, Self: cluster.Member{ID: fmt.Sprintf("%s-%d", name, time.Now().UnixNano()), Name: name},
		Log: slog.New(slog.DiscardHandler),
	})
	if err := m.Join(ctx); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); m.Run(ctx) }()
	r := &running{Members: m, link: l}
	r.stop = func() {
		stop()
		<-done
		if err := m.Leave(context.WithoutCancel(ctx)); err != nil && !errors.Is(err, errCut) {
			t.Error(err)
		}
	}
	r.kill = func() { l.cut.set(true); r.stop() }
	t.Cleanup(r.stop)
	return r
}

func newTable() *table { return &table{rows: map[string]*cluster.Member{}, heard: map[string]int64{}} }

func wantCount(t *testing.T, want int, all ...*running) {
	t.Helper()
	for i, m := range all {
		if got := m.Count(); got != want {
			t.Errorf("member %d counts %d members, want %d", i, got, want)
		}
	}
}

func wantSettled(t *testing.T, want bool, all ...*running) {
	t.Helper()
	for i, m := range all {
		if got := m.Settled(); got != want {
			t.Errorf("member %d: settled is %v, want %v", i, got, want)
		}
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(t *testing.T){
		"FirstMemberIsSettledAtOnce": func(t *testing.T) {
			a := start(t, newTable(), "a")
			wantCount(t, 1, a)
			wantSettled(t, true, a)
		},
		"JoinSettlesOnceAllKnowIt": func(t *testing.T) {
			tab := newTable()
			a := start(t, tab, "a")
			time.Sleep(3100 * time.Millisecond)
			b := start(t, tab, "b")
			wantSettled(t, false, b)
			wantSettled(t, true, a)
			time.Sleep(1500 * time.Millisecond)
			wantCount(t, 2, a, b)
			wantSettled(t, true, a, b)
		},
		"LeaveCountsForEarlierWindows": func(t *testing.T) {
			tab := newTable()
			a, b := start(t, tab, "a"), start(t, tab, "b")
			time.Sleep(2 * time.Second)
			before := time.Now()
			b.stop()
			time.Sleep(1100 * time.Millisecond)
			wantCount(t, 1, a)
			if got := a.CountSince(before); got != 2 {
				t.Errorf("of a window that began before, %d members, want 2", got)
			}
			if got := a.CountSince(time.Now()); got != 1 {
				t.Errorf("of a window that begins now, %d members, want 1", got)
			}
			c := start(t, tab, "c")
			time.Sleep(1100 * time.Millisecond)
			if got := c.CountSince(before); got != 3 {
				t.Errorf("who came later counts %d members of that window, want 3", got)
			}
		},
		"RestartedAloneDoesNotCountItsPredecessor": func(t *testing.T) {
			tab := newTable()
			for range 3 { // each run stops in order, and the next has another name
				a := start(t, tab, fmt.Sprint("a", time.Now().UnixNano()))
				time.Sleep(1100 * time.Millisecond)
				if got := a.CountSince(time.Now().Add(-time.Minute)); got != 1 {
					t.Errorf("a process that is alone counts %d members of the last minute", got)
				}
				a.stop()
			}
			start(t, tab, "a").kill()
			a := start(t, tab, "a") // it was killed, and another process runs in its place
			time.Sleep(1100 * time.Millisecond)
			if got := a.CountSince(time.Now().Add(-time.Minute)); got != 1 {
				t.Errorf("after it was killed it counts %d members of the last minute", got)
			}
			b := start(t, tab, "b")
			time.Sleep(2 * time.Second)
			if got := b.CountSince(time.Now().Add(-time.Minute)); got < 3 {
				t.Errorf("beside another member it counts %d of the last minute, want those that left, too", got)
			}
			b.stop()
			time.Sleep(1100 * time.Millisecond)
			if got := a.CountSince(time.Now().Add(-time.Minute)); got != 2 {
				t.Errorf("alone again it counts %d members of the last minute, want the one that left beside it", got)
			}
		},
		"DeadMemberIsMissedAfterFiveSeconds": func(t *testing.T) {
			tab := newTable()
			a, b := start(t, tab, "a"), start(t, tab, "b")
			time.Sleep(2 * time.Second)
			b.kill()
			time.Sleep(4 * time.Second)
			wantCount(t, 2, a)
			time.Sleep(2200 * time.Millisecond)
			wantCount(t, 1, a)
			wantSettled(t, true, a)
		},
		"RestartReplacesTheFormerRun": func(t *testing.T) {
			tab := newTable()
			a, b := start(t, tab, "a"), start(t, tab, "b")
			time.Sleep(2 * time.Second)
			b.kill()
			again := start(t, tab, "b")
			time.Sleep(1500 * time.Millisecond)
			wantCount(t, 2, a, again)
			wantSettled(t, true, a, again)
			if got := a.CountSince(time.Now().Add(-5 * time.Second)); got != 3 {
				t.Errorf("both runs count for a window: got %d members, want 3", got)
			}
		},
		"OutageOfTheDatabaseKillsNoMember": func(t *testing.T) {
			tab := newTable()
			a, b, c := start(t, tab, "a"), start(t, tab, "b"), start(t, tab, "c")
			time.Sleep(2 * time.Second)
			tab.setAway(true)
			time.Sleep(6 * time.Second)
			wantSettled(t, false, a, b, c) // the others may have stopped counting it
			time.Sleep(24 * time.Second)
			tab.setAway(false)
			for range 30 {
				time.Sleep(100 * time.Millisecond)
				wantCount(t, 3, a, b, c)
			}
			wantSettled(t, true, a, b, c)
		},
		"CutOffMemberJoinsAgain": func(t *testing.T) {
			tab := newTable()
			a, b := start(t, tab, "a"), start(t, tab, "b")
			time.Sleep(2 * time.Second)
			b.link.cut.set(true)
			time.Sleep(5 * time.Second)
			wantSettled(t, false, b)
			time.Sleep(5 * time.Second)
			wantCount(t, 1, a)
			b.link.cut.set(false)
			time.Sleep(2300 * time.Millisecond)
			wantCount(t, 2, a, b)
			wantSettled(t, true, a, b)
			if tab.epoch != 3 {
				t.Errorf("there were %d joins, want 3", tab.epoch)
			}
		},
		"JoinWithoutResponseIsRepeated": func(t *testing.T) {
			for _, fault := range []func(*link) *atomicBool{
				func(l *link) *atomicBool { return &l.refused }, func(l *link) *atomicBool { return &l.unheard },
			} {
				tab := newTable()
				a, b := start(t, tab, "a"), start(t, tab, "b")
				time.Sleep(2 * time.Second)
				b.link.cut.set(true)
				time.Sleep(10 * time.Second)
				fault(b.link).set(true)
				b.link.cut.set(false)
				time.Sleep(time.Second)
				wantSettled(t, false, b)
				fault(b.link).set(false)
				time.Sleep(2300 * time.Millisecond)
				wantCount(t, 2, a, b)
				wantSettled(t, true, a, b)
			}
		},
		"ConfirmationEndsTheWait": func(t *testing.T) {
			tab := newTable()
			a, b := start(t, tab, "a"), start(t, tab, "b")
			began := time.Now()
			go func() {
				time.Sleep(time.Second)
				if err := b.link.Confirm(t.Context(), b.Self.ID, 7); err != nil {
					t.Error(err)
				}
			}()
			if err := a.AwaitConfirmed(t.Context(), 7); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took < time.Second || took > 1100*time.Millisecond {
				t.Errorf("waited %s for a member that answers after 1 s", took)
			}
			wantCount(t, 2, a)
		},
		"SilentMemberIsExpelled": func(t *testing.T) {
			tab := newTable()
			a, b := start(t, tab, "a"), start(t, tab, "b")
			began := time.Now()
			if err := a.AwaitConfirmed(t.Context(), 7); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took < cluster.AnswerWithin || took > cluster.AnswerWithin+100*time.Millisecond {
				t.Errorf("waited %s for a member that says nothing", took)
			}
			tab.mu.Lock()
			fenced := tab.rows[b.Self.ID].LeftAt != nil
			tab.mu.Unlock()
			if !fenced {
				t.Error("it is still a member")
			}
			joins := tab.epoch
			time.Sleep(2 * time.Second)
			wantCount(t, 2, a, b)
			if tab.epoch != joins+1 {
				t.Errorf("it has joined %d times since", tab.epoch-joins)
			}
		},
		"SilentTableEndsTheWait": func(t *testing.T) {
			a := start(t, newTable(), "a")
			a.Table = silentTable{a.Table}
			if err := a.AwaitConfirmed(context.WithoutCancel(t.Context()), 7); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want that the time is over", err)
			}
		},
		"LongSilentMemberIsExpelledAtOnce": func(t *testing.T) {
			tab := newTable()
			a, b := start(t, tab, "a"), start(t, tab, "b")
			b.link.cut.set(true)
			time.Sleep(10 * time.Second)
			began := time.Now()
			if err := a.AwaitConfirmed(t.Context(), 7); err != nil || time.Since(began) > time.Second {
				t.Errorf("waited %s, %v", time.Since(began), err)
			}
		},
		"ShortAbsenceIsTolerated": func(t *testing.T) {
			tab := newTable()
			a, b := start(t, tab, "a"), start(t, tab, "b")
			time.Sleep(2 * time.Second)
			b.link.cut.set(true)
			time.Sleep(3 * time.Second)
			b.link.cut.set(false)
			time.Sleep(1500 * time.Millisecond)
			wantCount(t, 2, a, b)
			wantSettled(t, true, a, b)
			if tab.epoch != 2 {
				t.Errorf("there were %d joins, want 2", tab.epoch)
			}
		},
		"EqualNamesDoNotExpelEachOtherForever": func(t *testing.T) {
			tab := newTable()
			a := start(t, tab, "a")
			time.Sleep(time.Second)
			copied := start(t, tab, "a")
			time.Sleep(10 * time.Second)
			wantCount(t, 2, a, copied)
			if tab.epoch > 4 {
				t.Errorf("there were %d joins", tab.epoch)
			}
		},
		"OldMembersAreRemoved": func(t *testing.T) {
			tab := newTable()
			a, b, c := start(t, tab, "a"), start(t, tab, "b"), start(t, tab, "c")
			time.Sleep(2 * time.Second)
			b.stop()
			c.kill()
			time.Sleep(3 * time.Minute)
			tab.mu.Lock()
			defer tab.mu.Unlock()
			if len(tab.rows) != 1 || len(a.List()) != 1 {
				t.Errorf("%d rows are left, want 1", len(tab.rows))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, test)
		})
	}
}
