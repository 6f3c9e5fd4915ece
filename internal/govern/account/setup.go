package account

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
)

// SetupLifetime is how long a setup token is valid.
const SetupLifetime = time.Hour

// setupPrefix marks setup tokens, so that they are recognized where they do not belong.
const setupPrefix = "kpsu_"

// maxSetupToken is more than the length of any setup token, in bytes.
const maxSetupToken = 512

// errSetup is the same for every token that is refused, so that it says nothing about the user.
var errSetup = problem.New(problem.Unauthenticated, problem.CodeInvalidToken,
	"This setup link is wrong, was used before, or has expired.")

// SetupToken returns a token with which a person can set the password of a user, and when it expires: after SetupLifetime. It
// works until then, or until the user signs in or changes in any way: above all, until it is used.
//
// The token is not stored. It contains the user, its end and a hash of the state of the user, signed with a secret that all
// members share.
func (s *LoginService) SetupToken(ctx context.Context, userID string) (string, time.Time, error) {
	u, err := s.Store.User(ctx, AllWorkspaces, userID)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("read user %s: %w", userID, err)
	}
	return s.setupToken(ctx, u)
}

// Invite returns a setup token for a user whom p administers, and when it expires. The user keeps password and sessions until
// the token is used. Invite returns problem.Missing for a user whom p does not see, and a conflict for one who is disabled.
func (s *LoginService) Invite(ctx context.Context, p *auth.Principal, userID string) (token string, expires time.Time, err error) {
	if _, ok := id.Parse(id.User, userID); !ok {
		return "", time.Time{}, problem.Missing()
	}
	err = s.Units.Run(ctx, func(ctx context.Context) error {
		u, err := s.Store.User(ctx, visibilityOf(p), userID)
		if err != nil {
			return err
		}
		if u.Disabled {
			return problem.Conflicts("The user is disabled. Enable the user before you create a setup link.")
		}
		if token, expires, err = s.setupToken(ctx, u); err != nil {
			return err
		}
		return s.Audit.Record(ctx, audit.Entry{Action: audit.SetupLinkCreated, WorkspaceID: u.WorkspaceID, Actor: p.Actor(), Target: u.ID})
	})
	if err != nil {
		return "", time.Time{}, fmt.Errorf("create setup link: %w", err)
	}
	return token, expires, nil
}

func (s *LoginService) setupToken(ctx context.Context, u *User) (string, time.Time, error) {
	now, err := s.common(ctx)
	if err != nil {
		return "", time.Time{}, err
	}
	expires := now.Add(SetupLifetime).Truncate(time.Second)
	signed := u.ID + "." + strconv.FormatInt(expires.Unix(), 10) + "." + s.setupState(u)
	return setupPrefix + signed + "." + s.setupHash("token", signed), expires, nil
}

// setupState returns a hash of what a setup token depends on.
func (s *LoginService) setupState(u *User) string {
	login := ""
	if u.LastLoginAt != nil {
		login = strconv.FormatInt(u.LastLoginAt.UnixMicro(), 10)
	}
	return s.setupHash("state", u.ID+"\x00"+u.PasswordHash+"\x00"+strconv.FormatInt(u.Revision, 10)+"\x00"+login)
}

func (s *LoginService) setupHash(purpose, text string) string {
	h := hmac.New(sha256.New, s.Secret)
	io.WriteString(h, "setup "+purpose+"\x00"+text)
	return encode(h.Sum(nil))
}

// setupUser returns the user of a setup token that is valid. A token that was not issued is refused without a read.
func (s *LoginService) setupUser(ctx context.Context, token string) (*User, error) {
	rest, marked := strings.CutPrefix(token, setupPrefix)
	i := strings.LastIndexByte(rest, '.')
	if !marked || i < 0 || len(token) > maxSetupToken || !hmac.Equal([]byte(s.setupHash("token", rest[:i])), []byte(rest[i+1:])) {
		return nil, errSetup
	}
	userID, rest, _ := strings.Cut(rest[:i], ".")
	end, state, _ := strings.Cut(rest, ".")
	now, err := s.common(ctx)
	if err != nil {
		return nil, err
	}
	if until, err := strconv.ParseInt(end, 10, 64); err != nil || now.Unix() >= until {
		return nil, errSetup
	}
	u, err := s.Store.User(ctx, AllWorkspaces, userID)
	switch {
	case isMissing(err):
		return nil, errSetup
	case err != nil:
		return nil, fmt.Errorf("read user %s: %w", userID, err)
	case u.Disabled || !hmac.Equal([]byte(s.setupState(u)), []byte(state)):
		return nil, errSetup
	}
	return u, nil
}

// SetUp sets the password of the user of a setup token, and returns the user. A token works once, also if several members get
// it at the same time. SetUp returns invalid_token for any token that does not work, and problem.Invalid for an unacceptable
// password, after which the token still works.
func (s *LoginService) SetUp(ctx context.Context, token, wanted string, from netip.Addr) (*User, error) {
	u, err := s.setupUser(ctx, token)
	if err != nil {
		return nil, err
	}
	if err := checkPassword(wanted); err != nil {
		return nil, err
	}
	u, err = s.setPassword(ctx, u, wanted, from, "", audit.Entry{
		Actor: u.ID, Address: from, Details: map[string]string{"by": "setup link"},
	})
	// Only one change of a revision succeeds.
	if p, ok := problem.As(err); ok && (p.Kind == problem.Mismatch || p.Kind == problem.NotFound) {
		return nil, errSetup
	}
	return u, err
}
