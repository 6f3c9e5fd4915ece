package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"keepsake/internal/govern/account"
)

func testThrottle(t *testing.T, setup setup) {
	names := func(list ...byte) []account.GuessName {
		var out []account.GuessName
		for _, n := range list {
			out = append(out, account.GuessName{n})
		}
		return out
	}
	texts := func(list [][]byte) string { return fmt.Sprintf("%q", list) }
	put := func(t *testing.T, change account.GuessStore, until time.Duration, text string, list ...byte) {
		t.Helper()
		noError(t, change.ChangeGuesses(t.Context(), names(list...), func(now time.Time, _ [][]byte) (states []account.GuessState, err error) {
			for range list {
				states = append(states, account.GuessState{Text: []byte(text), Until: now.Add(until)})
			}
			return states, nil
		}))
	}

	t.Run("TextsAreKeptUnderNames", func(t *testing.T) {
		s := setup(t)
		put(t, s.Guesses, time.Hour, "a", 3, 1)
		before := time.Now().Truncate(time.Millisecond) // no engine's clock is coarser
		now, got, err := s.Guesses.Guesses(t.Context(), names(1, 2, 3))
		noError(t, err)
		if texts(got) != `["a" "" "a"]` || now.Before(before) || now.After(time.Now()) {
			t.Errorf("got %s at %s", texts(got), now)
		}
		noError(t, s.Guesses.ChangeGuesses(t.Context(), names(3, 2, 1), func(at time.Time, states [][]byte) ([]account.GuessState, error) {
			if texts(states) != `["a" "" "a"]` || at.Before(now) {
				t.Errorf("got %s at %s", texts(states), at)
			}
			return []account.GuessState{{}, {Text: []byte("b"), Until: at.Add(time.Hour)}, {Text: []byte("c"), Until: at.Add(time.Hour)}}, nil
		}))
		if _, got, err = s.Guesses.Guesses(t.Context(), names(1, 2, 3)); err != nil || texts(got) != `["c" "b" ""]` {
			t.Errorf("got %s, error %v", texts(got), err)
		}
		_, got, err = s.Guesses.Guesses(t.Context(), names(9))
		if err != nil || texts(got) != `[""]` {
			t.Errorf("of a name that never was: %s, error %v", texts(got), err)
		}
	})

	t.Run("ARefusedChangeLeavesNothing", func(t *testing.T) {
		s := setup(t)
		put(t, s.Guesses, time.Hour, "a", 1)
		err := s.Guesses.ChangeGuesses(t.Context(), names(1, 2), func(time.Time, [][]byte) ([]account.GuessState, error) { return nil, errRefused })
		if !errors.Is(err, errRefused) {
			t.Errorf("got error %v, want that of the change", err)
		}
		if _, got, err := s.Guesses.Guesses(t.Context(), names(1, 2)); err != nil || texts(got) != `["a" ""]` {
			t.Errorf("got %s, error %v", texts(got), err)
		}
	})

	t.Run("PruningTakesWhatIsOver", func(t *testing.T) {
		s := setup(t)
		put(t, s.Guesses, -time.Second, "old", 1)
		put(t, s.Guesses, time.Hour, "young", 2)
		noError(t, s.Guesses.PruneGuesses(t.Context()))
		if _, got, err := s.Guesses.Guesses(t.Context(), names(1, 2)); err != nil || texts(got) != `["" "young"]` {
			t.Errorf("got %s, error %v", texts(got), err)
		}
	})

	// Concurrent changes of overlapping names, in all orders: no change is lost, and there is no deadlock.
	t.Run("ChangesFollowEachOther", func(t *testing.T) {
		s := setup(t)
		const writers, each = 8, 25
		var all sync.WaitGroup
		for w := range byte(writers) {
			all.Go(func() {
				for range each {
					err := s.Guesses.ChangeGuesses(context.Background(), names(w%3, 3+w%2, 7-w%3), func(now time.Time, states [][]byte) (next []account.GuessState, err error) {
						for _, state := range states {
							next = append(next, account.GuessState{Text: append(state, '.'), Until: now.Add(time.Hour)})
						}
						return next, nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		_, got, err := s.Guesses.Guesses(t.Context(), names(0, 1, 2, 3, 4, 5, 6, 7))
		noError(t, err)
		n := 0
		for _, state := range got {
			n += len(state)
		}
		if n != writers*each*3 {
			t.Errorf("%d changes are left, want %d", n, writers*each*3)
		}
	})
}
