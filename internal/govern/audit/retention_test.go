package audit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/store"
)

const day = 24 * time.Hour

// keeping is a log on an engine that keeps reads for 30 days.
func keeping(t testing.TB, on store.Engine) *kept {
	t.Helper()
	return keepingIn(t, on, t.TempDir())
}

func keepingIn(t testing.TB, on store.Engine, dir string) *kept {
	t.Helper()
	s := store.New(on)
	k := &kept{bundle: &bundle{store: s, dir: dir}, on: on}
	k.at.Store(noon.UnixMicro())
	k.Log = audit.NewLog(audit.Options{
		Store: s.Audit, Units: s, Chain: "main", Secret: make([]byte, 32), Checkpoints: filepath.Join(k.dir, "audit.checkpoints"),
		ReadDays: 30, Random: randomness{}, Now: k.now, Log: slog.New(slog.DiscardHandler),
	})
	k.begin(t, true)
	return k
}

// kept is such a log.
type kept struct {
	*bundle
	on store.Engine
}

// onEachEngine runs a test with an empty log on each engine.
func onEachEngine(t *testing.T, test func(t *testing.T, k *kept)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.tamperWith(t, "keys.db", "DELETE FROM audit_record")
		test(t, keeping(t, b.engine))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, keeping(t, openPostgres(t)))
	})
}

// restart is the same process after a restart.
func (k *kept) restart(t testing.TB) *kept {
	t.Helper()
	return &kept{bundle: k.again(t), on: k.on}
}

func (k *kept) tamper(t testing.TB, statements ...string) {
	t.Helper()
	execute(t, k.on.Main(), statements...)
}

