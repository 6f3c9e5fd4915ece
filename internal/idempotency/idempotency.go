// Package idempotency lets a client repeat a request without repeating its effect.
package idempotency

import (
	"context"
	"time"
)

// Answer is a kept answer. Secrets that were shown once are already null in Body.
type Answer struct {
	Claim     [32]byte // keyed hash of credential, method, path and Idempotency-Key
	Request   [32]byte // keyed hash of the request body
	Status    int
	Location  string // header of the first answer, empty for none
	ETag      string
	Body      []byte // nil where it was over 64 KiB: rebuilt from what Location names
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Store keeps answers for 24 hours.
type Store interface {
	// KeepAnswer stores a; it joins the unit of work it is called in, so that effect and answer commit together. A claim
	// that has an answer already is a conflict.
	KeepAnswer(ctx context.Context, a *Answer) error
	// KeptAnswer reads the answer of a claim that has not expired at now; nil when there is none.
	KeptAnswer(ctx context.Context, claim [32]byte, now time.Time) (*Answer, error)
	// PruneAnswers deletes what expired before now.
	PruneAnswers(ctx context.Context, now time.Time) error
}
