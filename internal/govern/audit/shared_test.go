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
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/audit"
	"keepsake/internal/store"
	"keepsake/internal/store/postgres"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

func TestMain(m *testing.M) {
	testtier.Checks(20)
	enginetest.Main(m)
}

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
	ended func() int64 // how many commits have, the one that tells included

	// asking is held while a row is asked for, and no transaction gets the chain or ends meanwhile.
	asking sync.RWMutex

	mu  sync.Mutex
	own map[string]int64
}

func (d *durable) AuditHead(ctx context.Context, chain string) (audit.Head, error) {
	d.asking.Lock()
	defer d.asking.Unlock()
	return d.Store.AuditHead(ctx, chain)
}

func (d *durable) AppendAuditRows(ctx context.Context, rows []*audit.Row) error {
	if err := d.Store.AppendAuditRows(ctx, rows); err != nil {
		return err
	}
	// The next commit of these rows' chain waits until the hooks of this one have run. Outside a unit it has ended.
	unit.AfterCommit(ctx, func() {
		d.asking.Lock()
		defer d.asking.Unlock()
		d.set(rows, d.ended())
	})
	return nil
}

func (d *durable) set(rows []*audit.Row, commit int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range rows {
		d.own[r.RequestID] = commit
	}
}

// ask reads once, and says which commit was the last one when the row was asked for.
func (d *durable) ask(t testing.TB, l *bundle, name string, last func() int64) (at int64) {
	t.Helper()
	e := l.reading(1)
	e.RequestID = name
	d.asking.RLock()
	asked := sync.OnceFunc(d.asking.RUnlock)
	defer asked()
	at = last()
	if err := l.Read(await.Context(t.Context(), asked), e); err != nil {
		t.Error(err)
	}
	return at
}

