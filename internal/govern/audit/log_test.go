package audit_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"keepsake/internal/govern/audit"
)

func TestARowTellsWhatWasDone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.WithValue(t.Context(), audit.SourceKey, audit.Source{
		Address: netip.MustParseAddr("2001:db8::1"), RequestID: "req_a",
	})
	for _, e := range []audit.Entry{
		{
			Action: audit.UserChanged, WorkspaceID: "wsp_a", Actor: "key_a", Target: "usr_a",
			Details: map[string]string{"role": "admin", "name": audit.Changed},
		},
		{Action: audit.SessionRefused, Outcome: audit.Refused, Count: 3, At: noon.Add(-time.Hour), RequestID: "req_b"},
	} {
		if err := b.Record(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	rows := b.rows(t)
	want := []*audit.Row{
		{
			Chain: "main", Sequence: 1, At: noon, WorkspaceID: "wsp_a", Actor: "key_a", Action: audit.UserChanged, Target: "usr_a",
			Outcome: audit.Done, Count: 1, Details: `{"name":"changed","role":"admin"}`,
			Address: netip.MustParseAddr("2001:db8::1"), RequestID: "req_a",
		},
		{
			Chain: "main", Sequence: 2, At: noon.Add(-time.Hour), Action: audit.SessionRefused, Outcome: audit.Refused, Count: 3,
			Details: "{}", Address: netip.MustParseAddr("2001:db8::1"), RequestID: "req_b",
		},
	}
	ignored := cmpopts.IgnoreFields(audit.Row{}, "ID", "Previous", "Hash")
	if diff := cmp.Diff(want, rows, ignored, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if rows[1].Previous != rows[0].Hash || rows[0].Previous != (audit.Hash{}) || rows[0].Hash == (audit.Hash{}) {
		t.Error("the rows are not chained")
	}
}

func TestARowIsThereIfAndOnlyIfWhatItTellsOfIs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	entry := audit.Entry{Action: audit.TierChanged}
	err := b.store.Run(t.Context(), func(ctx context.Context) error {
		return errors.Join(b.Record(ctx, entry), errTest)
	})
	if !errors.Is(err, errTest) || len(b.rows(t)) != 0 {
		t.Fatalf("a unit that failed with %v has left %d rows", err, len(b.rows(t)))
	}
	err = b.store.Run(t.Context(), func(ctx context.Context) error {
		return errors.Join(b.Record(ctx, entry), b.Record(ctx, entry))
	})
	if err != nil || len(b.rows(t)) != 2 {
		t.Fatalf("a unit that succeeded (%v) has left %d rows, want 2", err, len(b.rows(t)))
	}
}

// Units that commit together, some of which fail, leave one chain without a gap in the order of their commits.
func TestTheChainFollowsTheOrderOfCommits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const writers, each = 16, 25
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for n := range each {
				err := b.store.Run(t.Context(), func(ctx context.Context) error {
					err := b.Record(ctx, audit.Entry{Action: audit.KeyChanged, Actor: fmt.Sprint(w), Target: fmt.Sprint(n)})
					if n%5 == 4 {
						return errors.Join(err, errTest)
					}
					return err
				})
				if (err != nil) != (n%5 == 4) {
					t.Errorf("writer %d, row %d: %v", w, n, err)
				}
			}
		})
	}
	all.Wait()
	rows := b.rows(t)
	if want := writers * each * 4 / 5; len(rows) != want {
		t.Fatalf("%d rows, want %d", len(rows), want)
	}
	next := map[string]int{}
	for i, r := range rows {
		if r.Sequence != int64(i+1) {
			t.Fatalf("row %d has the sequence number %d", i+1, r.Sequence)
		}
		want := next[r.Actor]
		if want%5 == 4 {
			want++
		}
		if r.Target != fmt.Sprint(want) {
			t.Fatalf("writer %s: row %s comes where %d should", r.Actor, r.Target, want)
		}
		next[r.Actor] = want + 1
	}
	if v := b.verify(t); v.Break() != nil || v.Rows != int64(len(rows)) {
		t.Errorf("verified %d rows: %v", v.Rows, v.Break())
	}
}

