package apikey

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"keepsake/internal/account"
	"keepsake/internal/audit"
	"keepsake/internal/auth"
	"keepsake/internal/id"
	"keepsake/internal/limit"
	"keepsake/internal/problem"
	"keepsake/internal/revision"
	"keepsake/internal/unit"
)

// Options is what a Service needs.
type Options struct {
	Store        Store
	Units        unit.Runner
	Directory    *Directory
	Accounts     *account.Directory
	Hasher       *Hasher
	Uses         UsageStore
	Audit        audit.Recorder
	Limiter      limit.Limiter
	PendingStore PendingStore // of revocations that the database does not accept
	Random       io.Reader    // for IDs and key texts: crypto/rand.Reader except in tests
	Now          func() time.Time
	Log          *slog.Logger
}

// Service implements the rules of API keys. It is safe for concurrent use. A principal sees the keys of its own workspace,
// and if it is bound to a subject or agent only those that are bound to the same; for all others the methods return
// problem.Missing.
type Service struct {
	Options

	pending pending
}

// NewService returns a Service.
func NewService(o Options) *Service { return &Service{Options: o} }

// Created is a new or rotated key with its text, which cannot be read again.
type Created struct {
	*Record
	Text string
}

// Create creates a key in p's workspace, or in the one that d names if p is an operator. It returns
//   - problem.Forbidden for scopes that p does not have and bounds wider than those of p's own key,
//   - problem.Invalid for an expiry in the past and a minute limit above the tier's,
//   - problem.Missing for another subject or agent than p is bound to, and for a workspace that does not exist,
//   - problem.LimitReached if the workspace has as many keys as its tier allows.
func (s *Service) Create(ctx context.Context, p *auth.Principal, d Draft) (*Created, error) {
	now := s.now()
	workspaceID, err := workspaceOf(p, d.WorkspaceID)
	if err != nil {
		return nil, err
	}
	workspace, ok := s.Accounts.Entry(workspaceID)
	if !ok {
		return nil, problem.Missing()
	}
	tier := workspace.Tier()
	if err := d.check(p, tier, now); err != nil {
		return nil, err
	}
	text := Generate(s.Random)
	k := s.newKey(workspaceID, p.Actor(), text, d, now)
	err = s.Units.Run(ctx, func(ctx context.Context) error {
		creator, err := s.callingKey(ctx, p, now)
		if err != nil {
			return err
		}
		if creator != nil {
			inherit(k, d, creator, tier)
			if err := checkWithin(creator, k); err != nil {
				return err
			}
		}
		return s.add(ctx, k, tier.Keys)
	})
	if err != nil {
		return nil, fmt.Errorf("create API key: %w", err)
	}
	return &Created{s.recordOf(k, tier, now), text}, nil
}

// workspaceOf is the workspace in which p creates a key: the named one, if p is an operator, or its own.
func workspaceOf(p *auth.Principal, named string) (string, error) {
	switch {
	case named == "":
		return p.WorkspaceID, nil
	case !p.Operator || !p.Scopes.Allows(auth.Admin):
		return "", problem.Exceeds("workspaceId", "Only an operator can create API keys in another workspace.")
	default:
		return named, nil
	}
}

// callingKey reads p's own key in the transaction of ctx. It is nil for a user and for the operator of the machine. A key
// that has been revoked or disabled, or has expired, since the request was authenticated is refused.
func (s *Service) callingKey(ctx context.Context, p *auth.Principal, now time.Time) (*APIKey, error) {
	if p.Kind != auth.APIKey {
		return nil, nil
	}
	k, err := s.Store.APIKey(ctx, p.WorkspaceID, p.KeyID())
	if err != nil {
		return nil, fmt.Errorf("read the calling API key: %w", err)
	}
	s.pending.apply(k)
	switch k.At(now) {
	case Revoked:
		return nil, errRevoked
	case Disabled:
		return nil, errDisabled
	case Expired:
		return nil, errExpired
	default:
		return k, nil
	}
}

// CreateFirst creates the key with all scopes of a first start and returns its text. It joins the transaction that creates
// the workspace.
func (s *Service) CreateFirst(ctx context.Context, workspaceID string) (text string, err error) {
	local := auth.Principal{Kind: auth.Local}
	text = Generate(s.Random)
	k := s.newKey(workspaceID, local.Actor(), text, Draft{Name: "first key", Scopes: auth.All}, s.now())
	err = s.Units.Run(ctx, func(ctx context.Context) error { return s.add(ctx, k, 0) })
	if err != nil {
		return "", fmt.Errorf("create API key: %w", err)
	}
	return text, nil
}

