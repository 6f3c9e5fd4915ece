package apikey

import (
	"context"
	"io"
	"time"

	"keepsake/internal/account"
	"keepsake/internal/auth"
	"keepsake/internal/unit"
	"keepsake/internal/usage"
)

// Uses is what the service reads of usage. A usage.Store is one.
type Uses interface {
	LastUses(ctx context.Context, keyIDs []string) ([]usage.LastUse, error)
	KeySeries(ctx context.Context, workspaceID, keyID string, from, to time.Time, step time.Duration) ([]usage.Point, error)
}

// Options is what a Service needs.
type Options struct {
	Store     Store
	Units     unit.Runner
	Directory *Directory
	Accounts  *account.Directory
	Hasher    *Hasher
	Uses      Uses
	Random    io.Reader // of key texts: crypto/rand.Reader but in tests
	Now       func() time.Time
}

// Service holds the rules of API keys (decisions.md, D). All of it is safe for concurrent use. A principal reaches the
// keys of its own workspace, and if it is bound to a subject or agent only those bound alike; every other id answers
// problem.Missing.
type Service struct {
	o Options
}

// NewService makes a Service.
func NewService(o Options) *Service { return &Service{o} }

// Created is a new key with its text, which is known at this moment only.
type Created struct {
	*APIKey
	Text string
}

// List reads keys, newest first. Workspace, binding and time of f are set here.
func (s *Service) List(ctx context.Context, p *auth.Principal, f Filter) ([]APIKey, error) {
	now := s.now()
	f.SubjectID, f.AgentID, f.Now = p.SubjectID, p.AgentID, now
	keys, err := s.o.Store.ListAPIKeys(ctx, p.WorkspaceID, f)
	if err != nil {
		return nil, err
	}
	return keys, nil
}

func (s *Service) now() time.Time { return s.o.Now().UTC().Truncate(time.Millisecond) }
