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

// Rotation is how a key gets a new secret.
type Rotation struct {
	Grace time.Duration // for how long the secret used until now still works; 0: not at all
	Force bool          // where a rotation is under way, end its older secret first
}

// The grace of a rotation (decisions.md, D).
const (
	DefaultGrace = 24 * time.Hour
	MaxGrace     = 30 * 24 * time.Hour
)

// Rotate gives a key a new secret under the same id and the same budgets; the one used until now works for the grace
// besides. Scopes of the key that p lacks, and bounds wider than those of the key p is, are a problem.Forbidden,
// because p gets to hold the key. A key that is not live
// is a problem.Conflict: it would stay unusable, and none becomes usable by this. A rotation under way is
// rotation_in_progress unless it is forced.
//
// The text is made here and not in the unit of work, so that a unit that runs again writes the same secret.
func (s *Service) Rotate(ctx context.Context, p *auth.Principal, keyID string, ifRevision revision.Expected, r Rotation) (*Created, error) {
	now, text := s.now(), Generate(s.Random)
	entry := audit.Entry{Action: audit.KeyRotated, Details: map[string]string{
		"graceSeconds": strconv.FormatInt(int64(r.Grace/time.Second), 10), "force": strconv.FormatBool(r.Force),
	}}
	k, err := s.update(ctx, p, keyID, ifRevision, now, entry, func(ctx context.Context, k *APIKey) error {
		if err := s.checkReach(ctx, p, k); err != nil {
			return err
		}
		return r.apply(k, Secret{Hash: s.Hasher.Hash(text), Hint: hintOf(text), CreatedAt: now}, now)
	})
	if err != nil {
		return nil, err
	}
	return &Created{k, text}, nil
}

// apply makes next the key's newest secret, or says what about the key forbids it.
func (r Rotation) apply(k *APIKey, next Secret, now time.Time) error {
	switch state := k.At(now); {
	case state == Rotating && !r.Force:
		return problem.New(problem.Conflict, problem.CodeRotationInProgress,
			"This API key is being rotated: complete that first, or force this one, which ends the older secret.")
	case state != Rotating && state != Active:
		return problem.Conflicts(fmt.Sprintf("This API key is %s, so it cannot be rotated.", state))
	}
	// The newest is the one in use; an older one ends here, whether its grace is over or is cut short.
	used := k.Secrets[0]
	k.Secrets = []Secret{next}
	if r.Grace > 0 {
		until := now.Add(r.Grace)
		used.ValidUntil = &until
		k.Secrets = append(k.Secrets, used)
	}
	return nil
}

// CompleteRotation ends the older of two secrets now. Where there is none any more, it changes nothing. A revoked key is a
// problem.Conflict; scopes and bounds are as with Rotate.
func (s *Service) CompleteRotation(ctx context.Context, p *auth.Principal, keyID string, ifRevision revision.Expected) (*Record, error) {
	now := s.now()
	entry := audit.Entry{Action: audit.KeyRotationCompleted}
	return s.update(ctx, p, keyID, ifRevision, now, entry, func(ctx context.Context, k *APIKey) error {
		if err := s.checkReach(ctx, p, k); err != nil {
			return err
		}
		if k.RevokedAt != nil {
			return problem.Conflicts("This API key is revoked, which is final.")
		}
		if k.liveSecrets(now) < 2 {
			return errUnchanged
		}
		k.Secrets = k.Secrets[:1]
		return nil
	})
}

// checkReach refuses a key with scopes that p lacks, or with wider bounds than the key p is.
func (s *Service) checkReach(ctx context.Context, p *auth.Principal, k *APIKey) error {
	if err := checkSubset(p, k.Scopes); err != nil {
		return err
	}
	own, err := s.self(ctx, p)
	if err != nil {
		return err
	}
	return checkWithin(own, k)
}