// newKey returns the key that d describes.
func (s *Service) newKey(workspaceID, by, text string, d Draft, now time.Time) *APIKey {
	return &APIKey{
		ID: id.At(id.APIKey, s.Now(), s.Random), WorkspaceID: workspaceID,
		Name: d.Name, Scopes: d.Scopes, ExpiresAt: d.ExpiresAt,
		RequestsPerMinute: d.RequestsPerMinute, Daily: d.Quota.Daily, Monthly: d.Quota.Monthly,
		SubjectID: d.SubjectID, AgentID: d.AgentID,
		AllowedIPs: canonical(d.AllowedIPs), Metadata: d.Metadata,
		CreatedAt: now, CreatedBy: by, UpdatedAt: now, Revision: 1,
		Secrets: []Secret{{Hash: s.Hasher.Hash(text), Hint: hintOf(text), CreatedAt: now}},
	}
}

// add stores a new key and its row of the audit log, and puts it into the directory after the commit. It joins the
// transaction of ctx.
func (s *Service) add(ctx context.Context, k *APIKey, max int64) error {
	if err := s.Store.CreateAPIKey(ctx, k, max); err != nil {
		return err
	}
	s.putAfterCommit(ctx, k)
	return s.Audit.Record(ctx, audit.Entry{
		Action: audit.KeyCreated, WorkspaceID: k.WorkspaceID, Actor: k.CreatedBy, Target: k.ID,
		Details: map[string]string{"scopes": k.Scopes.String()},
	})
}

// APIKey reads one key.
func (s *Service) APIKey(ctx context.Context, p *auth.Principal, keyID string) (*Record, error) {
	k, err := s.visible(ctx, p, keyID)
	if err != nil {
		return nil, err
	}
	return s.record(ctx, k, s.now())
}

// Self is the calling key with its workspace.
type Self struct {
	*Record
	Workspace *account.Entry
}

// Self reads the calling key. It returns problem.Unauthenticated if p is not a key.
func (s *Service) Self(ctx context.Context, p *auth.Principal) (*Self, error) {
	if p.Kind != auth.APIKey {
		return nil, problem.New(problem.Unauthenticated, problem.CodeMissingCredentials, "Send an API key in the X-API-Key header.")
	}
	r, err := s.APIKey(ctx, p, p.KeyID())
	if err != nil {
		return nil, err
	}
	workspace, ok := s.Accounts.Entry(p.WorkspaceID)
	if !ok {
		return nil, fmt.Errorf("workspace %s is not in the directory", p.WorkspaceID)
	}
	return &Self{r, workspace}, nil
}

// List reads keys, newest first. It sets f's Now and binding.
func (s *Service) List(ctx context.Context, p *auth.Principal, f Filter) ([]*Record, error) {
	f.SubjectID, f.AgentID, f.Now = p.SubjectID, p.AgentID, s.now()
	list := s.Store.ListAPIKeys
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

// listByState is ListAPIKeys while revocations are pending. The database does not know the states of their keys, so this
// reads keys of all states and selects here.
func (s *Service) listByState(ctx context.Context, workspaceID string, f Filter) ([]APIKey, error) {
	var selected []APIKey
	every := f
	every.State = ""
	for {
		keys, err := s.Store.ListAPIKeys(ctx, workspaceID, every)
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			s.pending.apply(&k)
			if k.At(f.Now) == f.State {
				selected = append(selected, k)
			}
			if len(selected) == f.Limit {
				return selected, nil
			}
		}
		if len(keys) < every.Limit {
			return selected, nil
		}
		last := keys[len(keys)-1]
		every.Before = &Position{last.CreatedAt, last.ID}
		every.Limit = min(2*every.Limit, 200) // few keys can have the state
	}
}

// Change changes a key. It returns problem.Mismatch if ifRevision does not allow the stored revision, problem.Conflict if
// the key is revoked or expired too long ago, and otherwise the errors of Create. p must have all scopes that the key has
// after the change.
func (s *Service) Change(ctx context.Context, p *auth.Principal, keyID string, ifRevision revision.Expected, c Change) (*Record, error) {
	now := s.now()
	tier, err := s.tier(p.WorkspaceID)
	if err != nil {
		return nil, err
	}
	if err := c.check(p, tier, now); err != nil {
		return nil, err
	}
	entry := audit.Entry{Action: audit.KeyChanged, Details: c.details()}
	return s.update(ctx, p, keyID, ifRevision, now, entry, func(ctx context.Context, k *APIKey) error {
		own, err := s.callingKey(ctx, p, now) // as it is before the change: k can be the same key
		if err != nil {
			return err
		}
		revived, err := c.apply(k, p, own, now)
		if err != nil || !revived {
			return err
		}
		return s.checkRoom(ctx, k.WorkspaceID, tier.Keys, now)
	})
}

