package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"keepsake/internal/base/unit"
	"keepsake/internal/govern/audit"
	"keepsake/internal/store"
)

// auditRow is the n-th row of a chain: a day after the one before.
func auditRow(chain string, n int64) *audit.Row {
	at := epoch.Add(time.Duration(n) * 24 * time.Hour).Truncate(time.Millisecond)
	id := audit.FirstID(at)
	return &audit.Row{
		ID: id[:len(id)-1] + string(chain[0]), Chain: chain, Sequence: n, At: at, WorkspaceID: "wsp_a", Actor: "key_a",
		Action: audit.KeyChanged, Target: "key_b", Outcome: audit.Done, Count: n, Details: `{"name":"changed"}`,
		Address: netip.MustParseAddr("2001:db8::1"), RequestID: "req_a",
		Previous: audit.Hash{byte(n - 1)}, Hash: audit.Hash{byte(n)},
	}
}

// auditRead is a read in a chain, a minute after the one before: packed, with its ID.
func auditRead(chain string, n int64) *audit.Row {
	r := &audit.Row{
		Chain: chain, Sequence: n, At: epoch.Add(time.Duration(n) * time.Minute).Truncate(time.Millisecond), WorkspaceID: fmt.Sprint("wsp_", n%3),
		Actor: fmt.Sprint("key_", n%7), Action: audit.ReadActions[n%int64(len(audit.ReadActions))], Outcome: audit.Done, Count: 1,
		Target: fmt.Sprintf("subject:%022d", n%5), Details: `{"memoryIds":"mem_01h455vb4pex5vsknk084sn02q"}`,
		Address: netip.MustParseAddr("192.0.2.7"), RequestID: "req_01h455vb4pex5vsknk084sn02q", Packed: true,
	}
	hash := sha256.Sum256(fmt.Append(nil, chain, n))
	copy(r.Hash[:], hash[:16])
	r.SetID()
	return r
}

func auditSequences(t *testing.T, s *store.Store, f audit.Filter) []int64 {
	t.Helper()
	if f.Limit == 0 {
		f.Limit = 100
	}
	rows, err := s.Audit.ListAuditRows(t.Context(), f)
	noError(t, err)
	var list []int64
	for _, r := range rows {
		list = append(list, r.Sequence)
	}
	return list
}

