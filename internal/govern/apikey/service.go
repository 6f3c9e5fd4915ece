package apikey

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/revision"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/event"
	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/usage"
)

// Options is what a Service needs.
type Options struct {
	Store        Store
	Units        unit.Runner
	Directory    *Directory
	Accounts     *account.Directory
	Hasher       *Hasher
	Uses         UsageStore
	Reports      usage.ReportStore
	Audit        audit.Recorder
	Events       event.Recorder // none if nil
	Limiter      limit.Limiter
	PendingStore PendingStore // of revocations that the database does not accept
	Random       io.Reader    // for IDs and key texts: crypto/rand.Reader except in tests
	Now          func() time.Time
	Log          *slog.Logger
}

// Service implements the rules of API keys. It is safe for concurrent use. A principal sees the keys of its own workspace,
// and if it is bound to a subject or agent only those that are bound to the same; for all others the methods return
// problem.Missing.
//
// In the methods, p is the principal that calls, and caller is p's own key as the database stores it. caller is nil if p
// is a user, auth.Local (a process on the local socket) or auth.Backend (a service with the backend secret).
type Service struct {
	o       Options
	pending pending
	routes  reportedRoutes
	noticed map[string]bool // the names of notices that were recorded; only Run uses it
}

// NewService returns a Service.
func NewService(o Options) *Service {
	if o.Events == nil {
		o.Events = event.Discard{}
	}
	return &Service{o: o}
}

// APIKey reads one key.
func (s *Service) APIKey(ctx context.Context, p *auth.Principal, keyID string) (*Record, error) {
	k, err := s.visible(ctx, p, keyID)
	if err != nil {
		return nil, err
	}
	records, err := s.records(ctx, k.WorkspaceID, []APIKey{*k}, s.stamp())
	if err != nil {
		return nil, err
	}
	return records[0], nil
}

// Self is the calling key with its workspace.
type Self struct {
	*Record
	Workspace *account.Entry
}

// Self reads the calling key. It returns a problem of the kind Unauthenticated if p is not a key.
func (s *Service) Self(ctx context.Context, p *auth.Principal) (*Self, error) {
	if p.Kind != auth.APIKey {
		return nil, problem.New(problem.Unauthenticated, problem.CodeMissingCredentials, "Send an API key in the X-API-Key header.")
	}
	r, err := s.APIKey(ctx, p, p.KeyID())
	if err != nil {
		return nil, err
	}
	if err := r.State.refusal(); err != nil {
		return nil, err
	}
	workspace, err := s.workspace(p.WorkspaceID)
	if err != nil {
		return nil, err
	}
	return &Self{r, workspace}, nil
}

// List reads keys, newest first. It sets f's Now and binding.
func (s *Service) List(ctx context.Context, p *auth.Principal, f Filter) ([]*Record, error) {
	f.SubjectID, f.AgentID, f.Now = p.SubjectID, p.AgentID, s.stamp()
	list := s.o.Store.ListAPIKeys
	if f.State != "" && !s.pending.empty() {
		list = s.listByState
	}
	keys, err := list(ctx, p.WorkspaceID, f)
	if err != nil {
		return nil, fmt.Errorf("list API keys: %w", err)
	}
	for i := range keys {
		s.pending.apply(&keys[i])
	}
	return s.records(ctx, p.WorkspaceID, keys, f.Now)
}

// listByState is ListAPIKeys while revocations are pending. The database does not know the states of their keys, so it
// reads keys of all states and selects here.
func (s *Service) listByState(ctx context.Context, workspaceID string, f Filter) ([]APIKey, error) {
	var selected []APIKey
	all := f
	all.State = ""
	for {
		keys, err := s.o.Store.ListAPIKeys(ctx, workspaceID, all)
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			s.pending.apply(&k)
			if k.StateAt(f.Now) == f.State {
				selected = append(selected, k)
			}
			if len(selected) == f.Limit {
				return selected, nil
			}
		}
		if len(keys) < all.Limit {
			return selected, nil
		}
		last := keys[len(keys)-1]
		all.Before = &Position{last.CreatedAt, last.ID}
		all.Limit = min(2*all.Limit, 200) // it is possible that few keys have the state
	}
}

