package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/idempotency"
)

func testIdempotency(t *testing.T, setup setup) {
	answer := func(n byte, body []byte) *idempotency.Answer {
		return &idempotency.Answer{
			Claim: hash(n), Request: hash(n + 1), Status: 201, Location: "/x", ETag: `"1"`, Body: body,
			CreatedAt: epoch, ExpiresAt: after(24 * time.Hour),
		}
	}

	t.Run("AnAnswerComesBackUntilItExpires", func(t *testing.T) {
		s := setup(t)
		for i, body := range [][]byte{[]byte(`{"a":1}`), {}, nil} { // an empty body and a body that is not stored differ
			a := answer(byte(10*i), body)
			noError(t, s.Idempotency.KeepAnswer(t.Context(), a))
			got, err := s.Idempotency.KeptAnswer(t.Context(), a.Claim, after(24*time.Hour-time.Microsecond))
			noError(t, err)
			if diff := cmp.Diff(a, got); diff != "" {
				t.Error(diff)
			}
			got, err = s.Idempotency.KeptAnswer(t.Context(), a.Claim, after(24*time.Hour))
			if err != nil || got != nil {
				t.Errorf("after its time: %v, error %v", got, err)
			}
		}
		got, err := s.Idempotency.KeptAnswer(t.Context(), hash(77), epoch)
		if err != nil || got != nil {
			t.Errorf("of a claim that never was: %v, error %v", got, err)
		}
	})

	t.Run("AClaimIsAnsweredOnce", func(t *testing.T) {
		s := setup(t)
		noError(t, s.Idempotency.KeepAnswer(t.Context(), answer(1, []byte("first"))))
		wantProblem(t, s.Idempotency.KeepAnswer(t.Context(), answer(1, []byte("second"))), problem.Conflict, problem.CodeConflict)
		got, err := s.Idempotency.KeptAnswer(t.Context(), hash(1), epoch)
		noError(t, err)
		if string(got.Body) != "first" {
			t.Errorf("kept %q, want the first answer", got.Body)
		}
		later := answer(1, []byte("next day"))
		later.CreatedAt, later.ExpiresAt = after(24*time.Hour), after(48*time.Hour)
		noError(t, s.Idempotency.KeepAnswer(t.Context(), later))
		got, err = s.Idempotency.KeptAnswer(t.Context(), hash(1), later.CreatedAt)
		noError(t, err)
		if diff := cmp.Diff(later, got); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("AnswerAndEffectCommitTogether", func(t *testing.T) {
		s := setup(t)
		err := s.Run(t.Context(), func(ctx context.Context) error {
			if err := s.Idempotency.KeepAnswer(ctx, answer(1, nil)); err != nil {
				return err
			}
			return errRefused
		})
		if err == nil {
			t.Fatal("the unit's error was lost")
		}
		if got, err := s.Idempotency.KeptAnswer(t.Context(), hash(1), epoch); err != nil || got != nil {
			t.Errorf("an answer without its effect: %v, error %v", got, err)
		}
	})

	t.Run("ASealedAnswerIsDroppedWithThoseItTellsOf", func(t *testing.T) {
		s := setup(t)
		of := func(n byte, subjects ...byte) *idempotency.Answer {
			a := answer(n, nil)
			a.Sealed, a.SealedBy = []byte{n}, "with a key"
			for _, b := range subjects {
				a.Subjects = append(a.Subjects, idempotency.KeyName{WorkspaceID: "wsp_a", Subject: [16]byte{b}, Generation: 1})
			}
			return a
		}
		for _, a := range []*idempotency.Answer{of(10, 1), of(20, 1, 2), of(30, 2), of(40), answer(50, []byte("clear"))} {
			noError(t, s.Idempotency.KeepAnswer(t.Context(), a))
			got, err := s.Idempotency.KeptAnswer(t.Context(), a.Claim, epoch)
			noError(t, err)
			a.Subjects = nil
			if diff := cmp.Diff(a, got); diff != "" {
				t.Error(diff)
			}
		}
		noError(t, s.Idempotency.DropAnswers(t.Context(), "wsp_b", [16]byte{2}))
		noError(t, s.Idempotency.PruneAnswers(t.Context(), epoch))
		noError(t, s.Idempotency.DropAnswers(t.Context(), "wsp_a", [16]byte{1}))
		for n, there := range map[byte]bool{10: false, 20: false, 30: true, 40: true, 50: false} {
			got, err := s.Idempotency.KeptAnswer(t.Context(), hash(n), epoch)
			noError(t, err)
			if (got.Sealed != nil) != there || (got.SealedBy == "") != (n == 50) || (got.Body != nil) != (n == 50) {
				t.Errorf("answer %d is %+v", n, got)
			}
		}
	})

	t.Run("PruningTakesWhatExpired", func(t *testing.T) {
		s := setup(t)
		noError(t, s.Idempotency.KeepAnswer(t.Context(), answer(1, nil)))
		young := answer(2, nil)
		young.ExpiresAt = after(48 * time.Hour)
		noError(t, s.Idempotency.KeepAnswer(t.Context(), young))
		noError(t, s.Idempotency.PruneAnswers(t.Context(), after(24*time.Hour)))
		for n, want := range map[byte]bool{1: false, 2: true} {
			got, err := s.Idempotency.KeptAnswer(t.Context(), hash(n), epoch)
			if err != nil || (got != nil) != want {
				t.Errorf("answer %d: there %v, error %v; want %v", n, got != nil, err, want)
			}
		}
	})
}
