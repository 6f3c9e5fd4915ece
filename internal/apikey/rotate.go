package apikey

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"keepsake/internal/audit"
	"keepsake/internal/auth"
	"keepsake/internal/problem"
	"keepsake/internal/revision"
)

// Rotation says how to rotate a key.
type Rotation struct {
	Grace time.Duration // how long the current secret continues to work; 0: not at all
	Force bool          // if the key is already being rotated, end its older secret first
}

// The grace of a rotation (decisions.md, D).
const (
	DefaultGrace = 24 * time.Hour
	MaxGrace     = 30 * 24 * time.Hour
)

// Rotate gives a key a new secret. Its ID and its counters stay, and the current secret continues to work for the grace
// period. A key that is not active is a problem.Conflict, and so is one that is already being rotated, unless r.Force is
// set. Because p learns the new secret, scopes that p does not have and bounds wider than its own are a
// problem.Forbidden.
//
// The secret is generated before the transaction, which can run more than once.
func (s *Service) Rotate(ctx context.Context, p *auth.Principal, keyID string, ifRevision revision.Expected, r Rotation) (*Created, error) {
	now, text := s.now(), Generate(s.Random)
	entry := audit.Entry{Action: audit.KeyRotated, Details: map[string]string{
		"graceSeconds": strconv.FormatInt(int64(r.Grace/time.Second), 10), "force": strconv.FormatBool(r.Force),
	}}
	k, err := s.update(ctx, p, keyID, ifRevision, now, entry, func(ctx context.Context, k *APIKey) error {
		if err := s.checkNotWider(ctx, p, k, now); err != nil {
			return err
		}
		return r.apply(k, Secret{Hash: s.Hasher.Hash(text), Hint: hintOf(text), CreatedAt: now}, now)
	})
	if err != nil {
		return nil, err
	}
	return &Created{k, text}, nil
}

// apply makes next the key's newest secret, or returns why the key cannot be rotated.
func (r Rotation) apply(k *APIKey, next Secret, now time.Time) error {
	switch state := k.At(now); {
	case state == Rotating && !r.Force:
		return problem.New(problem.Conflict, problem.CodeRotationInProgress,
			"This API key is already being rotated. Complete that rotation first, or set force, which ends the older secret.")
	case state != Rotating && state != Active:
		return problem.Conflicts(fmt.Sprintf("This API key is %s, so it cannot be rotated.", state))
	}
	current := k.Secrets[0] // an older one ends here
	k.Secrets = []Secret{next}
	if r.Grace > 0 {
		until := now.Add(r.Grace)
		current.ValidUntil = &until
		k.Secrets = append(k.Secrets, current)
	}
	return nil
}

// CompleteRotation ends the older of two secrets now; it changes nothing if there is only one. A revoked key is a
// problem.Conflict. Scopes and bounds are checked as by Rotate.
func (s *Service) CompleteRotation(ctx context.Context, p *auth.Principal, keyID string, ifRevision revision.Expected) (*Record, error) {
	now := s.now()
	entry := audit.Entry{Action: audit.KeyRotationCompleted}
	return s.update(ctx, p, keyID, ifRevision, now, entry, func(ctx context.Context, k *APIKey) error {
		if err := s.checkNotWider(ctx, p, k, now); err != nil {
			return err
		}
		if k.RevokedAt != nil {
			return problem.Conflicts("This API key is revoked, so it cannot be changed.")
		}
		if k.liveSecrets(now) < 2 {
			return errUnchanged
		}
		k.Secrets = k.Secrets[:1]
		return nil
	})
}

// checkNotWider refuses a key with scopes that p does not have, or with wider bounds than p's own key.
func (s *Service) checkNotWider(ctx context.Context, p *auth.Principal, k *APIKey, now time.Time) error {
	own, err := s.callingKey(ctx, p, now)
	if err != nil {
		return err
	}
	if err := checkSubset(p, k.Scopes); err != nil {
		return err
	}
	return checkWithin(own, k)
}
