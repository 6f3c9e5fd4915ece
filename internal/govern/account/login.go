package account

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"runtime"
	"strings"
	"time"

	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
)

// LoginOptions is what a LoginService needs.
type LoginOptions struct {
	Store     Store
	Sessions  SessionStore
	Units     unit.Runner
	Directory *Directory
	Tokens    *auth.Tokens
	Bearers   *Bearers
	Audit     AuditLog
	Guesses   GuessStore                                   // counters of failed logins
	Clock     func(ctx context.Context) (time.Time, error) // of a shared database; nil for Now
	Secret    []byte                                       // of refresh tokens and of guess names
	Cost      PasswordCost                                 // of new hashes; zero except in tests
	Random    io.Reader                                    // of IDs, salts and tokens: crypto/rand.Reader except in tests
	Now       func() time.Time
	Log       *slog.Logger
}

// AuditLog records logins and sessions. *audit.Log implements it.
type AuditLog interface {
	audit.Recorder
	Count(ctx context.Context, e audit.Entry)
	Pseudonym(kind, name string) string
}

// LoginService implements the rules of passwords and sessions. It is safe for concurrent use.
type LoginService struct {
	LoginOptions
	hashes    *hashSemaphore
	throttle  *throttle
	dummyHash string // matches no password; checked for unknown emails
}

var _ Sessions = (*LoginService)(nil)

// NewLoginService returns a LoginService.
func NewLoginService(o LoginOptions) *LoginService {
	noise := make([]byte, argonSalt+argonKey)
	if _, err := io.ReadFull(o.Random, noise); err != nil {
		panic(fmt.Sprintf("account: read randomness: %v", err))
	}
	var clock func() time.Time
	if o.Clock == nil {
		clock = o.Now
	}
	return &LoginService{
		LoginOptions: o, hashes: newHashSemaphore(hashSlots(runtime.GOMAXPROCS(0)), o.Cost), throttle: newThrottle(o.Guesses, clock, o.Secret),
		dummyHash: phc(o.Cost, noise[:argonSalt], noise[argonSalt:]),
	}
}

// errInvalidCredentials is the same for an unknown email, a wrong password and a disabled user.
var errInvalidCredentials = problem.New(problem.Unauthenticated, problem.CodeInvalidCredentials, "The email address or the password is wrong.")

// Authenticate finds the user with an email and a password. Its result and its duration are the same for an unknown email as
// for a wrong password.
//
// It returns invalid_credentials, problem.RateLimited with LoginPolicy after too many failures, or problem.Unavailable if too
// many passwords are waiting to be checked.
func (s *LoginService) Authenticate(ctx context.Context, email, password string, from netip.Addr) (*User, error) {
	email = FoldEmail(email)
	attempt, err := s.throttle.enter(ctx, newAttemptKey(email, from))
	if err != nil {
		return nil, err
	}
	defer attempt.leave(ctx)
	if err := s.hashes.enter(ctx, from); err != nil {
		return nil, err
	}
	defer s.hashes.leave()
	if err := attempt.begin(ctx); err != nil {
		return nil, err
	}
	u, err := s.check(ctx, email, password)
	found := undecided
	switch {
	case err == nil:
		found = right
	case errors.Is(err, errInvalidCredentials):
		found = wrong
		s.countRefused(ctx, email, u, from)
	}
	if uncounted := attempt.end(ctx, found); uncounted != nil {
		return nil, uncounted
	}
	if tooLate := hashedTooLate(ctx); tooLate != nil {
		return nil, tooLate
	}
	if err != nil {
		return nil, err
	}
	return u, nil
}

// hashedTooLate returns a problem if the time of a request was over when its password was hashed. The work was ours, so the
// problem is that of a service that is too busy, and the request is not charged.
func hashedTooLate(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return problem.Busy(ctx.Err())
}

// Refused returns the problem of a login that is already refused for too many failures, or nil. It reads only memory, so it
// does not know all failures at other members.
func (s *LoginService) Refused(email string, from netip.Addr) error {
	return s.throttle.refused(newAttemptKey(FoldEmail(email), from))
}

