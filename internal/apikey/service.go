package apikey

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
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
	Store     Store
	Units     unit.Runner
	Directory *Directory
	Accounts  *account.Directory
	Hasher    *Hasher
	Uses      Uses
	Audit     audit.Recorder
	Shared    *limit.Shared // nil where no other process counts
	Reserve   Reserve       // of revocations that cannot be stored
	Random    io.Reader     // of ids and key texts: crypto/rand.Reader but in tests
	Now       func() time.Time
	Log       *slog.Logger
}

// Service holds the rules of API keys (decisions.md, D). All of it is safe for concurrent use. A principal reaches the
// keys of its own workspace, and if it is bound to a subject or agent only those bound alike; every other id answers
// problem.Missing.
type Service struct {
	Options

	pending pending
	keeping sync.Mutex // orders those who keep what is pending
}

// NewService makes a Service.
func NewService(o Options) *Service { return &Service{Options: o} }

// Created is a new key with its text, which is known at this moment only.
type Created struct {
	*Record
	Text string
}

// Create makes a key for p's workspace, or for the one that d names, which only an operator may. Scopes p lacks and bounds
// wider than those of the key p is are a problem.Forbidden, an expiry that is over and a minute limit above the tier's are
// problem.Invalid, another subject or agent than p is bound to is problem.Missing, as is a workspace that does not exist,
// and a workspace that has as many keys as its tier allows is problem.LimitReached.
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
		creator, err := s.self(ctx, p)
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
	return &Created{recordOf(k, tier, now), text}, nil
}

// workspaceOf is the workspace that p makes a key for: the one named, which takes an operator, else p's own.
func workspaceOf(p *auth.Principal, named string) (string, error) {
	switch {
	case named == "":
		return p.WorkspaceID, nil
	case !p.Operator || !p.Scopes.Allows(auth.Admin):
		return "", problem.Exceeds("workspaceId", "Only an operator creates API keys for a workspace by its ID.")
	default:
		return named, nil
	}
}

// self is the key p is, as of the transaction in ctx; nil for a person and for the operator of the machine.
func (s *Service) self(ctx context.Context, p *auth.Principal) (*APIKey, error) {
	if p.Kind != auth.APIKey {
		return nil, nil
	}
	k, err := s.Store.APIKey(ctx, p.WorkspaceID, p.KeyID())
	if err != nil {
		return nil, fmt.Errorf("read the calling API key: %w", err)
	}
	return k, nil
}

// First makes the key with all scopes of a first start and gives its text. It joins the unit of work that makes the
// workspace, which no directory knows yet.
func (s *Service) First(ctx context.Context, workspaceID string) (text string, err error) {
	local := auth.Principal{Kind: auth.Local}
	text = Generate(s.Random)
	k := s.newKey(workspaceID, local.Actor(), text, Draft{Name: "first key", Scopes: auth.All}, s.now())
	err = s.Units.Run(ctx, func(ctx context.Context) error { return s.add(ctx, k, 0) })
	if err != nil {
		return "", fmt.Errorf("create API key: %w", err)
	}
	return text, nil
}

// newKey is the key that a draft describes.
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

// add writes a new key and its row of the log, and brings the directory up to date. It joins the unit of work in ctx.
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

// Self is who a key is.
type Self struct {
	*Record
	Workspace *account.Entry
}

// Self reads the key p is; whoever is none is problem.Unauthenticated.
func (s *Service) Self(ctx context.Context, p *auth.Principal) (*Self, error) {
	if p.Kind != auth.APIKey {
		return nil, problem.New(problem.Unauthenticated, problem.CodeMissingCredentials, "Send the API key to ask about in the header X-API-Key.")
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

// List reads keys, newest first. f's time and binding are set here.
func (s *Service) List(ctx context.Context, p *auth.Principal, f Filter) ([]*Record, error) {
	f.SubjectID, f.AgentID, f.Now = p.SubjectID, p.AgentID, s.now()
	keys, err := s.Store.ListAPIKeys(ctx, p.WorkspaceID, f)
	if err != nil {
		return nil, fmt.Errorf("list API keys: %w", err)
	}
	for i := range keys {
		s.pending.over(&keys[i])
	}
	return s.records(ctx, p.WorkspaceID, keys, f.Now)
}

// Change changes a key; ifRevision must allow the stored revision, else problem.Mismatch. A key that is revoked
// or has expired too long ago is problem.Conflict; the rest is as with Create. The scopes p must have are those the key
// has afterwards, also where the change does not touch them.
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
		own, err := s.self(ctx, p) // as it is before the change, also where k is the same key
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

// checkRoom refuses a key that comes back from expiry to a workspace that is full.
func (s *Service) checkRoom(ctx context.Context, workspaceID string, max int64, now time.Time) error {
	if max == 0 {
		return nil
	}
	n, err := s.Store.CountAPIKeys(ctx, workspaceID, now)
	if err != nil {
		return err
	}
	if n >= max {
		return problem.LimitReached("keys", fmt.Sprintf("This workspace's tier allows %d API keys that are neither revoked nor expired.", max))
	}
	return nil
}

// Revoke ends a key for good; from its commit on this process refuses it. Revoking again changes nothing, and a key may
// revoke a mightier one. reason may be empty.
//
// Where the store can be read and takes no writes, as on a full disk, this process refuses the key at once and stores that
// later; the record is Pending until then. Other processes hear of it when it is stored.
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
		return s.revokeHere(ctx, p, keyID, ifRevision, reason, err)
	}
	return r, err
}

// errUnchanged ends an update that has nothing to write.
var errUnchanged = errors.New("nothing to change")

// update reads a key, changes it and writes it in one unit of work, then brings the directory up to date. entry is what
// the audit log is told of it, but for whose key it is and who did it.
func (s *Service) update(ctx context.Context, p *auth.Principal, keyID string, ifRevision revision.Expected, now time.Time, entry audit.Entry, change func(ctx context.Context, k *APIKey) error) (*Record, error) {
	var updated *APIKey
	err := s.Units.Run(ctx, func(ctx context.Context) error {
		k, err := s.visible(ctx, p, keyID)
		if err != nil {
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
	return s.record(ctx, updated, now)
}

// visible reads a key that p may see.
func (s *Service) visible(ctx context.Context, p *auth.Principal, keyID string) (*APIKey, error) {
	if _, ok := id.Parse(id.APIKey, keyID); !ok {
		return nil, problem.Missing()
	}
	k, err := s.Store.APIKey(ctx, p.WorkspaceID, keyID)
	if err != nil {
		return nil, fmt.Errorf("read API key %s: %w", keyID, err)
	}
	if !reaches(p, k) {
		return nil, problem.Missing()
	}
	s.pending.over(k)
	return k, nil
}

// reaches reports whether a principal that may be bound reaches a key of its workspace.
func reaches(p *auth.Principal, k *APIKey) bool {
	return alike(p.SubjectID, k.SubjectID) && alike(p.AgentID, k.AgentID)
}

// alike reports whether a principal bound to bound may reach a key bound to of; whoever is not bound reaches all.
func alike(bound, of string) bool { return bound == "" || bound == of }

// putAfterCommit brings the directory up to date. A copy, because the caller goes on with k.
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
