package store

import (
	"context"

	"keepsake/internal/base/unit"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/event"
	"keepsake/internal/govern/idempotency"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/memory/seal"
	"keepsake/internal/search/collection"
	"keepsake/internal/search/document"
)

// Store stores every noun in the databases of one engine. Each noun has a part. Parts join the transaction of ctx, so what
// several of them change in Run commits together.
type Store struct {
	Accounts    *Accounts
	Sessions    *Sessions
	Guesses     *Guesses
	APIKeys     *APIKeys
	Audit       *Audit
	Documents   *Documents
	Memories    *Memories
	Idempotency *Idempotency
	Events      *Events
	Versions    *Versions
	Secrets     *Secrets
	SubjectKeys *SubjectKeys
	Storage     *Storage
	News        *News
	Restore     *Restore

	engine Engine
}

var (
	_ account.Store        = (*Accounts)(nil)
	_ account.SessionStore = (*Sessions)(nil)
	_ account.GuessStore   = (*Guesses)(nil)
	_ apikey.Store         = (*APIKeys)(nil)
	_ audit.Store          = (*Audit)(nil)
	_ document.Store       = (*Documents)(nil)
	_ collection.Store     = (*Documents)(nil)
	_ event.Store          = (*Events)(nil)
	_ idempotency.Store    = (*Idempotency)(nil)
	_ lifecycle.Store      = (*Versions)(nil)
	_ lifecycle.History    = (*Versions)(nil)
	_ seal.Store           = (*Secrets)(nil)
	_ seal.SubjectStore    = (*SubjectKeys)(nil)
	_ unit.Runner          = (*Store)(nil)
)

// New returns a Store on an open engine. The caller closes the engine.
func New(engine Engine) *Store {
	main, keys := NewDB(engine.Main(), engine), NewDB(engine.Keys(), engine)
	news, storage := newNews(main, engine), &Storage{main}
	own := &ownKeys{main, keys, engine.Alone}
	s := &Store{
		Accounts: &Accounts{main, news}, Sessions: &Sessions{main, news}, Guesses: &Guesses{main},
		APIKeys: &APIKeys{main: main, news: news}, Audit: &Audit{main: main, keys: keys},
		Documents:   &Documents{main, storage, newDocumentStatements(engine.Dialect())},
		Memories:    newMemories(main, storage, own),
		Idempotency: &Idempotency{main, storage, own}, Events: &Events{main, news}, Versions: &Versions{main, news},
		Secrets: &Secrets{main, keys, news}, SubjectKeys: &SubjectKeys{keys}, Storage: storage, News: news,
		engine: engine,
	}
	s.Restore = &Restore{main, s.Memories, s.Idempotency, s.SubjectKeys}
	return s
}

// Run runs fn as one transaction of the main database (see unit.Runner).
func (s *Store) Run(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.engine.Main().Run(ctx, fn)
}

// Ready returns why nothing can be stored right now, or nil.
func (s *Store) Ready(ctx context.Context) error { return s.engine.Ready(ctx) }

// Readable returns why nothing can be read right now, or nil.
func (s *Store) Readable(ctx context.Context) error { return s.engine.Readable(ctx) }
