package store

import (
	"context"

	"keepsake/internal/base/unit"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/analytics"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/event"
	"keepsake/internal/govern/idempotency"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/govern/usage"
	"keepsake/internal/memory/seal"
	"keepsake/internal/search/document"
)

// Store stores every noun in the databases of one engine.
type Store struct {
	engine Engine
	main   *DB
	keys   *DB
	usage  *DB

	statements statements

	auditNames auditNames
	seriesDays seriesDays

	bindings Bindings // nil: names are neither sealed nor opened
}

var (
	_ account.Store         = (*Store)(nil)
	_ account.SessionStore  = (*Store)(nil)
	_ account.GuessStore    = (*Store)(nil)
	_ analytics.Store       = (*Store)(nil)
	_ apikey.Store          = (*Store)(nil)
	_ audit.Store           = (*Store)(nil)
	_ document.Store        = (*Store)(nil)
	_ event.Store           = (*Store)(nil)
	_ idempotency.Store     = (*Store)(nil)
	_ lifecycle.Store       = (*Store)(nil)
	_ lifecycle.CallerStore = (*Store)(nil)
	_ seal.Store            = (*Store)(nil)
	_ seal.SubjectStore     = (*Store)(nil)
	_ usage.Store           = (*Store)(nil)
	_ unit.Runner           = (*Store)(nil)
)

// New returns a Store on an open engine. The caller closes the engine.
func New(engine Engine) *Store {
	return &Store{
		engine: engine, main: NewDB(engine.Main(), engine), keys: NewDB(engine.Keys(), engine), usage: NewDB(engine.Usage(), engine),
		statements: newStatements(engine.Dialect()),
	}
}

// Run runs fn as one transaction of the main database (see unit.Runner).
func (s *Store) Run(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.main.Run(ctx, fn)
}

// Ready returns why nothing can be stored right now, or nil.
func (s *Store) Ready(ctx context.Context) error { return s.engine.Ready(ctx) }

// Readable returns why nothing can be read right now, or nil.
func (s *Store) Readable(ctx context.Context) error { return s.engine.Readable(ctx) }