// checkRoom refuses to revive an expired key in a workspace that has as many keys as its tier allows.
func (s *Service) checkRoom(ctx context.Context, workspaceID string, max int64, now time.Time) error {
	if max == 0 {
		return nil
	}
	n, err := s.Store.CountAPIKeys(ctx, workspaceID, now)
	if err != nil {
		return err
	}
	if n >= max {
		return problem.LimitReached("keys", fmt.Sprintf("This workspace already has the %d API keys that its tier allows. Revoked and expired keys do not count.", max))
	}
	return nil
}

// Revoke revokes a key for good. This process refuses it from the commit on. Revoking it again changes nothing, and a key
// can revoke a key with more scopes. reason can be empty.
//
// If the database can be read but not written, for example because the disk is full, this process refuses the key at once
// and stores the revocation later (see pending.go). The record is Pending until then.
func (s *Service) Revoke(ctx context.Context, p *auth.Principal, keyID string, ifRevision revision.Expected, reason string) (*Record, error) {
	now := s.now()
	if err := checkText("reason", reason, maxReason); err != nil {
		return nil, err
	}
	r, err := s.update(ctx, p, keyID, ifRevision, now, audit.Entry{Action: audit.KeyRevoked}, func(_ context.Context, k *APIKey) error {
		if k.RevokedAt != nil {
			return errUnchanged
		}
		k.RevokedAt, k.RevokeReason = &now, reason
		return nil
	})
	if err != nil && deferrable(ctx, err) {
		return s.revokeInMemory(ctx, p, keyID, ifRevision, reason, err)
	}
	return r, err
}

// errUnchanged ends an update that changes nothing.
var errUnchanged = errors.New("nothing to change")

// update reads a key, changes it and stores it in one transaction, and puts it into the directory after the commit. entry
// is its row of the audit log, without the key and the actor.
func (s *Service) update(ctx context.Context, p *auth.Principal, keyID string, ifRevision revision.Expected, now time.Time, entry audit.Entry, change func(ctx context.Context, k *APIKey) error) (*Record, error) {
	var updated *APIKey
	var tier *limit.Tier
	err := s.Units.Run(ctx, func(ctx context.Context) error {
		k, err := s.visible(ctx, p, keyID)
		if err != nil {
			return err
		}
		if tier, err = s.tier(k.WorkspaceID); err != nil {
			return err
		}
		updated = k
		stored := k.Revision
		err = change(ctx, k)
		unchanged := errors.Is(err, errUnchanged)
		if err != nil && !unchanged {
			return err
		}
		if !ifRevision.Allows(stored) {
			return problem.RevisionMismatch()
		}
		if unchanged {
			return nil
		}
		k.UpdatedAt, k.Revision = now, stored+1
		if err := s.Store.UpdateAPIKey(ctx, k); err != nil {
			return err
		}
		s.putAfterCommit(ctx, k)
		entry.WorkspaceID, entry.Actor, entry.Target = k.WorkspaceID, p.Actor(), k.ID
		return s.Audit.Record(ctx, entry)
	})
	if err != nil {
		return nil, fmt.Errorf("change API key: %w", err)
	}
	return s.recordAfter(ctx, updated, tier, now), nil
}

// visible reads a key that p can see.
func (s *Service) visible(ctx context.Context, p *auth.Principal, keyID string) (*APIKey, error) {
	if _, ok := id.Parse(id.APIKey, keyID); !ok {
		return nil, problem.Missing()
	}
	k, err := s.Store.APIKey(ctx, p.WorkspaceID, keyID)
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

// bindingAllows reports whether a principal that is bound to a subject or agent can see a key with this one. A principal
// that is not bound sees all keys.
func bindingAllows(bound, of string) bool { return bound == "" || bound == of }

// putAfterCommit puts a copy of k into the directory after the commit, because the caller can change k.
func (s *Service) putAfterCommit(ctx context.Context, k *APIKey) {
	kept := *k
	unit.AfterCommit(ctx, func() { s.Directory.Put(&kept) })
}

func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Millisecond) }

func (s *Service) tier(workspaceID string) (*limit.Tier, error) {
	workspace, ok := s.Accounts.Entry(workspaceID)
	if !ok {
		return nil, fmt.Errorf("workspace %s is not in the directory", workspaceID)
	}
	return workspace.Tier(), nil
}