// check returns the user whose password this is. With errInvalidCredentials, it returns the user of the email, if any.
func (s *LoginService) check(ctx context.Context, email, password string) (*User, error) {
	u, err := s.Sessions.UserByEmail(ctx, email)
	if p, ok := problem.As(err); ok && p.Kind == problem.NotFound {
		u, err = nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read user by email: %w", err)
	}
	stored := s.dummyHash
	if u != nil {
		stored = u.PasswordHash
	}
	// A text that is too long takes the time of a password.
	right := matches(stored, password[:min(len(password), maxPasswordBytes)]) && len(password) <= maxPasswordBytes
	if !right || u == nil || u.Disabled {
		return u, errInvalidCredentials
	}
	return u, nil
}

// Grant is the result of a login or a refresh.
type Grant struct {
	AccessToken     string
	AccessLifetime  time.Duration
	RefreshToken    string
	RefreshLifetime time.Duration
	*Profile
}

// Start starts a session of a user who was just authenticated. It returns invalid_credentials if the user was disabled or
// got another password meanwhile.
func (s *LoginService) Start(ctx context.Context, u *User) (*Grant, error) {
	now := s.now()
	session := &Session{
		ID: id.At(id.Session, now, s.Random), UserID: u.ID, WorkspaceID: u.WorkspaceID,
		CreatedAt: now, ExpiresAt: now.Add(RefreshLifetime),
	}
	refresh := s.firstToken()
	err := s.Units.Run(ctx, func(ctx context.Context) error {
		switch err := s.Sessions.NoteLogin(ctx, u, now); {
		case isMissing(err):
			return errInvalidCredentials
		case err != nil:
			return err
		}
		first := &RefreshToken{Hash: s.hash(refresh), SessionID: session.ID, CreatedAt: now, ExpiresAt: session.ExpiresAt}
		if err := s.Sessions.StartSession(ctx, session, first); err != nil {
			return err
		}
		return s.Audit.Record(ctx, audit.Entry{
			Action: audit.SessionStarted, WorkspaceID: u.WorkspaceID, Actor: u.ID, Target: session.ID,
		})
	})
	if err != nil {
		return nil, fmt.Errorf("start session: %w", err)
	}
	user := *u
	user.LastLoginAt = &now
	return s.grant(&user, session, refresh, now)
}

func (s *LoginService) grant(u *User, session *Session, refresh string, now time.Time) (*Grant, error) {
	profile, err := s.profileOf(u)
	if err != nil {
		return nil, err
	}
	lifetime := session.left(now, auth.AccessLifetime)
	access, err := s.Tokens.Issue(u.ID, session.ID, u.Role.Scopes(), lifetime)
	if err != nil {
		return nil, err
	}
	return &Grant{
		AccessToken: access, AccessLifetime: lifetime,
		RefreshToken: refresh, RefreshLifetime: session.left(now, RefreshLifetime), Profile: profile,
	}, nil
}

// Logout ends the caller's session.
func (s *LoginService) Logout(ctx context.Context, p *auth.Principal) error {
	err := s.Units.Run(ctx, func(ctx context.Context) error {
		if err := s.Sessions.EndSession(ctx, p.SessionID, s.now()); err != nil {
			return err
		}
		unit.AfterCommit(ctx, func() { s.Bearers.ForgetSession(p.SessionID) })
		return s.Audit.Record(ctx, audit.Entry{
			Action: audit.SessionEnded, WorkspaceID: p.WorkspaceID, Actor: p.Actor(), Target: p.SessionID,
		})
	})
	if err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	return nil
}

// ChangePassword changes the caller's password and ends all other sessions of the user. It checks the current password like
// a login, with the same problems, and returns problem.Invalid for an unacceptable new one.
func (s *LoginService) ChangePassword(ctx context.Context, p *auth.Principal, current, wanted string, from netip.Addr) error {
	if err := checkPassword(wanted); err != nil {
		return renamed(err, "newPassword")
	}
	u, err := s.Store.User(ctx, Visibility(p.WorkspaceID), p.UserID)
	if err != nil {
		return fmt.Errorf("read user %s: %w", p.UserID, err)
	}
	if u, err = s.Authenticate(ctx, u.Email, current, from); err != nil {
		return err
	}
	if u.ID != p.UserID { // another user has the email now
		return errInvalidCredentials
	}
	_, err = s.setPassword(ctx, u, wanted, from, p.SessionID, audit.Entry{Actor: p.Actor()})
	return err
}

