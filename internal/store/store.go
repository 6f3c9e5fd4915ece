package store

import (
	"context"

	"keepsake/internal/account"
	"keepsake/internal/apikey"
	"keepsake/internal/audit"
	"keepsake/internal/document"
	"keepsake/internal/idempotency"
	"keepsake/internal/lifecycle"
	"keepsake/internal/seal"
	"keepsake/internal/unit"
	"keepsake/internal/usage"
)

// Store keeps every noun on one engine.
type Store struct {
	engine Engine
	main   Database
	keys   Database
	usage  Database

	auditNames auditNames

	bindings Bindings // nil: nothing is sealed or opened

	shared bool // other processes write, too, and the database is a way away
}

var (
	_ account.Store         = (*Store)(nil)
	_ account.SessionStore  = (*Store)(nil)
	_ account.GuessStore    = (*Store)(nil)
	_ apikey.Store          = (*Store)(nil)
	_ audit.Store           = (*Store)(nil)
	_ document.Store        = (*Store)(nil)
	_ idempotency.Store     = (*Store)(nil)
	_ lifecycle.Store       = (*Store)(nil)
	_ lifecycle.CallerStore = (*Store)(nil)
	_ seal.Store            = (*Store)(nil)
	_ seal.SubjectStore     = (*Store)(nil)
	_ usage.Store           = (*Store)(nil)
	_ unit.Runner           = (*Store)(nil)
)

// New makes a Store of an open engine. The engine stays the caller's to close.
func New(engine Engine) *Store {
	return &Store{engine: engine, main: engine.Main(), keys: engine.Keys(), usage: engine.Usage(), shared: engine.Shared()}
}

// Run runs fn as one unit of work of the main database (see unit.Runner).
func (s *Store) Run(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.main.Run(ctx, fn)
}

// Ready says why nothing can be stored at this moment, nil when all is well.
func (s *Store) Ready(ctx context.Context) error { return s.engine.Ready(ctx) }

// Readable says why nothing can be read at this moment, nil when all is well.
func (s *Store) Readable(ctx context.Context) error { return s.engine.Readable(ctx) }
