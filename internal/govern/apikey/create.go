package apikey

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"time"

	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/event"
	"keepsake/internal/govern/limit"
)

// Draft is what the creator of a key chooses.
type Draft struct {
	Name              string
	Scopes            auth.Scopes
	ExpiresAt         *time.Time // nil: the calling key's, else never
	RequestsPerMinute *int64     // the HTTP layer checks that it is at least 1; nil: the calling key's, else the tier's
	Quota             Quota
	SubjectID         string // empty: the creator's, if it is bound
	AgentID           string
	AllowedIPs        []netip.Prefix // nil: the calling key's
	Metadata          map[string]any
	WorkspaceID       string // empty: the creator's; only an admin of the operator workspace can choose another
}

// Quota is a key's own limit per UTC day and month; nil is none. The HTTP layer checks that each is at least 1.
type Quota struct{ Daily, Monthly *int64 }

// Created is a new or rotated key with its text, which cannot be read again.
type Created struct {
	*Record
	Text string
}

// Create creates a key in p's workspace, or in the one that d names. It returns
//   - problem.ScopeMissing for scopes that p does not have,
//   - problem.Exceeds for bounds wider than those of p's own key, and for another workspace if p cannot choose one,
//   - problem.Validation for an expiry in the past and a minute limit above the tier's,
//   - problem.Missing for another subject or agent than p is bound to, and for a workspace that does not exist,
//   - problem.LimitReached if the workspace has as many keys as its tier allows.
func (s *Service) Create(ctx context.Context, p *auth.Principal, d Draft) (*Created, error) {
	now := s.stamp()
	workspaceID, err := workspaceOf(p, d.WorkspaceID)
	if err != nil {
		return nil, err
	}
	workspace, ok := s.o.Accounts.Entry(workspaceID)
	if !ok {
		return nil, problem.Missing()
	}
	tier := workspace.Tier()
	d.bindLike(p)
	if err := d.check(p, tier, now); err != nil {
		return nil, err
	}
	text := Generate(s.o.Random)
	k := s.newKey(workspaceID, p.Actor(), text, d, now)
	err = s.o.Units.Run(ctx, func(ctx context.Context) error {
		caller, err := s.callerKey(ctx, p, now)
		if err != nil {
			return err
		}
		if caller != nil {
			inherit(k, d, caller, tier)
			if err := checkBounds(caller, k); err != nil {
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

// CreateFirst creates the key with all scopes of a first start and returns its text. It joins the transaction that creates
// the workspace.
func (s *Service) CreateFirst(ctx context.Context, workspaceID string) (text string, err error) {
	local := auth.Principal{Kind: auth.Local}
	text = Generate(s.o.Random)
	k := s.newKey(workspaceID, local.Actor(), text, Draft{Name: "first key", Scopes: auth.All}, s.stamp())
	err = s.o.Units.Run(ctx, func(ctx context.Context) error { return s.add(ctx, k, nil) })
	if err != nil {
		return "", fmt.Errorf("create API key: %w", err)
	}
	return text, nil
}

// workspaceOf returns the ID of the workspace in which p creates a key: the named one, which only an admin of the operator
// workspace can name, or its own.
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

// bindLike binds the key to p's subject and agent, unless the draft names others.
func (d *Draft) bindLike(p *auth.Principal) {
	d.SubjectID = cmp.Or(d.SubjectID, p.SubjectID)
	d.AgentID = cmp.Or(d.AgentID, p.AgentID)
}

// check validates d for its creator and the workspace's tier.
func (d *Draft) check(p *auth.Principal, tier *limit.Tier, now time.Time) error {
	if err := checkNewScopes(p, d.Scopes); err != nil {
		return err
	}
	if err := checkName(d.Name); err != nil {
		return err
	}
	if err := checkExpiry(d.ExpiresAt, now); err != nil {
		return err
	}
	if err := checkRateLimit(d.RequestsPerMinute, tier); err != nil {
		return err
	}
	if err := checkMetadata(d.Metadata); err != nil {
		return err
	}
	if !bindingAllows(p.SubjectID, d.SubjectID) || !bindingAllows(p.AgentID, d.AgentID) {
		return problem.Missing()
	}
	return nil
}

// newKey returns the key that d describes.
func (s *Service) newKey(workspaceID, createdBy, text string, d Draft, now time.Time) *APIKey {
	return &APIKey{
		ID: id.At(id.APIKey, s.o.Now(), s.o.Random), WorkspaceID: workspaceID,
		Name: d.Name, Scopes: d.Scopes, ExpiresAt: d.ExpiresAt,
		RequestsPerMinute: d.RequestsPerMinute, Daily: d.Quota.Daily, Monthly: d.Quota.Monthly,
		SubjectID: d.SubjectID, AgentID: d.AgentID,
		AllowedIPs: canonical(d.AllowedIPs), Metadata: d.Metadata,
		CreatedAt: now, CreatedBy: createdBy, UpdatedAt: now, Revision: 1,
		Secrets: []Secret{{Hash: s.o.Hasher.Hash(text), Hint: hintOf(text), CreatedAt: now}},
	}
}

// inherit gives k, which the key caller creates, the caller's bounds for those that the draft leaves out. It takes the
// tier's minute limit if the caller's is higher, because the tier was lowered or k belongs to another workspace.
func inherit(k *APIKey, d Draft, caller *APIKey, tier *limit.Tier) {
	k.ExpiresAt = firstNonNil(d.ExpiresAt, caller.ExpiresAt)
	k.RequestsPerMinute = firstNonNil(d.RequestsPerMinute, atMost(caller.RequestsPerMinute, tier.RequestsPerMinute))
	k.Daily = firstNonNil(d.Quota.Daily, caller.Daily)
	k.Monthly = firstNonNil(d.Quota.Monthly, caller.Monthly)
	if d.AllowedIPs == nil {
		k.AllowedIPs = caller.AllowedIPs
	}
}

func firstNonNil[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

func atMost(n *int64, ceiling int64) *int64 {
	if n == nil || *n <= ceiling {
		return n
	}
	return &ceiling
}

// add stores a new key and its row of the audit log, and puts it into the directory after the commit. It joins the
// transaction of ctx.
func (s *Service) add(ctx context.Context, k *APIKey, maxKeys *int64) error {
	if err := s.o.Store.CreateAPIKey(ctx, k, maxKeys); err != nil {
		return err
	}
	s.putAfterCommit(ctx, k)
	details := k.limitTexts()
	maps.DeleteFunc(details, func(_, limit string) bool { return limit == noLimit })
	details["scopes"] = k.Scopes.String()
	err := s.o.Audit.Record(ctx, audit.Entry{
		Action: audit.KeyCreated, WorkspaceID: k.WorkspaceID, Actor: k.CreatedBy, Target: k.ID, Details: details,
	})
	if err != nil {
		return err
	}
	if err := s.recordEvent(ctx, event.APIKeyCreated, k, k.CreatedBy); err != nil {
		return err
	}
	return s.recordExpiring(ctx, k)
}
