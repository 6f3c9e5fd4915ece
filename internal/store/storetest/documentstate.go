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

	t.Run("AStateIsKnownUntilALaterOneIsNeeded", func(t *testing.T) {
		s := setup(t)
		var states []document.State
		follow := func(after int64, has document.State, oldest int64) error {
			t.Helper()
			_, err := s.Documents.PutDocument(t.Context(), "wsp_a", newDocument("a"), put())
			noError(t, err)
			f := document.Following{After: after, Limit: 10, Has: has, Oldest: oldest}
			changes, now, err := s.Documents.FollowDocuments(t.Context(), "wsp_a", f)
			if err == nil {
				states = append(states, now)
				if len(changes) != 1 || changes[0].Number != now.Change {
					t.Errorf("the changes of %v are %v", now, changes)
				}
			}
			return err
		}
		noError(t, follow(0, document.State{}, 0))
		noError(t, follow(1, states[0], 1))
		wantStates(t, s, states, true, true)
		noError(t, follow(2, states[1], 2))
		wantStates(t, s, states, false, true, true)
		lost := document.State{Change: states[2].Change, Mark: states[2].Mark ^ 1}
		if err := follow(3, lost, 3); !errors.Is(err, document.ErrLost) {
			t.Errorf("an index with another state: %v", err)
		}
		wantStates(t, s, states, false, true, true)
	})
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
