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

// VerifyRequest is what a service asks about a key that one of its clients sent to it.
type VerifyRequest struct {
	Text    string
	Scopes  auth.Scopes // that the key must have
	Cost    int64       // at least 1
	Consume bool        // charge the cost to the key and its workspace if the answer is Valid
	From    netip.Addr  // the address of the client; the zero Addr if it is not known
}

// Code is the result of a verification.
type Code string

// The codes (decisions.md, D), in order of precedence.
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

// Verification is the answer to a VerifyRequest.
type Verification struct {
	Code      Code
	Key       *Record    // nil if Invalid
	Remaining *Remaining // nil if the key cannot be used at all
}

// Remaining is what a key can still use: of its own and its workspace's limits the one with less left.
type Remaining struct{ Minute, Daily, Monthly Budget }

// Charger charges the caller of Verify one request. Charge returns a *problem.Problem if the caller's limit is used up, and
// charges only once; Refund undoes that.
type Charger interface {
	Charge() error
	Refund()
}

// Verify decides whether a key could make a request. Keys that p cannot see are Invalid, like texts that are no keys. An
// Invalid answer costs the caller one request, so that guessing keys is not free; all other answers are free. Only a Valid
// answer with q.Consume is charged to the key, and counts as a use of its secret. A key with allowed addresses cannot be
// used from an unknown address.
func (s *Service) Verify(ctx context.Context, p *auth.Principal, caller Charger, q VerifyRequest) (*Verification, error) {
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

func (s *Service) verify(ctx context.Context, p *auth.Principal, caller Charger, q VerifyRequest) (*Verification, error) {
	at := s.Now()
	live, err := s.Directory.Lookup(q.Text, at)
	if errors.Is(err, ErrNotInMemory) {
		if err := caller.Charge(); err != nil { // before the database is read
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
	k, err := orNil(s.visible(ctx, p, live.Principal.KeyID()))
	if k == nil {
		return &Verification{Code: Invalid}, err
	}
	v := &Verification{Key: s.recordOf(k, live.Workspace.Tier(), at)}
	v.Code = s.charge(&live, q, at)
	v.Remaining = s.remaining(at, &live)
	return v, nil
}

// charge decides q for a key that can be used, and charges the cost.
func (s *Service) charge(l *LiveKey, q VerifyRequest, at time.Time) Code {
	switch {
	case !l.Principal.Scopes.Allows(q.Scopes):
		return InsufficientScope
	case !l.AllowedFrom(q.From):
		return IPNotAllowed
	}
	verdict := s.Limiter.Peek(at, q.Cost, l.Workspace.Account(), l.Key)
	if q.Consume {
		var receipt limit.Receipt
		if verdict, receipt = s.Limiter.Charge(at, q.Cost, l.Workspace.Account(), l.Key); verdict.Allowed {
			l.recorder.Charge(l.Usage, receipt.At(), q.Cost)
			l.Touch(at)
		}
	}
	switch {
	case verdict.Allowed:
		return Valid
	case verdict.Policy == limit.PolicyDailyQuota, verdict.Policy == limit.PolicyMonthlyQuota:
		return QuotaExceeded
	default:
		return RateLimited
	}
}

// verifyRefused answers for a key that cannot be used. code is empty for a secret that no key has.
func (s *Service) verifyRefused(ctx context.Context, p *auth.Principal, text string, code Code) (*Verification, error) {
	unknown := &Verification{Code: Invalid}
	if code == "" {
		return unknown, nil
	}
	k, err := orNil(s.Store.APIKeyBySecret(ctx, s.Hasher.Hash(text)))
	if k == nil || k.WorkspaceID != p.WorkspaceID || !visibleTo(p, k) {
		return unknown, err
	}
	s.pending.apply(k)
	tier, err := s.tier(k.WorkspaceID)
	if err != nil {
		return nil, err
	}
	return &Verification{Code: code, Key: s.recordOf(k, tier, s.now())}, nil
}

// orNil returns nil for a key that does not exist.
func orNil(k *APIKey, err error) (*APIKey, error) {
	if p, ok := problem.As(err); ok && p.Kind == problem.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the API key to verify: %w", err)
	}
	return k, nil
}

func (s *Service) remaining(at time.Time, l *LiveKey) *Remaining {
	own := s.budgetsOf(at, l.Key)
	shared := s.budgetsOf(at, l.Workspace.Account())
	return &Remaining{
		Minute:  tighter(&own.Minute, &shared.Minute),
		Daily:   tighter(own.Daily, shared.Daily),
		Monthly: tighter(own.Monthly, shared.Monthly),
	}
}

// tighter returns the budget with less left, or of two equal ones the one that resets later, like the headers of an answer.
// own is nil if the key has none.
func tighter(own, shared *Budget) Budget {
	if own == nil || shared.Remaining < own.Remaining || shared.Remaining == own.Remaining && shared.ResetsAt.After(own.ResetsAt) {
		return *shared
	}
	return *own
}
