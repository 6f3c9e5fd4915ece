// Package idempotency lets a client repeat a request without repeating its effect.
package idempotency

import (
	"context"
	"time"

	"keepsake/internal/problem"
)

// Answer is a kept answer. Secrets that were shown once are already null in Body.
type Answer struct {
	// WorkspaceID is whose storage it takes, and MaxBytes how many bytes that may have in all, nil for no limit. Neither is
	// read back.
	WorkspaceID string
	MaxBytes    *int64

	Claim     [32]byte // keyed hash of credential, method, path and Idempotency-Key
	Request   [32]byte // keyed hash of the request body
	Status    int
	Location  string // header of the first answer, empty for none
	ETag      string
	Body      []byte // nil where it was over 64 KiB: rebuilt from what Location names
	CreatedAt time.Time
	ExpiresAt time.Time

	// An answer that may only lie sealed has no Body but these.
	Sealed   []byte    // none: what it was sealed with, or what it told of, is gone
	SealedBy string    // says what opens it; empty: it is not sealed
	Subjects []KeyName // those it tells of; not read back
	Own      []byte    // a key that is needed to open it, too; none: it was dropped, or an earlier release sealed it
}

// Store keeps answers for 24 hours.
type Store interface {
	// KeepAnswer stores a; it joins the unit of work it is called in, so that effect and answer commit together. A claim
	// that has an answer already is ErrAnswered; one that the workspace has no room for is problem.StorageFull.
	KeepAnswer(ctx context.Context, a *Answer) error
	// KeptAnswer reads the answer of a claim that has not expired at now; nil when there is none.
	KeptAnswer(ctx context.Context, claim [32]byte, now time.Time) (*Answer, error)
	// DropAnswers takes what is sealed out of the answers that tell of a subject; it joins the unit of work it is called in.
	// The claims stay, so that a late repetition has no effect.
	DropAnswers(ctx context.Context, workspaceID string, subject [16]byte) error
	// PruneAnswers deletes what expired before now.
	PruneAnswers(ctx context.Context, now time.Time) error
}

// ErrAnswered is the problem of a second answer under one claim.
var ErrAnswered = problem.Conflicts("This request has already been answered.")

// Claims tells processes on one store which requests run in another of them. It is there for a kind answer: that an
// effect happens once is the Store's doing, also where nobody can be asked.
type Claims interface {
	// Take says that a request runs in this process, unless it runs in another; then ok is false. It waits for nobody:
	// where the others cannot be asked it is true. A process that dies runs nothing.
	Take(ctx context.Context, claim [32]byte) (ok bool)
	// Release says that what was taken has ended. Others know it soon, or with wait when Release returns.
	Release(claim [32]byte, wait bool)
}
