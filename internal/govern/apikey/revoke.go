package apikey

import (
	"context"

	"keepsake/internal/base/revision"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
)

// Revoke revokes a key for good. This process refuses it from the commit on. Revoking it again changes nothing, and a key
// can revoke a key with more scopes. reason can be empty.
//
// If the database can be read but not written, for example because the disk is full, this process refuses the key at once
// and stores the revocation later (pending.go). The record is Pending until then.
func (s *Service) Revoke(ctx context.Context, p *auth.Principal, keyID string, ifRevision revision.Expected, reason string) (*Record, error) {
	now := s.stamp()
	if err := checkText("reason", reason, maxReason); err != nil {
		return nil, err
	}
	r, err := s.update(ctx, p, keyID, ifRevision, now, audit.Entry{Action: audit.KeyRevoked}, func(_ context.Context, k *APIKey) (bool, error) {
		if k.RevokedAt != nil {
			return false, nil
		}
		k.RevokedAt, k.RevokeReason = &now, reason
		return true, nil
	})
	if err != nil && deferrable(ctx, err) {
		return s.revokeInMemory(ctx, p, keyID, ifRevision, reason, err)
	}
	return r, err
}
