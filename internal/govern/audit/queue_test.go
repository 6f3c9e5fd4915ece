package audit_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/audit"
	"keepsake/internal/store/sqlite/sqlitetest"
	"keepsake/internal/testing/await"
)

// reading is an entry of a read of the n-th subject.
func (b *bundle) reading(n int) audit.Entry {
	return audit.Entry{
		Action: audit.MemoryRecalled, WorkspaceID: "wsp_a", Actor: "key_a", Target: b.Subject("wsp_a", fmt.Sprint("subject-", n)),
		Details: map[string]string{audit.MemoryIDs: audit.JoinMemoryIDs([]string{id.New(id.Memory), id.New(id.Memory)})}, Count: 2,
	}
}

// reads is a log on the store of b that writes reads in another way.
func (b *bundle) reads(how audit.Reads, s audit.Store, units unit.Runner) *bundle {
	o := b.Options
	o.Reads, o.Store, o.Units = how, s, units
	other := &bundle{Log: audit.NewLog(o), store: b.store, engine: b.engine, dir: b.dir}
	other.at.Store(b.at.Load())
	return other
}

func TestRelaxedReadsAreWrittenSoonAndInOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := b.reads(audit.ReadsRelaxed, b.store.Audit, b.store)
	const reads = 1200 // more than two units
	var targets []string
	for n := range reads {
		e := l.reading(n)
		targets = append(targets, e.Target)
		if err := l.Read(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	await.Until(t, "the rows", func() bool { return len(b.rows(t)) == reads })
	for i, r := range b.rows(t) {
		if r.Target != targets[i] {
			t.Fatalf("row %d is that of another read", i+1)
		}
	}
	if v := l.verify(t); v.Break() != nil || v.Rows != reads {
		t.Errorf("verified %d rows: %v", v.Rows, v.Break())
	}
	// A list of the accesses to a subject contains those that were not written yet, and the end of the log waits for none.
	if err := l.Read(t.Context(), l.reading(7)); err != nil {
		t.Fatal(err)
	}
	rows, err := l.Accesses(t.Context(), audit.Accesses{WorkspaceID: "wsp_a", SubjectID: "subject-7", Limit: 10})
	if err != nil || len(rows) != 2 || rows[0].ID < rows[1].ID {
		t.Errorf("%d accesses, %v; want the two, the newest first", len(rows), err)
	}
	if err := l.Read(t.Context(), l.reading(8)); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(b.rows(t)); n != reads+2 {
		t.Errorf("%d rows after the end, want %d", n, reads+2)
	}
	if err := l.Read(t.Context(), l.reading(9)); err != nil || len(b.rows(t)) != reads+3 {
		t.Errorf("a read after the end: %v, and %d rows", err, len(b.rows(t)))
	}
}

// stuck is a store that takes no rows for a while. Where it is unsure, they are there all the same, which it tells when it
// is let look.
type stuck struct {
	audit.Store
	units        unit.Runner
	full, unsure atomic.Bool
	tries        atomic.Int64
	look         chan struct{}
}

func (s *stuck) ListAuditRows(ctx context.Context, f audit.Filter) ([]*audit.Row, error) {
	<-s.look
	return s.Store.ListAuditRows(ctx, f)
}

func (s *stuck) Run(ctx context.Context, fn func(ctx context.Context) error) error {
	s.tries.Add(1)
	if !s.full.Load() {
		return s.units.Run(ctx, fn)
	}
	if s.unsure.Load() {
		return errors.Join(s.units.Run(ctx, fn), errTest)
	}
	return errTest
}

// Relaxed reads go on while rows are late for a moment, and no longer: then they fail, and none is shown that the log
// does not have in the end.
func TestRelaxedReadsFailWhereTheirRowsCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, unsure := range []bool{false, true} {
		t.Run(fmt.Sprint("unsure=", unsure), func(t *testing.T) {
			t.Parallel()
			dir := sqlitetest.Dir(t)
			synctest.Test(t, func(t *testing.T) { relaxedReadsFail(t, dir, unsure) })
		})
	}
}

