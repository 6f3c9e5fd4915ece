package audit_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"keepsake/internal/audit"
	"keepsake/internal/enginetest"
	"keepsake/internal/problem"
	"keepsake/internal/store"
	"keepsake/internal/store/postgres"
	"keepsake/internal/unit"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

// commits is how many commits have ended: SQLite counts them in the index of its write-ahead log, which is where others see
// that something was committed. Each is one fdatasync before that (faulttest looks at those).
func (b *bundle) commits(t testing.TB) int64 {
	t.Helper()
	f, err := os.Open(filepath.Join(b.dir, "main.db-shm"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const change = 8 // iChange of the header
	var n [4]byte
	if _, err := f.ReadAt(n[:], change); err != nil {
		t.Fatal(err)
	}
	return int64(binary.NativeEndian.Uint32(n[:]))
}

// durable is a store that notes with which commit each row came to be, by the id of its request.
type durable struct {
	audit.Store
	note  func(ctx context.Context, rows []*audit.Row)
	begun atomic.Int64 // units that have had the head of the chain

	mu  sync.Mutex
	own map[string]int64
}

func (d *durable) AuditHead(ctx context.Context, chain string) (audit.Head, error) {
	head, err := d.Store.AuditHead(ctx, chain)
	d.begun.Add(1)
	return head, err
}

func (d *durable) AppendAuditRows(ctx context.Context, rows []*audit.Row) error {
	d.note(ctx, rows)
	return d.Store.AppendAuditRows(ctx, rows)
}

func (d *durable) set(rows []*audit.Row, commit int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range rows {
		d.own[r.RequestID] = commit
	}
}

// ask reads once, and says which commit was the last one when the row was asked for.
func ask(t testing.TB, l *bundle, name string, last func() int64) (at int64) {
	t.Helper()
	e := l.reading(1)
	e.RequestID = name
	if err := l.ReadAsking(t.Context(), e, func() { at = last() }); err != nil {
		t.Error(err)
	}
	return at
}

// crowd has 64 readers read one time after the other, and says which commit was the last one when each read asked.
func crowd(t testing.TB, l *bundle, last func() int64) map[string]int64 {
	t.Helper()
	const readers, each = 64, 40
	var mu sync.Mutex
	asked := map[string]int64{}
	var all sync.WaitGroup
	for reader := range readers {
		all.Go(func() {
			for n := range each {
				name := fmt.Sprintf("%d of reader %d", n, reader)
				at := ask(t, l, name, last)
				mu.Lock()
				asked[name] = at
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return asked
}

// waits counts reads by how many commits they waited for.
func (d *durable) waits(t testing.TB, asked map[string]int64) map[int64]int {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	waits := map[int64]int{}
	for name, at := range asked {
		own, there := d.own[name]
		if !there {
			t.Errorf("read %s was answered without a row", name)
		}
		waits[own-at]++
	}
	return waits
}

// A reader who is alone waits for one commit, and each of 64 for two at most: the one that is under way when its row is asked
// for, and its own. Commits are counted from the moment at which a row is asked for until the commit it came to be with.
func TestALoneReaderWaitsForOneCommitAndEachOf64ForTwoAtMost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := &durable{Store: b.store, own: map[string]int64{}}
	d.note = func(ctx context.Context, rows []*audit.Row) {
		// The next commit waits until the hooks of this one have run.
		unit.AfterCommit(ctx, func() { d.set(rows, b.commits(t)) })
	}
	l := b.reads(audit.ReadsTogether, d, b.store)
	last := func() int64 { return b.commits(t) }

	const alone = 50
	asked := map[string]int64{}
	before := last()
	for n := range alone {
		name := fmt.Sprint(n, " alone")
		asked[name] = ask(t, l, name, last)
	}
	if waits := d.waits(t, asked); waits[1] != alone || last()-before != alone {
		t.Errorf("%d reads of one reader made %d commits; reads by the commits they waited for: %v", alone, last()-before, waits)
	}

	before = last()
	asked = crowd(t, l, last)
	made, waits := last()-before, d.waits(t, asked)
	t.Logf("%d reads of 64 readers: %d commits; reads by the commits they waited for: %v", len(asked), made, waits)
	if waits[1]+waits[2] != len(asked) {
		t.Errorf("of %d reads some waited for more than two commits: %v", len(asked), waits)
	}
	if v := l.verify(t); v.Break() != nil || v.Rows != int64(alone+len(asked)) {
		t.Errorf("%d good rows for %d reads: %v", v.Rows, alone+len(asked), v.Break())
	}
}

// On PostgreSQL a unit has the head of the chain until its commit has ended, so that commits are counted by who had it: a row
// comes to be with the unit that has it when it is asked for, or with the next one.
func TestOnPostgresEachOf64WaitsForTwoCommitsAtMost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	engine, err := postgres.Open(context.WithoutCancel(t.Context()), postgres.Options{URL: enginetest.Postgres(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	shared := store.New(engine)
	d := &durable{Store: shared, own: map[string]int64{}}
	d.note = func(_ context.Context, rows []*audit.Row) { d.set(rows, d.begun.Load()) }
	l := b.reads(audit.ReadsTogether, d, shared)

	const alone = 20
	for n := range alone {
		ask(t, l, fmt.Sprint(n, " alone"), d.begun.Load)
	}
	if n := d.begun.Load(); n != alone {
		t.Errorf("%d reads of one reader made %d units", alone, n)
	}
	asked := crowd(t, l, d.begun.Load)
	waits := d.waits(t, asked)
	t.Logf("%d reads of 64 readers: %d commits; reads by how far behind the last one to begin theirs was: %v", len(asked), d.begun.Load()-alone, waits)
	if waits[0]+waits[1] != len(asked) {
		t.Errorf("of %d reads some waited for more than the commit under way and their own: %v", len(asked), waits)
	}
	if v := l.verify(t); v.Break() != nil || v.Rows != int64(alone+len(asked)) {
		t.Errorf("%d good rows for %d reads: %v", v.Rows, alone+len(asked), v.Break())
	}
}

// holding is a store whose first rows wait.
type holding struct {
	audit.Store
	unit.Runner
	begun, open chan struct{}
	fail        error // of the first rows
	units, adds atomic.Int64
}

func hold(s *store.Store) *holding {
	return &holding{Store: s, Runner: s, begun: make(chan struct{}), open: make(chan struct{})}
}

func (h *holding) Run(ctx context.Context, fn func(ctx context.Context) error) error {
	if !unit.Running(ctx) {
		h.units.Add(1)
	}
	return h.Runner.Run(ctx, fn)
}

func (h *holding) AppendAuditRows(ctx context.Context, rows []*audit.Row) error {
	if h.adds.Add(1) == 1 {
		close(h.begun)
		<-h.open
		if h.fail != nil {
			return h.fail
		}
	}
	return h.Store.AppendAuditRows(ctx, rows)
}

// 64 callers who come while a unit is under way share the next one. If the first fails, they do not.
func TestReadsThatComeDuringAUnitShareTheNext(t *testing.T) {
	t.Parallel()
	for _, failed := range []error{nil, errTest} {
		t.Run(fmt.Sprint(failed), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			h := hold(b.store)
			h.fail = failed
			l := b.reads(audit.ReadsTogether, h, h)
			first := make(chan error, 1)
			go func() { first <- l.Read(t.Context(), l.reading(0)) }()
			<-h.begun
			const callers = 64
			var all sync.WaitGroup
			for n := range callers {
				all.Go(func() {
					if err := l.Read(t.Context(), l.reading(n)); err != nil {
						t.Error(err)
					}
				})
			}
			await(t, "64 callers to wait", func() bool { return l.Gathered() == callers })
			close(h.open)
			all.Wait()
			rows := callers
			if err := <-first; failed == nil {
				rows++
				if err != nil {
					t.Error(err)
				}
			} else if p, ok := problem.As(err); !ok || p.Kind != problem.Unavailable || !errors.Is(err, failed) {
				t.Errorf("a read that could not be logged: %v, want unavailable", err)
			}
			if n := h.units.Load(); n != 2 {
				t.Errorf("%d units for one read and %d during it, want 2", n, callers)
			}
			if n := len(b.rows(t)); n != rows {
				t.Errorf("%d rows, want %d", n, rows)
			}
			if v := b.verify(t); v.Break() != nil {
				t.Error(v.Break())
			}
		})
	}
}

// A caller that goes away while its row is written takes nobody's row with it, its own neither.
func TestAReaderThatGoesAwayTakesNobodyWithIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := hold(b.store)
	l := b.reads(audit.ReadsTogether, h, h)
	first := make(chan error, 1)
	go func() { first <- l.Read(t.Context(), l.reading(0)) }()
	<-h.begun
	leaving, leave := context.WithCancel(t.Context())
	left, stayed := make(chan error, 1), make(chan error, 1)
	go func() { left <- l.Read(leaving, l.reading(1)) }() // it makes the unit that the other joins
	await(t, "a unit that takes rows in", func() bool { return l.Gathered() == 1 })
	go func() { stayed <- l.Read(t.Context(), l.reading(2), l.reading(3)) }()
	await(t, "three rows", func() bool { return l.Gathered() == 3 })
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("who left: %v", err)
	}
	close(h.open)
	if err := errors.Join(<-first, <-stayed); err != nil {
		t.Error(err)
	}
	if n := len(b.rows(t)); n != 4 {
		t.Errorf("%d rows, want 4", n)
	}
}