// execute runs statements behind the log's back.
func execute(t testing.TB, in store.Database, statements ...string) {
	t.Helper()
	err := in.Run(t.Context(), func(ctx context.Context) error {
		for _, s := range statements {
			if _, err := in.In(ctx).Exec(ctx, s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// read adds n reads in one transaction, one a second.
func (k *kept) read(t testing.TB, n int) {
	t.Helper()
	err := k.store.Run(t.Context(), func(ctx context.Context) error {
		for i := range n {
			k.pass(time.Second)
			if err := k.Read(ctx, k.reading(i%7)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (k *kept) removeReads(t testing.TB) {
	t.Helper()
	if err := k.RemoveReads(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// sound fails the test if the log does not verify.
func (k *kept) sound(t testing.TB, when string) *audit.Verified {
	t.Helper()
	v := k.verify(t)
	if v.Break() != nil {
		t.Fatalf("%s: %v", when, v.Break())
	}
	return v
}

// count is how many reads, changes and removals a chain has.
func (k *kept) count(t testing.TB, chain string) (reads, changes, removals int) {
	t.Helper()
	rows, err := k.store.Audit.AuditRowsAfter(t.Context(), chain, 0, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		switch {
		case r.Action.IsRead():
			reads++
		case r.Action == audit.ReadsRemoved:
			removals++
		default:
			changes++
		}
	}
	return reads, changes, removals
}

func (k *kept) expect(t testing.TB, when string, reads, changes, removals int) {
	t.Helper()
	if r, c, m := k.count(t, "main"); r != reads || c != changes || m != removals {
		t.Errorf("%s there are %d reads, %d changes and %d removals; want %d, %d and %d", when, r, c, m, reads, changes, removals)
	}
}

// month is a log whose first day has 1,300 reads among changes, and whose 40th has a few.
func (k *kept) month(t testing.TB) {
	t.Helper()
	k.write(t, 3)
	k.read(t, 600)
	k.write(t, 2)
	k.checkpoint(t)
	k.read(t, 700)
	k.write(t, 1)
	k.checkpoint(t)
	k.pass(40 * day)
	k.write(t, 1)
	k.read(t, 5)
	k.checkpoint(t)
}

func TestListOfRemovedReadsHasTheirRemoval(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, k *kept) {
		k.write(t, 1)
		k.read(t, 3)
		k.checkpoint(t)
		k.pass(40 * day)
		// The removal happens between the statements of the list.
		statements := 0
		beside := store.New(store.Watch(k.on, func(context.Context, string) {
			if statements++; statements == 2 {
				k.removeReads(t)
			}
		}))
		rows, err := beside.Audit.ListAuditRows(t.Context(), audit.Filter{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		reads, removals := 0, 0
		for _, r := range rows {
			switch {
			case r.Action.IsRead():
				reads++
			case r.Action == audit.ReadsRemoved:
				removals++
			}
		}
		if reads != 3 && removals != 1 {
			t.Errorf("the list has %d of 3 reads and %d removals", reads, removals)
		}
		k.expect(t, "afterwards", 0, 1, 1)
	})
}

func TestOldReadsAreRemoved(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, k *kept) {
		k.month(t)
		k.sound(t, "before")
		k.removeReads(t)
		k.expect(t, "afterwards", 5, 7, 1)
		v := k.sound(t, "afterwards")
		if v.Rows != 13 || v.Heads[0].Sequence != 1313 {
			t.Errorf("%d rows verified, and the chain ends with %d; want 13 and 1313", v.Rows, v.Heads[0].Sequence)
		}
		rows, err := k.store.Audit.ListAuditRows(t.Context(), audit.Filter{Action: audit.ReadsRemoved, Limit: 9})
		if err != nil || len(rows) != 1 || rows[0].Target != "main" || rows[0].Count != 1300 || rows[0].WorkspaceID != "" ||
			!strings.Contains(rows[0].Details, `"first":"4","hash":"`) || !strings.Contains(rows[0].Details, `"kept":"3","last":"1306"`) {
			t.Errorf("the removal is on record as %+v, %v", rows, err)
		}
		k.removeReads(t)
		k.expect(t, "after another run", 5, 7, 1)
		k.linked(t)
		k = k.restart(t)
		k.write(t, 1)
		k.checkpoint(t)
		k.sound(t, "after a restart")
		k.pass(31 * day)
		k.removeReads(t)
		k.expect(t, "a month later", 0, 8, 2)
		k.sound(t, "a month later")
		k = k.restart(t)
		k.removeReads(t)
		k.expect(t, "at last", 0, 8, 2)
		k.linked(t)
		k.sound(t, "at last")
	})
}

// linked compares the hash that each listed row says is of the row before with that row.
func (k *kept) linked(t testing.TB) {
	t.Helper()
	rows, err := k.List(t.Context(), &auth.Principal{Operator: true}, audit.Filter{Limit: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	hashes := map[int64]audit.Hash{}
	for _, r := range rows {
		hashes[r.Sequence] = r.Hash
	}
	for _, r := range rows {
		if before, there := hashes[r.Sequence-1]; there && r.Previous != before || r.Sequence > 1 && r.Previous == (audit.Hash{}) {
			t.Errorf("row %d does not have the hash of the row before", r.Sequence)
		}
	}
}

// A read directly behind those that were removed still tells the hash of the row before.
func TestReadBehindARemovalIsLinked(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, k *kept) {
		k.read(t, 3)
		before, err := k.store.Audit.AuditHead(t.Context(), "main")
		if err != nil {
			t.Fatal(err)
		}
		k.pass(40 * day)
		k.read(t, 1)
		k.removeReads(t)
		k.expect(t, "afterwards", 1, 0, 1)
		rows, err := k.List(t.Context(), &auth.Principal{Operator: true}, audit.Filter{Action: audit.MemoryRecalled, Limit: 9})
		if err != nil || len(rows) != 1 || rows[0].Previous != before.Hash {
			t.Errorf("%d rows, %v; want one behind %s", len(rows), err, before.Hash)
		}
	})
}

func TestReadsStayWithoutASetting(t *testing.T) {
	t.Parallel()
	k := &kept{bundle: setup(t)}
	k.month(t)
	k.pass(4000 * day)
	k.removeReads(t)
	k.expect(t, "afterwards", 1305, 7, 0)
}

// stopping is a store that fails once it has removed reads a few times.
type stopping struct {
	audit.Store
	left int
}

func (s *stopping) RemoveAuditReads(ctx context.Context, chain string, first, last int64) error {
	if s.left == 0 {
		return errTest
	}
	s.left--
	return s.Store.RemoveAuditReads(ctx, chain, first, last)
}

// Wherever a removal is interrupted, the log verifies, in the same process and in the next one, and the next run finishes it.
func TestInterruptedRemovalVerifies(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, k *kept) {
		k.month(t)
		for steps := range 3 {
			s := &stopping{k.store.Audit, min(steps, 1)} // one step more each time
			k.Store = s
			if err := k.RemoveReads(t.Context()); !errors.Is(err, errTest) {
				t.Fatalf("the run that stops: %v", err)
			}
			k.sound(t, fmt.Sprintf("stopped after %d steps", steps))
			k.Store = k.store.Audit
			k = k.restart(t)
			k.sound(t, fmt.Sprintf("restarted after %d steps", steps))
			if reads, _, removals := k.count(t, "main"); reads <= 5 || removals != 1 {
				t.Fatalf("after %d steps there are %d reads and %d removals", steps, reads, removals)
			}
			k.write(t, 1)
			k.checkpoint(t)
		}
		k.removeReads(t)
		k.expect(t, "afterwards", 5, 10, 1)
		k.sound(t, "afterwards")
	})
}

// Verify finds reads that were removed by hand, and removals of more than the log says.
func TestForgedRemovalIsFound(t *testing.T) {
	t.Parallel()
	const stretch = "chain = 'main' AND sequence BETWEEN 4 AND 1306"
	removal := "action = '" + string(audit.ReadsRemoved) + "'"
	tests := []struct {
		name     string
		tamper   []string
		sequence int64
		reason   audit.Reason
	}{
		{"a change in the stretch is deleted", []string{"DELETE FROM audit_log WHERE sequence = 604"}, 4, audit.RowMissing},
		{"a change in the stretch is edited", []string{"UPDATE audit_log SET actor = 'key_b' WHERE sequence = 604"}, 604, audit.RowChanged},
		{"all changes in the stretch are deleted", []string{"DELETE FROM audit_log WHERE " + stretch}, 4, audit.RowMissing},
		{"a change before the stretch is deleted", []string{"DELETE FROM audit_log WHERE sequence = 3"}, 3, audit.RowMissing},
		{"a change behind the stretch is deleted", []string{"DELETE FROM audit_log WHERE sequence = 1307"}, 1307, audit.RowMissing},
		{"a newer read is deleted", []string{"DELETE FROM audit_read WHERE " + placeOf("main", 1309)}, 1309, audit.RowMissing},
		{"a newer read is edited", []string{"UPDATE audit_read SET at = at + 1 WHERE " + placeOf("main", 1309)}, 1309, audit.RowChanged},
		{"the last read is deleted", []string{"DELETE FROM audit_read WHERE " + placeOf("main", 1312)}, 1312, audit.RowMissing},
		{"the removal is deleted", []string{"DELETE FROM audit_log WHERE " + removal}, 4, audit.RowMissing},
		{"the removal takes more", []string{
			"UPDATE audit_log SET details = replace(details, '\"last\":\"1306\"', '\"last\":\"1309\"') WHERE " + removal,
			"DELETE FROM audit_read WHERE " + placeOf("main", 1309),
		}, 4, audit.RowMissing},
		{"a removal is invented", []string{
			"INSERT INTO audit_log SELECT chain, 1314, 'aud_x', at, workspace_id, actor, action, target, outcome, count, replace(replace(details, '\"first\":\"4\"', '\"first\":\"1308\"'), '\"last\":\"1306\"', '\"last\":\"1312\"'), address, request_id, hash, hash FROM audit_log WHERE " + removal,
			"UPDATE audit_chain SET sequence = 1314",
			"DELETE FROM audit_read WHERE " + placeOf("main", 1309),
		}, 1309, audit.RowMissing},
		{"the removal is moved to another chain", []string{"UPDATE audit_log SET target = 'other' WHERE " + removal}, 4, audit.RowMissing},
		{"a read is put back", []string{
			"INSERT INTO audit_read (place, at, workspace, actor, target, body, hash) SELECT place - 800, at, workspace, actor, target, body, hash FROM audit_read WHERE " + placeOf("main", 1309),
		}, 4, audit.RowMissing},
		{"a name is changed", []string{"UPDATE audit_name SET name = 'key_b' WHERE name = 'key_a'"}, 1308, audit.RowChanged},
		{"a name is deleted", []string{"DELETE FROM audit_name WHERE name = 'key_a'"}, 1308, audit.RowChanged},
	}
	tables := []string{"audit_log", "audit_read", "audit_name", "audit_chain"}
	onEachEngine(t, func(t *testing.T, k *kept) {
		k.month(t)
		k.removeReads(t)
		for _, table := range tables {
			k.tamper(t, "CREATE TABLE kept_"+table+" AS SELECT * FROM "+table)
		}
		for _, test := range tests {
			k.sound(t, "before it was found that "+test.name)
			k.tamper(t, test.tamper...)
			for _, when := range []string{"at once", "after a restart and another run"} {
				found := k.verify(t).Break()
				if found == nil || found.Sequence != test.sequence || found.Reason != test.reason {
					t.Errorf("%s, %s: found %v, want row %d %s", test.name, when, found, test.sequence, test.reason)
				}
				k = k.restart(t)
				k.removeReads(t)
			}
			for _, table := range tables {
				k.tamper(t, "DELETE FROM "+table, "INSERT INTO "+table+" SELECT * FROM kept_"+table)
			}
			k = k.restart(t)
		}
	})
}

// Verify finds reads that were deleted by hand while a removal is running, unless the removal would delete them next.
func TestDeletedReadIsFoundDuringARemoval(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, k *kept) {
		k.month(t)
		k.Store = &stopping{k.store.Audit, 1}
		if err := k.RemoveReads(t.Context()); !errors.Is(err, errTest) {
			t.Fatal(err)
		}
		k.Store = k.store.Audit
		k.sound(t, "a removal under way")
		k.tamper(t, "DELETE FROM audit_read WHERE "+placeOf("main", 100))
		if found := k.verify(t).Break(); found == nil || found.Sequence != 100 || found.Reason != audit.RowMissing {
			t.Errorf("found %v, want row 100 missing", found)
		}
	})
}

// What does not verify stays, as evidence.
func TestNothingIsRemovedFromABrokenChain(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, k *kept) {
		k.month(t)
		k.tamper(t, "UPDATE audit_read SET at = at + 1 WHERE "+placeOf("main", 500))
		k.removeReads(t)
		k.expect(t, "afterwards", 1305, 7, 0)
		if found := k.verify(t).Break(); found == nil || found.Sequence != 500 || found.Reason != audit.RowChanged {
			t.Errorf("found %v, want row 500 changed", found)
		}
	})
}

// An old copy of the database is noticed, and a restored one is accepted and loses its old reads again.
func TestOldCopyFromBeforeARemoval(t *testing.T) {
	t.Parallel()
	b := setupIn(t, t.TempDir())
	b.ReadDays = 30
	k := &kept{bundle: b}
	k.month(t)
	copied := filepath.Join(t.TempDir(), "main.db")
	b.tamper(t, "VACUUM INTO '"+copied+"'")
	k.removeReads(t)
	k.checkpoint(t)
	if err := b.engine.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(copied)
	if err == nil {
		err = os.WriteFile(filepath.Join(b.dir, "main.db"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	b = setupIn(t, b.dir)
	b.ReadDays = 30
	b.at.Store(k.at.Load())
	k = &kept{bundle: b}
	if found := k.verify(t).Break(); found == nil || found.Sequence != 1313 || found.Reason != audit.RowCutOff {
		t.Fatalf("found %v, want row 1313 cut off", found)
	}
	remove(t, k.Checkpoints) // a restore brings its own
	if err := k.Accept(t.Context()); err != nil {
		t.Fatal(err)
	}
	k = k.restart(t)
	k.write(t, 1)
	k.checkpoint(t)
	k.sound(t, "restored")
	k.removeReads(t)
	k.expect(t, "afterwards", 5, 8, 1)
	k.sound(t, "afterwards")
}

// Several processes may remove at once: each read is removed by one of them.
func TestTwoProcessesRemoveTogether(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, k *kept) {
		k.month(t)
		beside := k.beside(t, "second")
		other := &kept{bundle: beside, on: k.on}
		other.at.Store(noon.UnixMicro())
		other.read(t, 30)
		other.write(t, 1)
		other.checkpoint(t)
		other.at.Store(k.at.Load())
		var one sync.Mutex // as the engine's Alone
		for _, l := range []*kept{k, other} {
			l.Alone = func(ctx context.Context, fn func(ctx context.Context) error) error {
				one.Lock()
				defer one.Unlock()
				return fn(ctx)
			}
		}
		var both sync.WaitGroup
		for _, l := range []*kept{k, other} {
			both.Go(func() {
				for range 3 {
					if err := l.RemoveReads(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
			both.Go(func() {
				for range 5 {
					l.sound(t, "meanwhile")
				}
			})
		}
		both.Wait()
		reads, changes, removals := k.count(t, "main")
		r, c, m := k.count(t, "second")
		if reads != 5 || r != 0 || changes+c != 8 || removals+m != 2 {
			t.Errorf("%d and %d reads, %d changes and %d removals are left", reads, r, changes+c, removals+m)
		}
		k.sound(t, "afterwards")
		other.sound(t, "afterwards")
	})
}

// Whatever comes in whichever order: changes stay, young reads stay, old reads go, and the log verifies all the time.
func TestAnyMixOfReadsAndRemovalsVerifies(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, k *kept) {
		rapid.Check(t, func(rt *rapid.T) {
			execute(t, k.on.Main(), "DELETE FROM audit_log", "DELETE FROM audit_read", "DELETE FROM audit_chain")
			execute(t, k.on.Keys(), "DELETE FROM audit_record")
			if err := os.RemoveAll(k.Checkpoints); err != nil {
				rt.Fatal(err)
			}
			l := keepingIn(t, k.on, k.dir)
			var reads []time.Time
			changes := 0
			for _, step := range rapid.SliceOfN(rapid.SampledFrom([]string{"reads", "changes", "mix", "checkpoint", "hours", "days", "remove", "stop", "restart"}), 5, 25).Draw(rt, "steps") {
				n := rapid.IntRange(1, 40).Draw(rt, step)
				switch step {
				case "reads", "changes", "mix":
					for i := range n {
						if step == "reads" || step == "mix" && i%3 > 0 {
							l.read(t, 1)
							reads = append(reads, l.now())
						} else {
							l.write(t, 1)
							changes++
						}
					}
				case "checkpoint":
					l.checkpoint(t)
				case "hours":
					l.pass(time.Duration(n) * time.Hour)
				case "days":
					l.pass(time.Duration(n) * day)
				case "restart":
					l = l.restart(t)
				case "stop":
					l.Store = &stopping{l.store.Audit, n % 2}
					if err := l.RemoveReads(t.Context()); err != nil && !errors.Is(err, errTest) {
						rt.Fatal(err)
					}
					l.Store = l.store.Audit
				case "remove":
					l.removeReads(t)
					before := l.now().Truncate(day).Add(-30 * day)
					reads = slices.DeleteFunc(reads, func(at time.Time) bool { return at.Before(before) })
					if got, c, _ := l.count(t, "main"); got != len(reads) || c != changes {
						rt.Fatalf("%d reads and %d changes are left, want %d and %d", got, c, len(reads), changes)
					}
				}
				if v := l.verify(t); v.Break() != nil {
					rt.Fatalf("after %s: %v", step, v.Break())
				}
			}
		})
	})
}
