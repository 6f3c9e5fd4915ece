package account

import (
	"context"
	"net/netip"
)

var _ Hashing = (*LoginService)(nil)

// Hash implements Hashing behind the gate that logins pass, where all administrators together are one address.
func (s *LoginService) Hash(ctx context.Context, password string) (string, error) {
	if err := s.gate.enter(ctx, netip.Addr{}); err != nil {
		return "", err
	}
	defer s.gate.leave()
	return hashPassword(password, s.Cost, s.Random), nil
}
