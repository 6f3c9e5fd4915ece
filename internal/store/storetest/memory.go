package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"keepsake/internal/base/problem"
	"keepsake/internal/memory"
	"keepsake/internal/store"
)

func named(n byte) memory.Hash { return memory.Hash{n} }

// memoryRow is a memory of a subject; n determines all fields that a query can use.
func memoryRow(n int, subject byte) *memory.Row {
	at := after(time.Duration(n) * time.Second)
	return &memory.Row{
		ID: fmt.Sprintf("mem_%03d", n), Subject: named(subject), Generation: 1, Session: named(byte(n % 3)), Agent: named(byte(n % 2)),
		Kind: memory.Fact, At: at, CreatedAt: at, UpdatedAt: at, DedupHash: named(byte(n)), Size: int64(n), Revision: 1, Change: int64(n),
		Sealed: []byte{byte(n), 0, 255}, OwnKey: ownKey(byte(n)),
	}
}

func ownKey(n byte) []byte { return slices.Repeat([]byte{n}, store.KeySize) }

// writeMemories writes rows as the domain does.
func writeMemories(t *testing.T, s *store.Store, workspaceID string, rows ...*memory.Row) {
	t.Helper()
	noError(t, s.Run(t.Context(), func(ctx context.Context) error {
		for _, r := range rows {
			held, err := s.Memories.LockMemorySubjects(ctx, workspaceID, []memory.Hash{r.Subject}, epoch)
			if err != nil {
				return err
			}
			sub := held[0]
			sub.Memories++
			sub.Bytes += r.Size
			sub.Change, sub.SealedID = max(sub.Change, r.Change), []byte{1}
			if err := s.Memories.SaveMemorySubjects(ctx, workspaceID, held); err != nil {
				return err
			}
		}
		if err := s.Memories.AddMemoryCount(ctx, workspaceID, int64(len(rows))); err != nil {
			return err
		}
		return s.Memories.InsertMemories(ctx, workspaceID, rows)
	}))
}

func memoryIDs(rows []*memory.Row) []string {
	ids := []string{}
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids
}