// setPassword sets an acceptable password and ends the user's sessions but the kept one. It returns the changed user. The error
// is problem.Mismatch if the user was changed since u was read. entry contains what the audit log says in addition to the user.
func (s *LoginService) setPassword(ctx context.Context, u *User, wanted string, from netip.Addr, kept string, entry audit.Entry) (*User, error) {
	if err := s.hashes.enter(ctx, from); err != nil {
		return nil, err
	}
	changed := *u
	changed.PasswordHash = hashPassword(wanted, s.Cost, s.Random)
	changed.Revision++
	s.hashes.leave()
	if err := hashedTooLate(ctx); err != nil {
		return nil, err
	}
	entry.Action, entry.WorkspaceID, entry.Target = audit.PasswordChanged, u.WorkspaceID, u.ID
	err := s.Units.Run(ctx, func(ctx context.Context) error {
		if err := s.Store.UpdateUser(ctx, &changed); err != nil {
			return err
		}
		if err := s.endUser(ctx, u.ID, kept); err != nil {
			return err
		}
		return s.Audit.Record(ctx, entry)
	})
	if err != nil {
		return nil, fmt.Errorf("change password: %w", err)
	}
	return &changed, nil
}

// renamed returns a problem with another field name.
func renamed(err error, field string) error {
	p, ok := problem.As(err)
	if !ok {
		return err
	}
	other := *p
	other.Details.Field = field
	return &other
}

// EndUser implements Sessions.
func (s *LoginService) EndUser(ctx context.Context, userID string) error {
	return s.endUser(ctx, userID, "")
}

func (s *LoginService) endUser(ctx context.Context, userID, except string) error {
	if err := s.Sessions.EndSessions(ctx, userID, except, s.now()); err != nil {
		return fmt.Errorf("end the sessions of %s: %w", userID, err)
	}
	unit.AfterCommit(ctx, func() { s.Bearers.sessions.removeUser(userID, except) })
	return nil
}

// UserChanged implements Sessions.
func (s *LoginService) UserChanged(ctx context.Context, userID string) {
	unit.AfterCommit(ctx, func() { s.Bearers.ForgetUser(userID) })
}

// countRefused counts a refused login in the audit log. u is the user with the email, or nil.
func (s *LoginService) countRefused(ctx context.Context, email string, u *User, from netip.Addr) {
	e := audit.Entry{
		Action: audit.SessionRefused, Target: s.Audit.Pseudonym("email", email), Outcome: audit.Refused, Address: from,
	}
	if u != nil {
		e.WorkspaceID = u.WorkspaceID
	}
	s.Audit.Count(ctx, e)
}

// keepEnded is how long ended sessions are kept, so that reuse of their refresh tokens is still recognized.
const keepEnded = 24 * time.Hour

// Run deletes old sessions every hour, and old guesses more often, until ctx ends.
func (s *LoginService) Run(ctx context.Context) {
	prune, guesses := time.NewTicker(time.Hour), time.NewTicker(throttleWindow/3)
	defer prune.Stop()
	defer guesses.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-guesses.C:
			if err := s.Guesses.PruneGuesses(ctx); err != nil && ctx.Err() == nil {
				s.Log.WarnContext(ctx, "deleting old login failures failed", "error", err.Error())
			}
		case <-prune.C:
			if err := s.Sessions.PruneSessions(ctx, s.now(), s.now().Add(-keepEnded)); err != nil && ctx.Err() == nil {
				s.Log.WarnContext(ctx, "deleting old sessions failed", "error", err.Error())
			}
		}
	}
}

func (s *LoginService) now() time.Time { return s.Now().UTC().Truncate(time.Millisecond) }

// common returns the common clock of all members.
func (s *LoginService) common(ctx context.Context) (time.Time, error) {
	if s.Clock == nil {
		return s.now(), nil
	}
	now, err := s.Clock(ctx)
	return now.Truncate(time.Millisecond), err
}

func isMissing(err error) bool {
	p, ok := problem.As(err)
	return ok && p.Kind == problem.NotFound
}

// encode writes random bytes as text.
func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// textual reports whether a text has the form of a refresh token.
func textual(text string) bool {
	rest, ok := strings.CutPrefix(text, refreshPrefix)
	return ok && len(rest) == base64.RawURLEncoding.EncodedLen(refreshSize)
}