// crowd has 64 readers read one time after the other, and says which commit was the last one when each read asked.
func (d *durable) crowd(t testing.TB, l *bundle, last func() int64) map[string]int64 {
	t.Helper()
	const readers = 64
	each := testtier.Rounds(8, 40)
	var mu sync.Mutex
	asked := map[string]int64{}
	var all sync.WaitGroup
	for reader := range readers {
		all.Go(func() {
			for n := range each {
				name := fmt.Sprintf("%d of reader %d", n, reader)
				at := d.ask(t, l, name, last)
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
	last := func() int64 { return b.commits(t) }
	d := &durable{Store: b.store.Audit, ended: last, own: map[string]int64{}}
	l := b.reads(audit.ReadsTogether, d, b.store)

	const alone = 50
	asked := map[string]int64{}
	before := last()
	for n := range alone {
		name := fmt.Sprint(n, " alone")
		asked[name] = d.ask(t, l, name, last)
	}
	if waits := d.waits(t, asked); waits[1] != alone || last()-before != alone {
		t.Errorf("%d reads of one reader made %d commits; reads by the commits they waited for: %v", alone, last()-before, waits)
	}

	before = last()
	asked = d.crowd(t, l, last)
	made, waits := last()-before, d.waits(t, asked)
	t.Logf("%d reads of 64 readers: %d commits; reads by the commits they waited for: %v", len(asked), made, waits)
	if waits[1]+waits[2] != len(asked) {
		t.Errorf("of %d reads some waited for more than two commits: %v", len(asked), waits)
	}
	if v := l.verify(t); v.Break() != nil || v.Rows != int64(alone+len(asked)) {
		t.Errorf("%d good rows for %d reads: %v", v.Rows, alone+len(asked), v.Break())
	}
}

// onPostgres is a store that others share.
func onPostgres(t *testing.T) *store.Store {
	t.Helper()
	return store.New(openPostgres(t))
}

// openPostgres opens an empty database. On a busy machine a crowd may wait for long.
func openPostgres(t *testing.T) *postgres.Engine {
	t.Helper()
	url := enginetest.PostgresCopy(t, "migrated", func(ctx context.Context, url string) error {
		return postgres.Migrate(ctx, postgres.Options{URL: url})
	})
	engine, err := postgres.Open(context.WithoutCancel(t.Context()), postgres.Options{
		URL: url, Connect: time.Minute, Acquire: time.Minute, Lock: time.Minute, Commit: time.Minute, Answer: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	return engine
}

// On PostgreSQL each set of rows that is written is a commit, of a statement alone or of a unit.
func TestOnPostgresEachOf64WaitsForTwoCommitsAtMost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	shared := onPostgres(t)
	var commits atomic.Int64
	d := &durable{Store: shared.Audit, ended: func() int64 { return commits.Add(1) }, own: map[string]int64{}}
	l := b.reads(audit.ReadsTogether, d, shared)
	l.Away = true
	l.begin(t, true)

	const alone = 20
	asked := map[string]int64{}
	for n := range alone {
		name := fmt.Sprint(n, " alone")
		asked[name] = d.ask(t, l, name, commits.Load)
	}
	if waits := d.waits(t, asked); waits[1] != alone {
		t.Errorf("reads of one reader by the commits they waited for: %v", waits)
	}
	asked = d.crowd(t, l, commits.Load)
	waits := d.waits(t, asked)
	t.Logf("%d reads of 64 readers: %d commits; reads by the commits they waited for: %v", len(asked), commits.Load()-alone, waits)
	if waits[1]+waits[2] != len(asked) {
		t.Errorf("of %d reads some waited for more than two commits: %v", len(asked), waits)
	}
	if v := l.verify(t); v.Break() != nil || v.Rows != int64(alone+len(asked)) {
		t.Errorf("%d good rows for %d reads: %v", v.Rows, alone+len(asked), v.Break())
	}
}

// alone is a store that counts rows which are written by a statement alone, and may lose its answers.
type alone struct {
	audit.Store
	heads, statements atomic.Int64
	before, after     error // instead of the statement, and after it
}

func (a *alone) AuditHead(ctx context.Context, chain string) (audit.Head, error) {
	a.heads.Add(1)
	return a.Store.AuditHead(ctx, chain)
}

func (a *alone) AppendAuditRows(ctx context.Context, rows []*audit.Row) error {
	if unit.Running(ctx) {
		return a.Store.AppendAuditRows(ctx, rows)
	}
	a.statements.Add(1)
	if a.before != nil {
		return a.before
	}
	if err := a.Store.AppendAuditRows(ctx, rows); err != nil {
		return err
	}
	return a.after
}

// With a store on the network, a row is written by a single statement while no other process extends the chain.
func TestAwayAReadIsOneStatement(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := &alone{Store: b.store.Audit}
	l := b.reads(audit.ReadsTogether, a, b.store)
	l.Away = true
	read := func() {
		t.Helper()
		if err := l.Read(t.Context(), l.reading(1)); err != nil {
			t.Error(err)
		}
	}
	expect := func(when string, heads, statements int64) {
		t.Helper()
		if h, s := a.heads.Swap(0), a.statements.Swap(0); h != heads || s != statements {
			t.Errorf("%s: the head was read %d times, and %d statements stood alone; want %d and %d", when, h, s, heads, statements)
		}
	}
	read()
	expect("the first, which does not know the end of the chain", 1, 0)
	read()
	read()
	expect("two more", 0, 2)
	l.write(t, 1)
	expect("a unit that is logged", 1, 0)
	read()
	expect("a read after it", 0, 1)
	err := b.store.Run(t.Context(), func(ctx context.Context) error {
		return errors.Join(l.Record(ctx, l.reading(2)), errTest)
	})
	if !errors.Is(err, errTest) {
		t.Error(err)
	}
	expect("a unit that failed before it came to the chain", 0, 0)
	read()
	expect("a read after it", 0, 1)
	if v := l.verify(t); v.Break() != nil || v.Rows != 6 {
		t.Errorf("%d rows: %v", v.Rows, v.Break())
	}
}

// The end of the chain shows what became of a statement whose response was lost: its rows are there once.
func TestAStatementWhoseAnswerIsLostIsNotRepeated(t *testing.T) {
	t.Parallel()
	lost := &unit.StaleError{Problem: errTest}
	for name, a := range map[string]*alone{"done": {after: lost}, "not done": {before: lost}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			a.Store = b.store.Audit
			l := b.reads(audit.ReadsTogether, a, b.store)
			l.Away = true
			for n := range 5 {
				if err := l.Read(t.Context(), l.reading(n)); err != nil {
					t.Error(err)
				}
				if v := l.verify(t); v.Break() != nil || v.Rows != int64(n+1) {
					t.Fatalf("after read %d there are %d rows: %v", n+1, v.Rows, v.Break())
				}
			}
			if a.statements.Load() == 0 {
				t.Error("no statement stood alone")
			}
		})
	}
	t.Run("another error", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		a := &alone{Store: b.store.Audit, before: errTest}
		l := b.reads(audit.ReadsTogether, a, b.store)
		l.Away = true
		if err := l.Read(t.Context(), l.reading(0)); err != nil {
			t.Error(err)
		}
		if err := l.Read(t.Context(), l.reading(1)); !errors.Is(err, errTest) {
			t.Errorf("a read whose row cannot be written: %v", err)
		}
		a.before = nil
		if err := l.Read(t.Context(), l.reading(2)); err != nil {
			t.Error(err)
		}
		if v := l.verify(t); v.Break() != nil || v.Rows != 2 {
			t.Errorf("%d rows: %v", v.Rows, v.Break())
		}
	})
}

// Reads and writes of many at once, on PostgreSQL: the chain has all of them in a row.
func TestReadsAndWritesAwayAreOneChain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	shared := onPostgres(t)
	a := &alone{Store: shared.Audit}
	l := b.reads(audit.ReadsTogether, a, shared)
	l.Away = true
	l.begin(t, true)
	const workers = 6
	each := testtier.Rounds(10, 40)
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			for n := range each {
				do := func(ctx context.Context) error { return l.Read(ctx, l.reading(n)) }
				if worker%3 == 0 {
					do = func(ctx context.Context) error { return l.Record(ctx, l.reading(n)) }
				}
				if err := do(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for n := range 3 {
		if err := l.Read(t.Context(), l.reading(n)); err != nil {
			t.Error(err)
		}
	}
	if a.statements.Load() < 2 {
		t.Error("no statement stood alone")
	}
	if v := l.verify(t); v.Break() != nil || v.Rows != int64(workers*each+3) {
		t.Errorf("%d rows: %v", v.Rows, v.Break())
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
	return &holding{Store: s.Audit, Runner: s, begun: make(chan struct{}), open: make(chan struct{})}
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
			var waiting atomic.Int64
			ctx := await.Context(t.Context(), func() { waiting.Add(1) })
			for n := range callers {
				all.Go(func() {
					if err := l.Read(ctx, l.reading(n)); err != nil {
						t.Error(err)
					}
				})
			}
			await.Until(t, "64 callers to wait", func() bool { return waiting.Load() == callers })
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

// A caller that disconnects while its row is written loses neither its own row nor another caller's.
func TestAReaderThatGoesAwayTakesNobodyWithIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := hold(b.store)
	l := b.reads(audit.ReadsTogether, h, h)
	first := make(chan error, 1)
	go func() { first <- l.Read(t.Context(), l.reading(0)) }()
	<-h.begun
	var waiting atomic.Int64
	waits := func(ctx context.Context) context.Context { return await.Context(ctx, func() { waiting.Add(1) }) }
	leaving, leave := context.WithCancel(t.Context())
	left, stayed := make(chan error, 1), make(chan error, 1)
	go func() { left <- l.Read(waits(leaving), l.reading(1)) }() // it makes the unit that the other joins
	await.Until(t, "a unit that takes rows in", func() bool { return waiting.Load() == 1 })
	go func() { stayed <- l.Read(waits(t.Context()), l.reading(2), l.reading(3)) }()
	await.Until(t, "three rows", func() bool { return waiting.Load() == 2 })
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
