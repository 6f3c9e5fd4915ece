// Package idempotency lets a client repeat a request without repeating its effect.
package idempotency

import (
	"context"
	"time"

	"keepsake/internal/base/problem"
)

// Answer is a stored response. In Body, secrets that are shown only once are already null.
type Answer struct {
	// WorkspaceID is the workspace whose storage the answer uses, and MaxBytes is its limit, nil for none. They are not
	// read back.
	WorkspaceID string
	MaxBytes    *int64

	Claim     [32]byte // keyed hash of credential, method, path and Idempotency-Key
	Request   [32]byte // keyed hash of the request's body and query
	Status    int
	Location  string // header of the first response, empty for none
	ETag      string
	Body      []byte // nil if larger than 64 KiB; rebuilt from Location
	CreatedAt time.Time
	ExpiresAt time.Time

	// A sealed answer has no Body, but these fields.
	Sealed   []byte    // nil if a key or a memory that it contains was erased
	SealedBy string    // describes the keys that open it; empty if it is not sealed
	Subjects []KeyName // the subjects in the answer; not read back
	Own      []byte    // an additional key to open it; nil if it was dropped, or the answer is about no subject
}

// Store stores answers for 24 hours.
type Store interface {
	// KeepAnswer stores a in the current transaction, so that effect and answer commit together. The error is
	// ErrAnswered if the claim already has an answer and problem.StorageFull if the workspace is full.
	KeepAnswer(ctx context.Context, a *Answer) error
	// KeptAnswer reads the answer of a claim that has not expired at now. It is nil if there is none.
	KeptAnswer(ctx context.Context, claim [32]byte, now time.Time) (*Answer, error)
	// DropAnswers removes the sealed content from all answers about a subject, in the current transaction. The claims
	// stay, so that a late retry has no effect.
	DropAnswers(ctx context.Context, workspaceID string, subject [16]byte) error
	// PruneAnswers deletes answers that expired before now.
	PruneAnswers(ctx context.Context, now time.Time) error
}

// ErrAnswered is the error of a second answer to one claim.
var ErrAnswered = problem.Conflicts("This request has already been answered.")

// Claims lets the processes of an instance know which requests run in another of them. It only improves the response to
// a concurrent retry: the Store ensures that an effect happens once, even if Claims cannot reach the other
// processes.
type Claims interface {
	// Take claims a request for this process. ok is false if it runs in another. Take does not wait, and ok is true if
	// the other processes cannot be reached. A process that dies releases its claims.
	Take(ctx context.Context, claim [32]byte) (ok bool)
	// Release releases a claim. With wait, the other processes know it when Release returns, otherwise soon.
	Release(claim [32]byte, wait bool)
}
