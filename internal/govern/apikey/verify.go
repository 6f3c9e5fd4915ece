package apikey

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/auth"
)

// VerifyRequest is what a service asks about a key that one of its clients sent to it.
type VerifyRequest struct {
	Text    string
	Scopes  auth.Scopes // that the key must have
	Cost    int64       // the HTTP layer checks that it is at least 1
	Consume bool        // charge the cost to the key and its workspace if the answer is Valid
	From    netip.Addr  // the address of the client; the zero Addr if it is not known
}

// Code is the result of a verification.
type Code string

// The codes (docs/spec/apikeys.md), in order of precedence.
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

// codes are the codes of the problems of a key that exists and cannot be used.
var codes = map[string]Code{
	problem.CodeAPIKeyRevoked:  KeyRevoked,
	problem.CodeAPIKeyDisabled: KeyDisabled,
	problem.CodeAPIKeyExpired:  KeyExpired,
}

// Verification is the answer to a VerifyRequest.
type Verification struct {
	Code      Code
	Key       *Record  // nil if Invalid
	Remaining *Budgets // of the key's and its workspace's limits the one with less left; nil if the key cannot be used at all
}

// Charger charges the caller of Verify one request. Charge is idempotent; it returns a *problem.Problem if the caller's
// limit is used up. Refund undoes Charge, and does nothing if nothing was charged.
type Charger interface {
	Charge() error
	Refund()
}

// Verify decides whether a key could make a request. Keys that p cannot see are Invalid, like texts of no key. A holder of the
// backend secret sees the keys of all workspaces. An Invalid answer costs the caller one request, so that guessing keys is not
// free; all other answers are free. Only a Valid answer with q.Consume is charged to the key, and counts as a use of its
// secret. A key with allowed addresses cannot be used from an unknown address.
func (s *Service) Verify(ctx context.Context, p *auth.Principal, charger Charger, q VerifyRequest) (*Verification, error) {
	v, err := s.verify(ctx, p, charger, q)
	if err != nil {
		return nil, err
	}
	if v.Code != Invalid {
		charger.Refund() // of the charge for a read of the database
		return v, nil
	}
	if err := charger.Charge(); err != nil {
		return nil, err
	}
	return v, nil
}

// verify is Verify without the charge for an Invalid answer. It charges the caller before it reads the database for a key
// that is not in memory, so a caller whose limit is used up cannot cause reads.
func (s *Service) verify(ctx context.Context, p *auth.Principal, charger Charger, q VerifyRequest) (*Verification, error) {
	now := s.o.Now()
	live, err := s.o.Directory.Lookup(q.Text, now)
	if errors.Is(err, ErrNotInMemory) {
		if err := charger.Charge(); err != nil {
			return nil, err
		}
		live, err = s.o.Directory.LookupStored(ctx, q.Text, now)
	}
	if refused, ok := problem.As(err); ok && refused.Kind == problem.Unauthenticated {
		return s.verifyRefused(ctx, p, q.Text, codes[refused.Code])
	}
	if err != nil {
		return nil, fmt.Errorf("verify an API key: %w", err)
	}
	if !seesWorkspace(p, live.Principal.WorkspaceID) {
		return &Verification{Code: Invalid}, nil
	}
	k, err := s.visibleIn(ctx, p, live.Principal.WorkspaceID, live.Principal.KeyID())
	if isMissing(err) {
		return &Verification{Code: Invalid}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("verify an API key: %w", err)
	}
	v := &Verification{Key: s.recordOf(k, live.Workspace.Tier(), now)}
	j := live.Judge(s.o.Limiter, q, now)
	if j.Charged {
		live.recorder.Charge(live.Usage, j.Receipt.At(), q.Cost)
		live.Touch(now)
	}
	v.Code = j.Code // before Remaining, which shows what was charged
	v.Remaining = s.remaining(now, &live)
	return v, nil
}

// seesWorkspace reports whether p can verify keys of a workspace.
func seesWorkspace(p *auth.Principal, workspaceID string) bool {
	return p.Kind == auth.Backend || p.WorkspaceID == workspaceID
}

// verifyRefused answers for a key that cannot be used. code is empty for a text of no key.
func (s *Service) verifyRefused(ctx context.Context, p *auth.Principal, text string, code Code) (*Verification, error) {
	if code == "" {
		return &Verification{Code: Invalid}, nil
	}
	k, err := s.o.Store.APIKeyBySecret(ctx, s.o.Hasher.Hash(text))
	if isMissing(err) {
		return &Verification{Code: Invalid}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("verify an API key: %w", err)
	}
	if !seesWorkspace(p, k.WorkspaceID) || !visibleTo(p, k) {
		return &Verification{Code: Invalid}, nil
	}
	tier, err := s.tier(k.WorkspaceID)
	if err != nil {
		return nil, err
	}
	s.pending.apply(k)
	return &Verification{Code: code, Key: s.recordOf(k, tier, s.stamp())}, nil
}

// remaining returns of each limit the one with less left, the key's or its workspace's.
func (s *Service) remaining(now time.Time, l *LiveKey) *Budgets {
	ofKey := s.budgetsOf(now, l.Account)
	ofWorkspace := s.budgetsOf(now, l.Workspace.Account())
	return &Budgets{
		Minute:  *tighter(&ofKey.Minute, &ofWorkspace.Minute),
		Daily:   tighter(ofKey.Daily, ofWorkspace.Daily),
		Monthly: tighter(ofKey.Monthly, ofWorkspace.Monthly),
	}
}

// tighter returns the budget with less left, or of two equal ones the one that resets later, like the headers of an answer.
// A budget that does not exist is nil.
func tighter(ofKey, ofWorkspace *Budget) *Budget {
	switch {
	case ofKey == nil:
		return ofWorkspace
	case ofWorkspace == nil:
		return ofKey
	case ofWorkspace.Remaining != ofKey.Remaining:
		if ofWorkspace.Remaining < ofKey.Remaining {
			return ofWorkspace
		}
		return ofKey
	case ofWorkspace.ResetsAt.After(ofKey.ResetsAt):
		return ofWorkspace
	default:
		return ofKey
	}
}