func wantIDs(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// withoutSlot ignores where the store has put a key.
var withoutSlot = cmpopts.IgnoreFields(memory.Row{}, "OwnKeySlot")

func testMemory(t *testing.T, setup setup) {
	later := after(time.Hour)

	t.Run("AMemoryComesBackAsItWas", func(t *testing.T) {
		s := setup(t)
		full := memoryRow(7, 1)
		full.ExpiresAt, full.KeyHash = pointer(after(2*time.Hour)), named(9)
		bare := memoryRow(8, 1)
		bare.Agent, bare.Session = memory.Hash{}, memory.Hash{}
		writeMemories(t, s, "wsp_a", full, bare)
		for _, r := range []*memory.Row{full, bare} {
			got, err := s.Memories.Memory(t.Context(), "wsp_a", r.ID, memory.Visibility{}, later)
			noError(t, err)
			if diff := cmp.Diff(r, got, withoutSlot); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		}
		for name, c := range map[string]struct {
			workspace  string
			visibility memory.Visibility
			now        time.Time
		}{
			"another workspace": {"wsp_b", memory.Visibility{}, later},
			"another subject":   {"wsp_a", memory.Visibility{Subject: named(2)}, later},
			"another agent":     {"wsp_a", memory.Visibility{Agent: named(2)}, later},
			"expired":           {"wsp_a", memory.Visibility{}, after(2 * time.Hour)},
		} {
			if _, err := s.Memories.Memory(t.Context(), c.workspace, full.ID, c.visibility, c.now); !isProblem(err, problem.CodeNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		err := s.Run(t.Context(), func(ctx context.Context) error {
			return s.Memories.InsertMemories(ctx, "wsp_a", []*memory.Row{memoryRow(7, 2)})
		})
		if !errors.Is(err, memory.ErrStale) {
			t.Errorf("an id that is taken: %v", err)
		}
		writeMemories(t, s, "wsp_b", memoryRow(7, 2))
	})

	t.Run("AReplacementKeepsWhoseItIs", func(t *testing.T) {
		s := setup(t)
		first := memoryRow(1, 1)
		writeMemories(t, s, "wsp_a", first, memoryRow(2, 1))
		next := memoryRow(1, 1)
		next.Revision, next.Change, next.Kind, next.Sealed, next.KeyHash, next.Session = 2, 5, memory.Note, []byte("second"), named(3), named(8)
		noError(t, s.Run(t.Context(), func(ctx context.Context) error {
			if err := s.Memories.AddMemoryRevisions(ctx, "wsp_a", []*memory.Row{first, first}); err != nil {
				return err
			}
			return s.Memories.ReplaceMemories(ctx, "wsp_a", []*memory.Row{next})
		}))
		got, err := s.Memories.Memory(t.Context(), "wsp_a", first.ID, memory.Visibility{}, later)
		noError(t, err)
		if diff := cmp.Diff(next, got, withoutSlot); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		older, err := s.Memories.MemoryRevisions(t.Context(), "wsp_a", []string{first.ID, "mem_002"}, 0, 0)
		noError(t, err)
		want := &memory.Row{ID: first.ID, Subject: first.Subject, Generation: 1, Revision: 1, Sealed: first.Sealed, OwnKey: next.OwnKey}
		if diff := cmp.Diff([]*memory.Row{want}, older); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		older, err = s.Memories.MemoryRevisions(t.Context(), "wsp_a", []string{first.ID}, 1, 10)
		noError(t, err)
		wantIDs(t, memoryIDs(older))
		older, err = s.Memories.MemoryRevisions(t.Context(), "wsp_b", []string{first.ID}, 0, 0)
		noError(t, err)
		wantIDs(t, memoryIDs(older))
	})

	t.Run("WhatIsAlikeIsFound", func(t *testing.T) {
		s := setup(t)
		keyed, first, second := memoryRow(1, 1), memoryRow(3, 1), memoryRow(2, 1)
		keyed.KeyHash = named(9)
		first.DedupHash, second.DedupHash = named(7), named(7)
		gone := memoryRow(4, 1)
		gone.DedupHash, gone.ExpiresAt, gone.CreatedAt = named(7), pointer(epoch), epoch
		writeMemories(t, s, "wsp_a", keyed, first, second, gone, memoryRow(5, 2))
		ask := func(workspaceID string, limit int, wanted ...memory.MatchKey) []string {
			t.Helper()
			rows, err := s.Memories.MatchingMemories(t.Context(), workspaceID, wanted, limit, later)
			noError(t, err)
			return memoryIDs(rows)
		}
		key := memory.MatchKey{Subject: named(1), Generation: 1, KeyHash: named(9)}
		same := memory.MatchKey{Subject: named(1), Generation: 1, DedupHash: named(7)}
		wantIDs(t, ask("wsp_a", 1, key), "mem_001")
		wantIDs(t, ask("wsp_a", 1, same), "mem_002")
		wantIDs(t, ask("wsp_a", 5, key, same, memory.MatchKey{Subject: named(2), Generation: 1, DedupHash: named(7)}), "mem_001", "mem_002", "mem_003")
		wantIDs(t, ask("wsp_a", 1, memory.MatchKey{Subject: named(2), Generation: 1, KeyHash: named(9)}))
		wantIDs(t, ask("wsp_a", 1, memory.MatchKey{Subject: named(1), Generation: 2, KeyHash: named(9)}))
		wantIDs(t, ask("wsp_b", 1, key))
	})

	t.Run("ChangesAreFollowed", func(t *testing.T) {
		s := setup(t)
		writeMemories(t, s, "wsp_a", memoryRow(1, 1), memoryRow(2, 1), memoryRow(3, 1), memoryRow(4, 2))
		changes := func(generation, after int64) (ids, erased []string) {
			t.Helper()
			rows, err := s.Memories.MemoryChanges(t.Context(), "wsp_a", named(1), generation, after, math.MaxInt64)
			noError(t, err)
			erased, err = s.Memories.ErasedMemories(t.Context(), "wsp_a", named(1), after)
			noError(t, err)
			return memoryIDs(rows), erased
		}
		noError(t, s.Run(t.Context(), func(ctx context.Context) error {
			return s.Memories.EraseMemories(ctx, "wsp_a", named(1), []string{"mem_002"}, 9, epoch)
		}))
		ids, erased := changes(1, -1)
		wantIDs(t, ids, "mem_001", "mem_003")
		wantIDs(t, erased, "mem_002")
		some, err := s.Memories.MemoryChanges(t.Context(), "wsp_a", named(1), 1, -1, 2)
		noError(t, err)
		wantIDs(t, memoryIDs(some), "mem_001")
		some, err = s.Memories.MemoryChanges(t.Context(), "wsp_a", named(1), 1, 2, 3)
		noError(t, err)
		wantIDs(t, memoryIDs(some), "mem_003")
		ids, erased = changes(1, 0)
		wantIDs(t, ids, "mem_001", "mem_003")
		wantIDs(t, erased, "mem_002")
		ids, erased = changes(1, 1)
		wantIDs(t, ids, "mem_003")
		wantIDs(t, erased, "mem_002")
		ids, erased = changes(1, 9)
		wantIDs(t, ids)
		wantIDs(t, erased)
		ids, _ = changes(2, 0)
		wantIDs(t, ids)
		gone, err := s.Memories.MemoryTombstones(t.Context(), "wsp_a", []string{"mem_001", "mem_002", "mem_009"})
		noError(t, err)
		wantIDs(t, gone, "mem_002")
		gone, err = s.Memories.MemoryTombstones(t.Context(), "wsp_b", []string{"mem_002"})
		noError(t, err)
		wantIDs(t, gone)
	})

	t.Run("MemoriesOfASubjectSayWhetherItHasChanged", func(t *testing.T) {
		s := setup(t)
		var ids, want []string
		var rows []*memory.Row
		for n := range 250 {
			r := memoryRow(n, byte(1+n%2))
			rows, ids = append(rows, r), append(ids, r.ID)
			if n%2 == 0 {
				want = append(want, r.ID)
			}
		}
		writeMemories(t, s, "wsp_a", rows...)
		last := rows[248].Change // of the subject named 1
		for name, c := range map[string]struct {
			workspaceID        string
			subject            byte
			generation, change int64
			ids, want          []string
			still              bool
		}{
			"no change":         {"wsp_a", 1, 1, last, ids, want, true},
			"a change since":    {"wsp_a", 1, 1, last - 1, ids, want, false},
			"none":              {"wsp_a", 1, 1, last, nil, nil, false},
			"none of its own":   {"wsp_a", 1, 1, last, []string{"mem_001", "mem_x"}, nil, false},
			"another life":      {"wsp_a", 1, 2, last, ids, nil, false},
			"another workspace": {"wsp_b", 1, 1, last, ids, nil, false},
			"nobody":            {"wsp_a", 9, 1, last, ids, nil, false},
		} {
			got, still, err := s.Memories.MemoriesOf(t.Context(), c.workspaceID, named(c.subject), c.generation, c.change, c.ids)
			noError(t, err)
			if still != c.still {
				t.Errorf("%s: still the same: %v", name, still)
			}
			found := memoryIDs(got)
			slices.Sort(found)
			wantIDs(t, found, c.want...)
		}
	})

	t.Run("ADeadGenerationIsNotThere", func(t *testing.T) {
		s := setup(t)
		old := memoryRow(1, 1)
		writeMemories(t, s, "wsp_a", old, memoryRow(2, 1), memoryRow(3, 2))
		e := &memory.Erasure{ID: "ers_1", WorkspaceID: "wsp_a", Subject: named(1), Generation: 1, Change: 5, Memories: 2, BeganAt: epoch}
		noError(t, s.Run(t.Context(), func(ctx context.Context) error {
			if err := s.Memories.AddMemoryRevisions(ctx, "wsp_a", []*memory.Row{old}); err != nil {
				return err
			}
			if err := s.Memories.EraseMemories(ctx, "wsp_a", named(1), []string{"mem_002"}, 4, epoch); err != nil {
				return err
			}
			held, err := s.Memories.LockMemorySubjects(ctx, "wsp_a", []memory.Hash{named(1)}, epoch)
			if err != nil {
				return err
			}
			held[0].Generation, held[0].SealedID, held[0].ErasedAt = 2, nil, pointer(epoch)
			return errors.Join(s.Memories.SaveMemorySubjects(ctx, "wsp_a", held), s.Memories.BeginErasure(ctx, e))
		}))
		_, err := s.Memories.Memory(t.Context(), "wsp_a", "mem_001", memory.Visibility{}, later)
		wantProblem(t, err, problem.NotFound, problem.CodeNotFound)
		rows, err := s.Memories.MemoriesByID(t.Context(), "wsp_a", []string{"mem_001", "mem_003"})
		noError(t, err)
		wantIDs(t, memoryIDs(rows), "mem_003")
		rows, err = s.Memories.ListMemories(t.Context(), "wsp_a", &memory.RowFilter{Now: later, Limit: 9})
		noError(t, err)
		wantIDs(t, memoryIDs(rows), "mem_003")
		rows, err = s.Memories.MemoryRevisions(t.Context(), "wsp_a", []string{"mem_001"}, 0, 0)
		noError(t, err)
		wantIDs(t, memoryIDs(rows))
		people, err := s.Memories.ListMemorySubjects(t.Context(), "wsp_a", memory.Visibility{}, nil, later, 9)
		noError(t, err)
		if len(people) != 1 || people[0].Hash != named(2) {
			t.Errorf("subjects are %v", people)
		}
		gone, err := s.Memories.MemoryTombstones(t.Context(), "wsp_a", []string{"mem_001", "mem_002", "mem_003"})
		noError(t, err)
		slices.Sort(gone)
		wantIDs(t, gone, "mem_001", "mem_002")

		under, err := s.Memories.Erasures(t.Context())
		noError(t, err)
		if diff := cmp.Diff([]*memory.Erasure{e}, under); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		for i, want := range []int{1, 1, 0} {
			noError(t, s.Run(t.Context(), func(ctx context.Context) error {
				n, err := s.Memories.EraseDeadMemories(ctx, e, 1, epoch)
				if n != want {
					t.Errorf("step %d did %d, want %d", i, n, want)
				}
				return err
			}))
		}
		noError(t, s.Run(t.Context(), func(ctx context.Context) error { return s.Memories.FinishErasure(ctx, e, later) }))
		under, err = s.Memories.Erasures(t.Context())
		noError(t, err)
		finished := *e
		finished.Change, finished.BeganAt = 0, later
		if diff := cmp.Diff([]*memory.Erasure{&finished}, under); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		next := *e
		next.ID, next.Generation = "ers_2", 2
		noError(t, s.Run(t.Context(), func(ctx context.Context) error {
			return errors.Join(s.Memories.BeginErasure(ctx, &next), s.Memories.EndErasure(ctx, e))
		}))
		under, err = s.Memories.Erasures(t.Context())
		noError(t, err)
		if diff := cmp.Diff([]*memory.Erasure{&next}, under); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		noError(t, s.Run(t.Context(), func(ctx context.Context) error { return s.Memories.EndErasure(ctx, &next) }))
		under, err = s.Memories.Erasures(t.Context())
		noError(t, err)
		gone, err = s.Memories.MemoryTombstones(t.Context(), "wsp_a", []string{"mem_001", "mem_002"})
		noError(t, err)
		if len(under) != 0 || len(gone) != 2 {
			t.Errorf("under way are %v, erased %v", under, gone)
		}
		named, err := s.Memories.ErasedMemories(t.Context(), "wsp_a", named(1), 1)
		noError(t, err)
		wantIDs(t, named)
	})

	t.Run("PlansAreHeldAndDropped", func(t *testing.T) {
		s := setup(t)
		plan := func(id string, generation int64, ids ...string) *memory.StoredPlan {
			return &memory.StoredPlan{
				Plan: memory.Plan{ID: id, MemoryIDs: ids, ExpiresAt: later}, Subject: named(1), Generation: generation, Credential: "key_a",
			}
		}
		there := func(workspaceID, id string) *memory.StoredPlan {
			t.Helper()
			p, err := s.Memories.LockMemoryPlan(t.Context(), workspaceID, id)
			if isProblem(err, problem.CodeNotFound) {
				return nil
			}
			noError(t, err)
			return p
		}
		noError(t, s.Run(t.Context(), func(ctx context.Context) error {
			return errors.Join(s.Memories.SaveMemoryPlan(ctx, "wsp_a", plan("pln_1", 1, "mem_1", "mem_2"), 20), s.Memories.SaveMemoryPlan(ctx, "wsp_a", plan("pln_2", 2), 20),
				s.Memories.SaveMemoryPlan(ctx, "wsp_a", plan("pln_3", 2), 20))
		}))
		if diff := cmp.Diff(plan("pln_1", 1, "mem_1", "mem_2"), there("wsp_a", "pln_1")); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		if there("wsp_b", "pln_1") != nil {
			t.Error("another workspace has it, too")
		}
		noError(t, s.Run(t.Context(), func(ctx context.Context) error {
			return errors.Join(s.Memories.DeleteMemoryPlans(ctx, "wsp_a", named(1), 1), s.Memories.DeleteMemoryPlan(ctx, "wsp_a", "pln_3"), s.Memories.PruneMemoryPlans(ctx, later))
		}))
		if there("wsp_a", "pln_1") != nil || there("wsp_a", "pln_2") == nil || there("wsp_a", "pln_3") != nil {
			t.Error("other plans were dropped")
		}
		noError(t, s.Run(t.Context(), func(ctx context.Context) error { return s.Memories.PruneMemoryPlans(ctx, later.Add(time.Second)) }))
		if there("wsp_a", "pln_2") != nil {
			t.Error("an expired plan is there")
		}
	})

	t.Run("WhatIsExpiredIsListed", func(t *testing.T) {
		s := setup(t)
		for i, workspaceID := range []string{"wsp_b", "wsp_a", "wsp_a", "wsp_a"} {
			r := memoryRow(i, byte(1+i%2))
			r.ExpiresAt = pointer(after(time.Duration(i) * time.Minute))
			writeMemories(t, s, workspaceID, r)
		}
		list, err := s.Memories.ExpiredMemories(t.Context(), after(2*time.Minute), 10)
		noError(t, err)
		want := []memory.Expired{
			{WorkspaceID: "wsp_a", Subject: named(1), ID: "mem_002"},
			{WorkspaceID: "wsp_a", Subject: named(2), ID: "mem_001"},
			{WorkspaceID: "wsp_b", Subject: named(1), ID: "mem_000"},
		}
		if diff := cmp.Diff(want, list); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

// MemoryPlans checks that an engine finds memories by the intended index, whatever its statistics are.
func MemoryPlans(t *testing.T, engine store.Engine, explain string, columns int) {
	t.Helper()
	primaryKey := "sqlite_autoindex_memory_1"
	if engine.Shared() {
		primaryKey = "memory_pkey"
	}
	h := &heard{Engine: engine}
	s := store.New(h)
	newWorkspace(t, s, "wsp_a")
	var rows []*memory.Row
	for n := range 900 {
		r := memoryRow(n, byte(1+n%9))
		r.KeyHash, r.Session, r.Agent = named(byte(n)), named(byte(1+n%20)), named(1)
		rows = append(rows, r)
	}
	writeMemories(t, s, "wsp_a", rows...)
	list := func(f memory.RowFilter) func() error {
		f.Limit, f.Now = 51, epoch
		return func() error {
			_, err := s.Memories.ListMemories(t.Context(), "wsp_a", &f)
			return err
		}
	}
	alike := func(a memory.MatchKey) func() error {
		a.Subject, a.Generation = named(1), 1
		return func() error {
			_, err := s.Memories.MatchingMemories(t.Context(), "wsp_a", []memory.MatchKey{a}, 1, epoch)
			return err
		}
	}
	place := &memory.Position{At: after(time.Minute), ID: "mem_x"}
	for _, c := range []struct {
		name string
		ask  func() error
		want string // the index
	}{
		{"a workspace", list(memory.RowFilter{}), "memory_at"},
		{"a workspace, a page on", list(memory.RowFilter{After: place}), "memory_at"},
		{"a subject", list(memory.RowFilter{Subject: named(1)}), "memory_subject_at"},
		{"a subject, a page on", list(memory.RowFilter{Subject: named(1), After: place, Kinds: memory.Kinds()}), "memory_subject_at"},
		{"a subject, some by their ids", list(memory.RowFilter{Subject: named(1), IDs: []string{"mem_000", "mem_009"}}), primaryKey},
		{"an agent", list(memory.RowFilter{Agent: named(1)}), "memory_agent_at"},
		{"a subject by an agent", list(memory.RowFilter{Visible: memory.Visibility{Agent: named(1)}, Subject: named(1)}), "memory_subject_at"},
		{"a session of a subject", list(memory.RowFilter{Session: named(1), Subject: named(1), Agent: named(1)}), "memory_session_at"},
		{"an export", list(memory.RowFilter{Subject: named(1), OldestFirst: true, After: place}), "memory_subject_at"},
		{"a key", alike(memory.MatchKey{KeyHash: named(1)}), "memory_key"},
		{"an equal one", alike(memory.MatchKey{DedupHash: named(1)}), "memory_same"},
		{"what has changed", func() error {
			_, err := s.Memories.MemoryChanges(t.Context(), "wsp_a", named(1), 1, -1, math.MaxInt64)
			return err
		}, "memory_change"},
		{"some of a subject by their ids", func() error {
			_, _, err := s.Memories.MemoriesOf(t.Context(), "wsp_a", named(1), 1, 1, []string{"mem_000", "mem_009"})
			return err
		}, primaryKey},
		{"what has expired", func() error {
			_, err := s.Memories.ExpiredMemories(t.Context(), epoch, 10)
			return err
		}, "memory_expires"},
		{"subjects", func() error {
			_, err := s.Memories.ListMemorySubjects(t.Context(), "wsp_a", memory.Visibility{}, nil, epoch, 51)
			return err
		}, "memory_subject_created"},
	} {
		noError(t, c.ask())
		found, err := engine.Main().In(t.Context()).Query(t.Context(), explain+" "+h.last().text, h.last().args...)
		noError(t, err)
		plan := readPlan(t, found, columns)
		if !strings.Contains(plan, c.want) {
			t.Errorf("%s is not read by %s:\n%s", c.name, c.want, plan)
		}
	}
}
