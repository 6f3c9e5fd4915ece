package storetest

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"keepsake/internal/audit"
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

func auditSequences(t *testing.T, s *store.Store, f audit.Filter) []int64 {
	t.Helper()
	if f.Limit == 0 {
		f.Limit = 100
	}
	rows, err := s.ListAuditRows(t.Context(), f)
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
			noError(t, s.SaveAuditRecord(t.Context(), "a", []byte(sealed)))
		}
		noError(t, s.SaveAuditRecord(t.Context(), "b", []byte("other")))
		records, err := s.AuditRecords(t.Context())
		noError(t, err)
		if want := map[string][]byte{"a": []byte("second"), "b": []byte("other")}; !cmp.Equal(records, want) {
			t.Errorf("got %s", records)
		}
	})
	sameRows := cmpopts.EquateComparable(netip.Addr{})

	t.Run("RowsAreReadInTheOrderOfTheirChain", func(t *testing.T) {
		s := setup(t)
		head, err := s.AuditHead(t.Context(), "a")
		if err != nil || head != (audit.Head{Chain: "a"}) {
			t.Fatalf("the head of an empty chain: %+v, %v", head, err)
		}
		bare := &audit.Row{ID: "aud_bare", Chain: "a", Sequence: 3, At: epoch.Truncate(time.Millisecond), Action: audit.BackupMade, Details: "{}"}
		want := []*audit.Row{auditRow("a", 1), auditRow("a", 2), bare}
		noError(t, s.AppendAuditRows(t.Context(), want[:2]))
		noError(t, s.AppendAuditRows(t.Context(), want[2:]))
		noError(t, s.AppendAuditRows(t.Context(), []*audit.Row{auditRow("b", 1)}))
		got, err := s.AuditRowsAfter(t.Context(), "a", 0, 10)
		noError(t, err)
		if diff := cmp.Diff(want, got, sameRows); diff != "" {
			t.Error(diff)
		}
		got, err = s.AuditRowsAfter(t.Context(), "a", 1, 1)
		noError(t, err)
		if diff := cmp.Diff(want[1:2], got, sameRows); diff != "" {
			t.Error(diff)
		}
		if head, err = s.AuditHead(t.Context(), "a"); err != nil || head != (audit.Head{Chain: "a", Sequence: 3}) {
			t.Errorf("the head: %+v, %v", head, err)
		}
		heads, err := s.AuditHeads(t.Context())
		if want := []audit.Head{{Chain: "a", Sequence: 3}, {Chain: "b", Sequence: 1, Hash: auditRow("b", 1).Hash}}; err != nil || !cmp.Equal(heads, want) {
			t.Errorf("heads: %+v, %v, want %+v", heads, err, want)
		}
		if chains, err := s.AuditChains(t.Context()); err != nil || !cmp.Equal(chains, []string{"a", "b"}) {
			t.Errorf("chains: %v, %v", chains, err)
		}
	})

	t.Run("RowsOfAFailedUnitAreNotThere", func(t *testing.T) {
		s := setup(t)
		failure := errors.New("no")
		err := s.Run(t.Context(), func(ctx context.Context) error {
			return errors.Join(s.AppendAuditRows(ctx, []*audit.Row{auditRow("a", 1)}), failure)
		})
		if head, _ := s.AuditHead(t.Context(), "a"); !errors.Is(err, failure) || head.Sequence != 0 {
			t.Errorf("%v, and the head is %+v", err, head)
		}
	})

	t.Run("AFilterChooses", func(t *testing.T) {
		s := setup(t)
		other := auditRow("a", 4)
		other.WorkspaceID, other.Actor, other.Target, other.Action = "wsp_b", "key_z", "key_y", audit.KeyRevoked
		instance := auditRow("a", 5)
		instance.WorkspaceID, instance.Target = "", ""
		noError(t, s.AppendAuditRows(t.Context(), []*audit.Row{auditRow("a", 1), auditRow("a", 2), auditRow("a", 3), other, instance}))
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