func relaxedReadsFail(t *testing.T, dir string, unsure bool) {
	b := setupIn(t, dir)
	s := &stuck{Store: b.store.Audit, units: b.store, look: make(chan struct{})}
	letLook := sync.OnceFunc(func() { close(s.look) })
	defer letLook()
	s.full.Store(true)
	s.unsure.Store(unsure)
	l := b.reads(audit.ReadsRelaxed, s, s)
	const shown = 3
	for n := range shown {
		if err := l.Read(t.Context(), l.reading(n)); err != nil {
			t.Fatalf("read %d: %v", n, err)
		}
	}
	time.Sleep(time.Second) // rows are written within a second
	if s.tries.Load() == 0 {
		t.Error("nothing tried to write the rows")
	}
	refused := 3
	if unsure {
		refused = 1 // with it those before turn out to be there, so that nothing is late any more
	}
	for n := range refused {
		told := make(chan error, 1)
		go func() { told <- l.Read(t.Context(), l.reading(10+n)) }()
		// A second try may be looking. Those before are late until it has, so this one waits for its row.
		synctest.Wait()
		letLook()
		err := <-told
		if p, ok := problem.As(err); !ok || p.Kind != problem.Unavailable || !errors.Is(err, errTest) {
			t.Errorf("a read that cannot be logged: %v, want unavailable", err)
		}
	}
	if _, err := l.Accesses(t.Context(), audit.Accesses{WorkspaceID: "wsp_a", SubjectID: "subject-1", Limit: 10}); err == nil && !unsure {
		t.Error("accesses were shown without those that are not written")
	}
	s.full.Store(false)
	time.Sleep(time.Second)
	if n := len(b.rows(t)); n < shown {
		t.Errorf("a second after the fault %d rows are written, want the %d that were shown", n, shown)
	}
	if err := l.Read(t.Context(), l.reading(20)); err != nil {
		t.Errorf("a read after the fault: %v", err)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for _, r := range b.rows(t) {
		times[r.Target]++
	}
	for _, n := range []int{0, 1, 2, 20} {
		if got := times[l.Subject("wsp_a", fmt.Sprint("subject-", n))]; got != 1 {
			t.Errorf("read %d, which was shown, is %d times in the log", n, got)
		}
	}
	if v := l.verify(t); v.Break() != nil {
		t.Error(v.Break())
	}
}

// A read inside a unit of work is logged with it or not at all, whatever the setting.
func TestAReadInAUnitBelongsToIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, how := range []audit.Reads{audit.ReadsTogether, audit.ReadsRelaxed} {
		l := b.reads(how, b.store.Audit, b.store)
		before := len(b.rows(t))
		err := b.store.Run(t.Context(), func(ctx context.Context) error {
			return errors.Join(l.Read(ctx, l.reading(1)), errTest)
		})
		if !errors.Is(err, errTest) || len(b.rows(t)) != before {
			t.Errorf("reads %d: a unit that failed left %d rows", how, len(b.rows(t))-before)
		}
	}
}

// What would stay in the log for good and must not be there is refused.
func TestAnEntryOnMemoriesHoldsNoText(t *testing.T) {
	t.Parallel()
	b := setup(t)
	good := id.New(id.Memory)
	subject := b.Subject("wsp_a", "jane@example.com")
	for name, e := range map[string]audit.Entry{
		"a readable subject":  {Action: audit.MemoryRead, Target: "jane@example.com"},
		"another pseudonym":   {Action: audit.SubjectErased, Target: b.Pseudonym("email", "jane@example.com")},
		"text for ids":        {Action: audit.MemoryListed, Target: subject, Details: map[string]string{audit.MemoryIDs: good + " likes tea"}},
		"an id and a comma":   {Action: audit.MemoryListed, Target: subject, Details: map[string]string{audit.MemoryIDs: good + "," + good}},
		"an id of a document": {Action: audit.MemoryListed, Target: subject, Details: map[string]string{audit.MemoryIDs: id.New(id.Document)}},
		"a text":              {Action: audit.MemoryCreated, Target: subject, Details: map[string]string{"kind": "Likes tea"}},
		"an email":            {Action: audit.MemoryCreated, Target: subject, Details: map[string]string{"agentId": "jane@example.com"}},
	} {
		if err := b.Read(t.Context(), e); err == nil {
			t.Errorf("%s was logged", name)
		}
		if err := b.Record(t.Context(), e); err == nil {
			t.Errorf("%s was logged with a change", name)
		}
	}
	if n := len(b.rows(t)); n != 0 {
		t.Errorf("%d rows", n)
	}
	ids := []string{good, id.New(id.Memory)}
	for _, e := range []audit.Entry{
		{Action: audit.MemoryRead, Target: subject, Details: map[string]string{audit.MemoryIDs: audit.JoinMemoryIDs(ids), "kind": "fact"}},
		{Action: audit.MemoryListed, Details: map[string]string{audit.MemoryIDs: ""}},
	} {
		if err := b.Read(t.Context(), e); err != nil {
			t.Error(err)
		}
	}
	if b.Subject("wsp_a", "jane") == b.Subject("wsp_b", "jane") || b.Subject("wsp_a", "jane") != subjectOf(b) {
		t.Error("a subject has the same pseudonym in another workspace, or two in its own")
	}
}

func subjectOf(b *bundle) string { return b.Subject("wsp_a", "jane") }

// Of every chain that is broken the first bad row is named, and the others are looked at.
func TestEveryBrokenChainIsNamed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	chains := map[string]*bundle{"main": b, "other": b.beside(t, "other"), "sound": b.beside(t, "sound"), "third": b.beside(t, "third")}
	for _, l := range chains {
		l.write(t, 5)
	}
	relaxed := chains["other"].reads(audit.ReadsRelaxed, b.store.Audit, b.store)
	for n := range 3 {
		if err := relaxed.Read(t.Context(), relaxed.reading(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := relaxed.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.checkpoint(t)
	b.tamper(t, `UPDATE audit_log SET actor = 'key_b' WHERE chain = 'main' AND sequence IN (2, 4)`,
		`DELETE FROM audit_read WHERE `+placeOf("other", 7), `DELETE FROM audit_log WHERE chain = 'third' AND sequence > 3`)
	v := b.verify(t)
	got := ""
	for _, bad := range v.Breaks {
		got += fmt.Sprintf("%s %d %s; ", bad.Chain, bad.Sequence, bad.Reason)
	}
	if want := "main 2 changed; other 7 missing; third 4 cut_off; "; got != want || v.Break() != v.Breaks[0] {
		t.Errorf("found %s, want %s", got, want)
	}
	if len(v.Heads) != 4 || v.Rows != 1+5+6+3 {
		t.Errorf("%d rows of %d chains were good", v.Rows, len(v.Heads))
	}
}
