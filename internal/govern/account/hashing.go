package account

import (
	"context"
	"net/netip"
)

var _ Hashing = (*LoginService)(nil)

// Hash implements Hashing with the semaphore of logins. All administrators count as one address.
func (s *LoginService) Hash(ctx context.Context, password string) (string, error) {
	if err := s.hashes.enter(ctx, netip.Addr{}); err != nil {
		return "", err
	}
	defer s.hashes.leave()
	return hashPassword(password, s.Cost, s.Random), hashedTooLate(ctx)
}
