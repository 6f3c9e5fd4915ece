package apikey

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/revision"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
)

// Rotation says how to rotate a key.
type Rotation struct {
	Grace time.Duration // how long the current secret continues to work; 0: not at all
	Force bool          // if the key is already being rotated, end its older secret first
}

// The grace of a rotation (docs/spec/apikeys.md). The HTTP layer applies both.
const (
	DefaultGrace = 24 * time.Hour
	MaxGrace     = 30 * 24 * time.Hour
)

// Rotate gives a key a new secret. Its ID and its counters stay, and the current secret continues to work for the grace
// period. It returns problem.Conflicts if the key is not active, and a problem with CodeRotationInProgress if it is already
// being rotated and r.Force is not set. Because p learns the new text, scopes that p does not have are
// problem.ScopeMissing, and bounds wider than those of p's own key are problem.Exceeds.
func (s *Service) Rotate(ctx context.Context, p *auth.Principal, keyID string, ifRevision revision.Expected, r Rotation) (*Created, error) {
	now, text := s.stamp(), Generate(s.o.Random) // the transaction can run more than once, with the same text
	entry := audit.Entry{Action: audit.KeyRotated, Details: map[string]string{
		"graceSeconds": strconv.FormatInt(int64(r.Grace/time.Second), 10), "force": strconv.FormatBool(r.Force),
	}}
	k, err := s.update(ctx, p, keyID, ifRevision, now, entry, func(ctx context.Context, k *APIKey) (bool, error) {
		if err := s.checkScopesAndBounds(ctx, p, k, now); err != nil {
			return false, err
		}
		return true, r.apply(k, Secret{Hash: s.o.Hasher.Hash(text), Hint: hintOf(text), CreatedAt: now}, now)
	})
	if err != nil {
		return nil, err
	}
	return &Created{k, text}, nil
}

// apply makes next the key's newest secret, or returns why the key cannot be rotated.
func (r Rotation) apply(k *APIKey, next Secret, now time.Time) error {
	switch state := k.StateAt(now); {
	case state == Rotating && !r.Force:
		return problem.New(problem.Conflict, problem.CodeRotationInProgress,
			"This API key is already being rotated. Complete that rotation first, or set force, which ends the older secret.")
	case state != Rotating && state != Active:
		return problem.Conflicts(fmt.Sprintf("This API key is %s, so it cannot be rotated.", state))
	}
	current := k.Secrets[0]
	k.Secrets = []Secret{next} // a secret older than the current one ends, because it is left out
	if r.Grace > 0 {
		until := now.Add(r.Grace)
		current.ValidUntil = &until
		k.Secrets = append(k.Secrets, current)
	}
	return nil
}

// CompleteRotation ends the older of two secrets now; it changes nothing if there is only one. It returns problem.Conflicts
// for a revoked key, and for scopes and bounds the errors of Rotate.
func (s *Service) CompleteRotation(ctx context.Context, p *auth.Principal, keyID string, ifRevision revision.Expected) (*Record, error) {
	now := s.stamp()
	entry := audit.Entry{Action: audit.KeyRotationCompleted}
	return s.update(ctx, p, keyID, ifRevision, now, entry, func(ctx context.Context, k *APIKey) (bool, error) {
		if err := s.checkScopesAndBounds(ctx, p, k, now); err != nil {
			return false, err
		}
		if k.RevokedAt != nil {
			return false, problem.Conflicts("This API key is revoked, so it cannot be changed.")
		}
		if len(k.liveSecrets(now)) < 2 {
			return false, nil
		}
		k.Secrets = k.Secrets[:1]
		return true, nil
	})
}