func TestAPseudonymTellsNobodyByName(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one := b.Pseudonym("email", "jane@example.com")
	if again := b.Pseudonym("email", "jane@example.com"); again != one {
		t.Errorf("the same name is %s, then %s", one, again)
	}
	if !strings.HasPrefix(one, "email:") || strings.Contains(one, "jane") || len(one) != len("email:")+22 {
		t.Errorf("the pseudonym is %s", one)
	}
	for _, other := range []string{b.Pseudonym("email", "joan@example.com"), b.Pseudonym("subject", "jane@example.com")} {
		if strings.HasSuffix(other, strings.TrimPrefix(one, "email:")) {
			t.Errorf("%s and %s name the same", one, other)
		}
	}
}

func TestWhatHappensOftenIsCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n := range 1000 {
		b.pass(time.Millisecond)
		b.Count(t.Context(), audit.Entry{Action: audit.SessionRefused, Outcome: audit.Refused, Target: "email:a"})
		b.Count(t.Context(), audit.Entry{Action: audit.SessionRefused, Outcome: audit.Refused, Target: fmt.Sprintf("email:%d", n)})
	}
	for range 2 {
		if err := b.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	rows := b.rows(t)
	counts, total := map[string]int64{}, int64(0)
	for _, r := range rows {
		counts[r.Target] = r.Count
		total += r.Count
	}
	if len(rows) != 257 || counts["email:a"] != 1000 || counts[""] != 1000-255 || total != 2000 {
		t.Errorf("%d rows, %d events in all, %d of one kind, %d of those too many", len(rows), total, counts["email:a"], counts[""])
	}
	for _, r := range rows {
		if r.Target == "email:a" && !r.At.Equal(noon.Add(time.Millisecond)) {
			t.Errorf("the count began at %v", r.At)
		}
	}
}

// full is a store whose disk takes no more rows.
type full struct{ audit.Store }

func (full) AppendAuditRows(context.Context, []*audit.Row) error { return errTest }

// What cannot be logged does not happen.
func TestAChangeThatCannotBeLoggedFails(t *testing.T) {
	t.Parallel()
	b := setup(t)
	log := audit.NewLog(audit.Options{
		Store: full{b.store.Audit}, Units: b.store, Chain: "main", Secret: make([]byte, 32), Checkpoints: b.Checkpoints,
		Random: rand.Reader, Now: b.now, Log: b.Log.Log,
	})
	change := func(ctx context.Context, n int) error {
		_, err := b.engine.Main().In(ctx).Exec(ctx, "INSERT INTO probe (id, filler) VALUES ($1, zeroblob(1))", n)
		return err
	}
	for n, l := range []audit.Recorder{b.Log, log} {
		err := b.store.Run(t.Context(), func(ctx context.Context) error {
			return errors.Join(change(ctx, n), l.Record(ctx, audit.Entry{Action: audit.TierChanged}))
		})
		if (n == 0) != (err == nil) || n == 1 && !errors.Is(err, errTest) {
			t.Errorf("change %d: %v", n, err)
		}
	}
	var rows int
	if err := b.engine.Main().In(t.Context()).QueryRow(t.Context(), "SELECT count(*) FROM probe").Scan(&rows); err != nil || rows != 1 {
		t.Errorf("%d changes are there, %v; want the one that was logged", rows, err)
	}
	// What was counted waits until it can be written.
	log.Count(t.Context(), audit.Entry{Action: audit.SessionRefused, Count: 2})
	for range 2 {
		if err := log.Close(t.Context()); !errors.Is(err, errTest) {
			t.Errorf("a count that cannot be written: %v", err)
		}
	}
	log.Store = b.store.Audit
	if err := log.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if kept := b.rows(t); len(kept) != 2 || kept[1].Count != 2 {
		t.Errorf("%d rows; want what was counted to be the second", len(kept))
	}
}
