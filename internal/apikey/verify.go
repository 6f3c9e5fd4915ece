package apikey

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"keepsake/internal/auth"
	"keepsake/internal/limit"
	"keepsake/internal/problem"
)

// Inquiry is what a service asks of a key that somebody sent to it.
type Inquiry struct {
	Text    string
	Scopes  auth.Scopes // it must have
	Cost    int64       // at least 1
	Consume bool        // the key and its workspace pay the cost if the answer is Valid
	From    netip.Addr  // where it came from; the zero Addr when that is not known
}

// Code is the answer to an Inquiry.
type Code string

// The codes (decisions.md, D), in the order in which they are decided.
const (
	Invalid           Code = "INVALID"
	KeyRevoked        Code = "REVOKED"
	KeyDisabled       Code = "DISABLED"
	KeyExpired        Code = "EXPIRED"
	InsufficientScope Code = "INSUFFICIENT_SCOPE"
	IPNotAllowed      Code = "IP_NOT_ALLOWED"
	RateLimited       Code = "RATE_LIMITED"
	QuotaExceeded     Code = "QUOTA_EXCEEDED"
	Valid             Code = "VALID"
)

var codes = map[string]Code{
	problem.CodeAPIKeyRevoked:  KeyRevoked,
	problem.CodeAPIKeyDisabled: KeyDisabled,
	problem.CodeAPIKeyExpired:  KeyExpired,
}

// Verification is what is told of a key.
type Verification struct {
	Code Code
	Key  *Record // nil when Invalid
	Left *Left   // nil for a key that may not be used at all
}

// Left is what a key may still use, its own and its workspace's budgets together: of each kind the one with the least.
type Left struct{ Minute, Daily, Monthly Budget }

// Charger charges the caller of Verify. Charge answers a *problem.Problem where its budget is spent, and charges once
// however often it is called; Refund takes that back.
type Charger interface {
	Charge() error
	Refund()
}

// Verify judges a key as if it had called. Only keys that p may see are known; all others are Invalid, as texts that are
// no key's, and cost the caller one, so that nobody can guess keys at no cost. A key with allowed addresses may not be used
// from an address nobody tells.
//
// Any other answer costs the caller nothing, and a refusal costs the key nothing. A use that is paid for counts as a use of
// the secret, too.
func (s *Service) Verify(ctx context.Context, p *auth.Principal, caller Charger, q Inquiry) (*Verification, error) {
	v, err := s.verify(ctx, p, caller, q)
	if err != nil {
		return nil, err
	}
	if v.Code != Invalid {
		caller.Refund()
		return v, nil
	}
	if err := caller.Charge(); err != nil {
		return nil, err
	}
	return v, nil
}

func (s *Service) verify(ctx context.Context, p *auth.Principal, caller Charger, q Inquiry) (*Verification, error) {
	at := s.Now()
	live, err := s.Directory.Lookup(q.Text, at)
	if errors.Is(err, ErrNotInMemory) {
		if err := caller.Charge(); err != nil { // before the store is asked
			return nil, err
		}
		live, err = s.Directory.LookupStored(ctx, q.Text, at)
	}
	if refused, ok := problem.As(err); ok && refused.Kind == problem.Unauthenticated {
		return s.verifyRefused(ctx, p, q.Text, codes[refused.Code])
	}
	if err != nil {
		return nil, fmt.Errorf("verify an API key: %w", err)
	}
	if live.Principal.WorkspaceID != p.WorkspaceID {
		return &Verification{Code: Invalid}, nil
	}
	k, err := orNone(s.visible(ctx, p, live.Principal.KeyID()))
	if k == nil {
		return &Verification{Code: Invalid}, err
	}
	v := &Verification{Key: recordOf(k, live.Workspace.Tier(), at)}
	v.Code = s.judge(&live, q, at)
	v.Left = s.leftOf(at, &live)
	return v, nil
}

// judge answers q for a key that is live, and takes the cost.
func (s *Service) judge(l *LiveKey, q Inquiry, at time.Time) Code {
	switch {
	case !l.Principal.Scopes.Allows(q.Scopes):
		return InsufficientScope
	case !l.AllowedFrom(q.From):
		return IPNotAllowed
	}
	verdict := s.Shared.PeekFor(at, q.Cost, l.Workspace.Account(), l.Key, l)
	if q.Consume {
		var receipt limit.Receipt
		if verdict, receipt = s.Shared.Charge(at, q.Cost, l.Workspace.Account(), l.Key, l); verdict.Allowed {
			l.recorder.Charge(l.Usage, receipt.At(), q.Cost)
			l.Touch(at)
		}
	}
	switch {
	case verdict.Allowed:
		return Valid
	case verdict.Policy == limit.DailyQuota, verdict.Policy == limit.MonthlyQuota:
		return QuotaExceeded
	default:
		return RateLimited
	}
}

// verifyRefused tells of a key that is not live. code is empty for a secret that is no key's, or no longer.
func (s *Service) verifyRefused(ctx context.Context, p *auth.Principal, text string, code Code) (*Verification, error) {
	unknown := &Verification{Code: Invalid}
	if code == "" {
		return unknown, nil
	}
	k, err := orNone(s.Store.APIKeyBySecret(ctx, s.Hasher.Hash(text)))
	if k == nil || k.WorkspaceID != p.WorkspaceID || !reaches(p, k) {
		return unknown, err
	}
	tier, err := s.tier(k.WorkspaceID)
	if err != nil {
		return nil, err
	}
	return &Verification{Code: code, Key: recordOf(k, tier, s.now())}, nil
}

// orNone makes a key that is not there nil.
func orNone(k *APIKey, err error) (*APIKey, error) {
	if p, ok := problem.As(err); ok && p.Kind == problem.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the API key to verify: %w", err)
	}
	return k, nil
}

func (s *Service) leftOf(at time.Time, l *LiveKey) *Left {
	own := s.budgetsOf(at, l.Key, keyAlone{l.Principal.WorkspaceID, l.Principal.KeyID()})
	shared := s.budgetsOf(at, l.Workspace.Account(), l.Workspace)
	return &Left{
		Minute:  tighter(&own.Minute, &shared.Minute),
		Daily:   tighter(own.Daily, shared.Daily),
		Monthly: tighter(own.Monthly, shared.Monthly),
	}
}

// tighter is the budget with less left; of two alike the one that ends later, as on the headers of a call. A key may have
// none of its own, a workspace always has.
func tighter(own, shared *Budget) Budget {
	if own == nil || shared.Remaining < own.Remaining || shared.Remaining == own.Remaining && shared.ResetsAt.After(own.ResetsAt) {
		return *shared
	}
	return *own
}