// update reads a key, changes it and stores it in one transaction, and puts it into the directory after the commit. change
// reports whether it changed anything. entry is the row of the audit log, without the key and the actor.
//
// The revision is checked after change, because a state that forbids the change (409) comes before a mismatch (412): see
// docs/spec/scopes.md.
func (s *Service) update(ctx context.Context, p *auth.Principal, keyID string, ifRevision revision.Expected, now time.Time, entry audit.Entry, change func(ctx context.Context, k *APIKey) (changed bool, err error)) (*Record, error) {
	var updated *APIKey
	var tier *limit.Tier
	err := s.o.Units.Run(ctx, func(ctx context.Context) error {
		k, err := s.visible(ctx, p, keyID)
		if err != nil {
			return err
		}
		if tier, err = s.tier(k.WorkspaceID); err != nil {
			return err
		}
		updated = k
		stored, wasDisabled := k.Revision, k.DisabledAt != nil
		changed, err := change(ctx, k)
		if err != nil {
			return err
		}
		if !ifRevision.Allows(stored) {
			return problem.RevisionMismatch()
		}
		if !changed {
			return nil
		}
		k.UpdatedAt, k.Revision = now, stored+1
		if err := s.o.Store.UpdateAPIKey(ctx, k); err != nil {
			return err
		}
		s.putAfterCommit(ctx, k)
		entry.WorkspaceID, entry.Actor, entry.Target = k.WorkspaceID, p.Actor(), k.ID
		if err := s.o.Audit.Record(ctx, entry); err != nil {
			return err
		}
		what := eventOf[entry.Action]
		if entry.Action == audit.KeyChanged && k.DisabledAt != nil && !wasDisabled {
			what = event.APIKeyDisabled
		}
		if err := s.recordEvent(ctx, what, k, p.Actor()); err != nil {
			return err
		}
		return s.recordExpiring(ctx, k)
	})
	if err != nil {
		return nil, fmt.Errorf("change API key: %w", err)
	}
	return s.recordAfterChange(ctx, updated, tier, now), nil
}

// visible reads a key that p can see.
func (s *Service) visible(ctx context.Context, p *auth.Principal, keyID string) (*APIKey, error) {
	return s.visibleIn(ctx, p, p.WorkspaceID, keyID)
}

// visibleIn reads a key of a workspace that p can see.
func (s *Service) visibleIn(ctx context.Context, p *auth.Principal, workspaceID, keyID string) (*APIKey, error) {
	if _, ok := id.Parse(id.APIKey, keyID); !ok {
		return nil, problem.Missing()
	}
	k, err := s.o.Store.APIKey(ctx, workspaceID, keyID)
	if err != nil {
		return nil, fmt.Errorf("read API key %s: %w", keyID, err)
	}
	if !visibleTo(p, k) {
		return nil, problem.Missing()
	}
	s.pending.apply(k)
	return k, nil
}

// visibleTo reports whether p can see a key of its workspace.
func visibleTo(p *auth.Principal, k *APIKey) bool {
	return bindingAllows(p.SubjectID, k.SubjectID) && bindingAllows(p.AgentID, k.AgentID)
}

// bindingAllows reports whether a principal that is bound to a subject or agent can see a key that is bound to of. A
// principal that is not bound sees all keys.
func bindingAllows(bound, of string) bool { return bound == "" || bound == of }

// callerKey reads p's own key in the transaction of ctx, nil if p is not a key. A key that was revoked or disabled, or has
// expired, since the request was authenticated is refused.
func (s *Service) callerKey(ctx context.Context, p *auth.Principal, now time.Time) (*APIKey, error) {
	if p.Kind != auth.APIKey {
		return nil, nil
	}
	caller, err := s.o.Store.APIKey(ctx, p.WorkspaceID, p.KeyID())
	if err != nil {
		return nil, fmt.Errorf("read the calling API key: %w", err)
	}
	s.pending.apply(caller)
	switch caller.StateAt(now) {
	case Revoked:
		return nil, errRevoked
	case Disabled:
		return nil, errDisabled
	case Expired:
		return nil, errExpired
	default:
		return caller, nil
	}
}

// putAfterCommit puts k, as it is now, into the directory after the commit. The copy is shallow, because slices and maps of
// a key are replaced and never changed.
func (s *Service) putAfterCommit(ctx context.Context, k *APIKey) {
	committed := *k
	unit.AfterCommit(ctx, func() { s.o.Directory.Put(&committed) })
}

// stamp is the time as it is stored: UTC, in whole milliseconds.
func (s *Service) stamp() time.Time { return s.o.Now().UTC().Truncate(time.Millisecond) }

func (s *Service) tier(workspaceID string) (*limit.Tier, error) {
	workspace, err := s.workspace(workspaceID)
	if err != nil {
		return nil, err
	}
	return workspace.Tier(), nil
}

func (s *Service) workspace(workspaceID string) (*account.Entry, error) {
	workspace, ok := s.o.Accounts.Entry(workspaceID)
	if !ok {
		return nil, fmt.Errorf("workspace %s is not in the directory", workspaceID)
	}
	return workspace, nil
}