func testAudit(t *testing.T, setup setup) {
	t.Run("RecordsAreReplacedByChain", func(t *testing.T) {
		s := setup(t)
		for _, sealed := range []string{"first", "second"} {
			noError(t, s.Audit.SaveAuditRecord(t.Context(), "a", []byte(sealed)))
		}
		noError(t, s.Audit.SaveAuditRecord(t.Context(), "b", []byte("other")))
		records, err := s.Audit.AuditRecords(t.Context())
		noError(t, err)
		if want := map[string][]byte{"a": []byte("second"), "b": []byte("other")}; !cmp.Equal(records, want) {
			t.Errorf("got %s", records)
		}
	})
	sameRows := cmpopts.EquateComparable(netip.Addr{})

	t.Run("RowsAreReadInTheOrderOfTheirChain", func(t *testing.T) {
		s := setup(t)
		head, err := s.Audit.AuditHead(t.Context(), "a")
		if err != nil || head != (audit.Head{Chain: "a"}) {
			t.Fatalf("the head of an empty chain: %+v, %v", head, err)
		}
		bare := &audit.Row{ID: "aud_bare", Chain: "a", Sequence: 3, At: epoch.Truncate(time.Millisecond), Action: audit.BackupMade, Details: "{}"}
		want := []*audit.Row{auditRow("a", 1), auditRow("a", 2), bare}
		noError(t, s.Audit.AppendAuditRows(t.Context(), want[:2]))
		noError(t, s.Audit.AppendAuditRows(t.Context(), want[2:]))
		noError(t, s.Audit.AppendAuditRows(t.Context(), []*audit.Row{auditRow("b", 1)}))
		got, err := s.Audit.AuditRowsAfter(t.Context(), "a", 0, 10)
		noError(t, err)
		if diff := cmp.Diff(want, got, sameRows); diff != "" {
			t.Error(diff)
		}
		got, err = s.Audit.AuditRowsAfter(t.Context(), "a", 1, 1)
		noError(t, err)
		if diff := cmp.Diff(want[1:2], got, sameRows); diff != "" {
			t.Error(diff)
		}
		if head, err = s.Audit.AuditHead(t.Context(), "a"); err != nil || head != (audit.Head{Chain: "a", Sequence: 3}) {
			t.Errorf("the head: %+v, %v", head, err)
		}
		heads, err := s.Audit.AuditHeads(t.Context())
		if want := []audit.Head{{Chain: "a", Sequence: 3}, {Chain: "b", Sequence: 1, Hash: auditRow("b", 1).Hash}}; err != nil || !cmp.Equal(heads, want) {
			t.Errorf("heads: %+v, %v, want %+v", heads, err, want)
		}
		if chains, err := s.Audit.AuditChains(t.Context()); err != nil || !cmp.Equal(chains, []string{"a", "b"}) {
			t.Errorf("chains: %v, %v", chains, err)
		}
	})

	t.Run("ReadsAndChangesAreReadInTheOrderOfTheirChain", func(t *testing.T) {
		s := setup(t)
		change := auditRow("a", 3)
		want := []*audit.Row{auditRead("a", 1), auditRead("a", 2), change, auditRead("a", 4), auditRead("a", 5)}
		noError(t, s.Audit.AppendAuditRows(t.Context(), []*audit.Row{auditRead("b", 1)}))
		noError(t, s.Audit.AppendAuditRows(t.Context(), want[:1]))
		noError(t, s.Audit.AppendAuditRows(t.Context(), want[1:4])) // both kinds at once
		noError(t, s.Run(t.Context(), func(ctx context.Context) error { return s.Audit.AppendAuditRows(ctx, want[4:]) }))
		for after := range int64(6) {
			got, err := s.Audit.AuditRowsAfter(t.Context(), "a", after, 3)
			noError(t, err)
			if diff := cmp.Diff(want[after:min(after+3, 5)], got, sameRows, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("after %d:\n%s", after, diff)
			}
		}
		var stale *unit.StaleError
		if err := s.Audit.AppendAuditRows(t.Context(), []*audit.Row{auditRead("a", 5)}); !errors.As(err, &stale) {
			t.Errorf("a read that is there already: %v", err)
		}
		if head, err := s.Audit.AuditHead(t.Context(), "a"); err != nil || head.Sequence != 5 || head.Hash != want[4].Hash {
			t.Errorf("the head: %+v, %v", head, err)
		}
		noError(t, s.Run(t.Context(), func(ctx context.Context) error {
			_, err := s.Audit.AuditHeads(ctx)
			return err
		}))
		if chains, err := s.Audit.AuditChains(t.Context()); err != nil || !cmp.Equal(chains, []string{"a", "b"}) {
			t.Errorf("chains: %v, %v", chains, err)
		}
	})

	t.Run("ReadsAreListedWithTheHashBefore", func(t *testing.T) {
		s := setup(t)
		rows := []*audit.Row{auditRow("a", 1), auditRead("a", 2), auditRead("a", 3)}
		noError(t, s.Audit.AppendAuditRows(t.Context(), rows))
		got, err := s.Audit.ListAuditRows(t.Context(), audit.Filter{Action: rows[1].Action, Limit: 1})
		noError(t, err)
		rows[1].Previous = rows[0].Hash
		if diff := cmp.Diff(rows[1:2], got, sameRows); diff != "" {
			t.Error(diff)
		}
		got, err = s.Audit.ListAuditRows(t.Context(), audit.Filter{Action: rows[2].Action, Limit: 1})
		noError(t, err)
		rows[2].Previous = rows[1].Hash
		if diff := cmp.Diff(rows[2:], got, sameRows); diff != "" {
			t.Error(diff)
		}
	})

	// A list contains all rows that match a filter in the order of their IDs, page by page.
	t.Run("ListsOfReadsAreComplete", func(t *testing.T) {
		s := setup(t)
		var all []*audit.Row
		for _, chain := range []string{"a", "b"} {
			var rows []*audit.Row
			for n := int64(1); n <= 60; n++ {
				r := auditRead(chain, n)
				if n%4 == 0 {
					r = auditRow(chain, n)
					r.At = auditRead(chain, n).At
					r.ID = audit.FirstID(r.At)[:29] + chain
				} else if n%4 == 3 { // at the same time as the one before
					r.At = auditRead(chain, n-1).At
					r.SetID()
				}
				rows = append(rows, r)
			}
			noError(t, s.Audit.AppendAuditRows(t.Context(), rows))
			all = append(all, rows...)
		}
		slices.SortFunc(all, func(a, b *audit.Row) int { return strings.Compare(b.ID, a.ID) })
		from, to := auditRead("a", 10).At, auditRead("a", 41).At
		for name, c := range map[string]struct {
			filter audit.Filter
			is     func(r *audit.Row) bool
		}{
			"all":       {audit.Filter{}, func(*audit.Row) bool { return true }},
			"workspace": {audit.Filter{WorkspaceID: "wsp_1"}, func(r *audit.Row) bool { return r.WorkspaceID == "wsp_1" }},
			"actor":     {audit.Filter{Actor: "key_3"}, func(r *audit.Row) bool { return r.Actor == "key_3" }},
			"nobody":    {audit.Filter{Actor: "key_x"}, func(*audit.Row) bool { return false }},
			"target":    {audit.Filter{Target: "subject:0000000000000000000003"}, func(r *audit.Row) bool { return r.Target == "subject:0000000000000000000003" }},
			"action":    {audit.Filter{Action: audit.MemoryListed}, func(r *audit.Row) bool { return r.Action == audit.MemoryListed }},
			"change":    {audit.Filter{Action: audit.KeyChanged}, func(r *audit.Row) bool { return r.Action == audit.KeyChanged }},
			"changes":   {audit.Filter{Changes: true}, func(r *audit.Row) bool { return !r.Action.IsRead() }},
			"time": {audit.Filter{From: from, To: to}, func(r *audit.Row) bool {
				return !r.At.Before(from) && r.At.Before(to)
			}},
			"several": {audit.Filter{WorkspaceID: "wsp_1", Target: "subject:0000000000000000000001"}, func(r *audit.Row) bool {
				return r.WorkspaceID == "wsp_1" && r.Target == "subject:0000000000000000000001"
			}},
		} {
			var want, got []string
			for _, r := range all {
				if c.is(r) {
					want = append(want, r.ID)
				}
			}
			c.filter.Limit = 7
			for {
				page, err := s.Audit.ListAuditRows(t.Context(), c.filter)
				noError(t, err)
				for _, r := range page {
					got = append(got, r.ID)
				}
				if len(page) < c.filter.Limit {
					break
				}
				c.filter.Before = got[len(got)-1]
			}
			if diff := cmp.Diff(want, got); diff != "" || name != "nobody" && len(want) == 0 {
				t.Errorf("%s:\n%s", name, diff)
			}
		}
	})

	t.Run("OnlyReadsAreRemoved", func(t *testing.T) {
		s := setup(t)
		rows := []*audit.Row{auditRead("a", 1), auditRow("a", 2), auditRead("a", 3), auditRead("a", 4), auditRow("a", 5), auditRead("a", 6)}
		noError(t, s.Audit.AppendAuditRows(t.Context(), rows))
		noError(t, s.Audit.AppendAuditRows(t.Context(), []*audit.Row{auditRead("b", 1), auditRead("b", 2), auditRead("b", 3)}))
		noError(t, s.Audit.RemoveAuditReads(t.Context(), "a", 2, 5))
		noError(t, s.Audit.RemoveAuditReads(t.Context(), "none", 1, 9))
		got, err := s.Audit.AuditRowsAfter(t.Context(), "a", 0, 9)
		noError(t, err)
		if diff := cmp.Diff([]*audit.Row{rows[0], rows[1], rows[4], rows[5]}, got, sameRows); diff != "" {
			t.Error(diff)
		}
		if got, err := s.Audit.AuditRowsAfter(t.Context(), "b", 0, 9); err != nil || len(got) != 3 {
			t.Errorf("%d rows of the other chain, %v", len(got), err)
		}
	})

	t.Run("RowsOfAFailedUnitAreNotThere", func(t *testing.T) {
		s := setup(t)
		failure := errors.New("no")
		err := s.Run(t.Context(), func(ctx context.Context) error {
			return errors.Join(s.Audit.AppendAuditRows(ctx, []*audit.Row{auditRow("a", 1)}), failure)
		})
		if head, _ := s.Audit.AuditHead(t.Context(), "a"); !errors.Is(err, failure) || head.Sequence != 0 {
			t.Errorf("%v, and the head is %+v", err, head)
		}
	})

	t.Run("AFilterChooses", func(t *testing.T) {
		s := setup(t)
		other := auditRow("a", 4)
		other.WorkspaceID, other.Actor, other.Target, other.Action = "wsp_b", "key_z", "key_y", audit.KeyRevoked
		instance := auditRow("a", 5)
		instance.WorkspaceID, instance.Target = "", ""
		noError(t, s.Audit.AppendAuditRows(t.Context(), []*audit.Row{auditRow("a", 1), auditRow("a", 2), auditRow("a", 3), other, instance}))
		second := auditRow("a", 2)
		for name, c := range map[string]struct {
			filter audit.Filter
			want   []int64
		}{
			"all":       {audit.Filter{}, []int64{5, 4, 3, 2, 1}},
			"some":      {audit.Filter{Limit: 2}, []int64{5, 4}},
			"workspace": {audit.Filter{WorkspaceID: "wsp_a"}, []int64{3, 2, 1}},
			"actor":     {audit.Filter{Actor: "key_z"}, []int64{4}},
			"action":    {audit.Filter{Action: audit.KeyRevoked}, []int64{4}},
			"target":    {audit.Filter{Target: "key_b"}, []int64{3, 2, 1}},
			"from":      {audit.Filter{From: second.At}, []int64{5, 4, 3, 2}},
			"later":     {audit.Filter{From: second.At.Add(time.Millisecond)}, []int64{5, 4, 3}},
			"to":        {audit.Filter{To: second.At}, []int64{1}},
			"up to":     {audit.Filter{To: second.At.Add(time.Millisecond)}, []int64{2, 1}},
			"before":    {audit.Filter{Before: second.ID}, []int64{1}},
			"several":   {audit.Filter{WorkspaceID: "wsp_a", Actor: "key_a", From: second.At, To: auditRow("a", 3).At}, []int64{2}},
			"none":      {audit.Filter{WorkspaceID: "wsp_b", Actor: "key_a"}, nil},
		} {
			if got := auditSequences(t, s, c.filter); !cmp.Equal(got, c.want) {
				t.Errorf("%s: got %v, want %v", name, got, c.want)
			}
		}
	})
}
