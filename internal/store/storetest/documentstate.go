package storetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/search/document"
	"keepsake/internal/store"
)

func testDocumentState(t *testing.T, setup setup) {
	t.Run("EveryTransactionHasAStateOfItsOwn", func(t *testing.T) {
		s := setup(t)
		state := func() document.State {
			t.Helper()
			now, err := s.Documents.DocumentState(t.Context(), "wsp_a")
			noError(t, err)
			return now
		}
		if now := state(); now != (document.State{}) {
			t.Errorf("without documents: %v", now)
		}
		seen := map[int64]bool{0: true}
		for n := int64(1); n < 4; n++ {
			_, err := s.Documents.PutDocument(t.Context(), "wsp_a", newDocument("a"), put())
			noError(t, err)
			now := state()
			if now.Change != n || seen[now.Mark] {
				t.Errorf("after change %d: %v", n, now)
			}
			seen[now.Mark] = true
			_, err = s.Documents.DeleteDocuments(t.Context(), "wsp_a", []string{"none"})
			noError(t, err)
			if again := state(); again != now {
				t.Errorf("after a transaction without a change: %v, want %v", again, now)
			}
		}
	})

	t.Run("StatesOfManyWorkspacesAreReadTogether", func(t *testing.T) {
		s := setup(t)
		var all []string
		want := map[string]document.State{}
		for n := range 2*store.ListSize + 1 {
			id := fmt.Sprint("wsp_", n)
			all = append(all, id)
			if n%50 > 0 {
				continue
			}
			_, err := s.Documents.PutDocument(t.Context(), id, newDocument("a"), put())
			noError(t, err)
			want[id], err = s.Documents.DocumentState(t.Context(), id)
			noError(t, err)
		}
		got, err := s.Documents.DocumentStates(t.Context(), all)
		noError(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		got, err = s.Documents.DocumentStates(t.Context(), nil)
		noError(t, err)
		if len(got) > 0 {
			t.Errorf("of no workspaces: %v", got)
		}
	})

	t.Run("AnIndexFollowsFromAStateThatTheDocumentsHad", func(t *testing.T) {
		s := setup(t)
		var states []document.State
		follow := func(after int64, has document.State) error {
			t.Helper()
			_, err := s.Documents.PutDocument(t.Context(), "wsp_a", newDocument("a"), put())
			noError(t, err)
			changes, now, err := s.Documents.FollowDocuments(t.Context(), "wsp_a", document.Following{After: after, Limit: 10, Has: has})
			if err == nil {
				states = append(states, now)
				if len(changes) != 1 || changes[0].Number != now.Change {
					t.Errorf("the changes of %v are %v", now, changes)
				}
			}
			return err
		}
		noError(t, follow(0, document.State{}))
		noError(t, follow(1, states[0]))
		noError(t, follow(2, states[0])) // by an index that was away
		wantStates(t, s, states, true, true, true)
		for _, lost := range []document.State{{Change: 2, Mark: states[1].Mark ^ 1}, {Change: 2, Mark: states[2].Mark}, {Change: 9, Mark: 1}} {
			if err := follow(3, lost); !errors.Is(err, document.ErrLost) {
				t.Errorf("an index with %v: %v", lost, err)
			}
		}
		changes, now, err := s.Documents.FollowDocuments(t.Context(), "wsp_a", document.Following{After: 9, Limit: 10, Has: states[2]})
		if noError(t, err); len(changes) > 0 || now.Change != 6 {
			t.Errorf("after the last change there are %v and %v", changes, now)
		}
		if changes, now, err = s.Documents.FollowDocuments(t.Context(), "wsp_b", document.Following{Limit: 10}); err != nil || len(changes) > 0 || now != (document.State{}) {
			t.Errorf("without documents there are %v, %v, %v", changes, now, err)
		}
		if _, _, err = s.Documents.FollowDocuments(t.Context(), "wsp_b", document.Following{Limit: 10, Has: now}); err != nil {
			t.Errorf("an index without documents: %v", err)
		}
	})

	t.Run("EveryChangeHasTheMarkOfItsTransaction", func(t *testing.T) {
		s := setup(t)
		written, err := s.Documents.PutDocuments(t.Context(), "wsp_a", writes("a", "b", "c"))
		noError(t, err)
		now, err := s.Documents.DocumentState(t.Context(), "wsp_a")
		noError(t, err)
		_, err = s.Documents.PutDocument(t.Context(), "wsp_a", newDocument("a"), put())
		noError(t, err)
		var states []document.State
		for i, w := range written {
			if w.Mark != now.Mark {
				t.Errorf("document %d has the mark %d, want %d", i, w.Mark, now.Mark)
			}
			states = append(states, document.State{Change: int64(i + 1), Mark: w.Mark})
		}
		wantStates(t, s, append(states, document.State{Change: 4, Mark: now.Mark}), true, true, true, false)
	})

	t.Run("OldStatesAreForgotten", func(t *testing.T) {
		s := setup(t)
		var ids []string
		for i := range 250 {
			ids = append(ids, fmt.Sprint("d", i))
		}
		var states []document.State
		for range 45 {
			_, err := s.Documents.PutDocuments(t.Context(), "wsp_a", writes(ids...))
			noError(t, err)
			now, err := s.Documents.DocumentState(t.Context(), "wsp_a")
			noError(t, err)
			states = append(states, now)
		}
		// 11,250 changes, of which those before 11,000 - 10,250 are forgotten
		wantStates(t, s, states[:4], false, false, true, true)
	})
}

func writes(ids ...string) []document.Write {
	list := make([]document.Write, len(ids))
	for i, id := range ids {
		list[i] = document.Write{Document: newDocument(id), Put: put()}
	}
	return list
}

func wantStates(t *testing.T, s *store.Store, states []document.State, want ...bool) {
	t.Helper()
	for i, state := range states {
		got, err := s.Documents.HadDocumentState(t.Context(), "wsp_a", state)
		noError(t, err)
		if got != want[i] {
			t.Errorf("state %d is known: %v, want %v", i, got, want[i])
		}
	}
}
