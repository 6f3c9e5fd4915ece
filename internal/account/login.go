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

	"keepsake/internal/audit"
	"keepsake/internal/auth"
	"keepsake/internal/id"
	"keepsake/internal/problem"
	"keepsake/internal/unit"
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
	Guesses   GuessStore                                   // where failed logins are counted
	Clock     func(ctx context.Context) (time.Time, error) // of the database that several processes share; nil for Now
	Secret    []byte                                       // of refresh tokens, and of what is counted of guesses
	Cost      PasswordCost                                 // of new hashes; zero but in tests
	Random    io.Reader                                    // of ids, salts and tokens: crypto/rand.Reader but in tests
	Now       func() time.Time
	Log       *slog.Logger
}

// AuditLog takes what happens with sessions. *audit.Log is one.
type AuditLog interface {
	audit.Recorder
	Count(ctx context.Context, e audit.Entry)
	Pseudonym(kind, name string) string
}

// LoginService holds the rules of passwords and sessions. All of it is safe for concurrent use.
type LoginService struct {
	LoginOptions
	gate     *gate
	throttle *throttle
	nobody   string // a hash that no password has, checked where there is no user
}

var _ Sessions = (*LoginService)(nil)

// NewLoginService makes a LoginService.
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
		LoginOptions: o, gate: newGate(runtime.GOMAXPROCS(0)), throttle: newThrottle(o.Guesses, clock, o.Secret),
		nobody: phc(o.Cost, noise[:argonSalt], noise[argonSalt:]),
	}
}

// What a caller is told who cannot sign in. An unknown email, a wrong password and a disabled user are one.
var errInvalidCredentials = problem.New(problem.Unauthenticated, problem.CodeInvalidCredentials, "The email address or the password is wrong.")

// Authenticate finds the user of an email and a password that came from an address. It takes as long and answers the
// same whether there is no such user or the password is wrong, however long that is.
//
// Problems: invalid_credentials; problem.RateLimited with LoginPolicy for who failed too often; problem.Unavailable where
// more passwords wait to be checked than there is room for.
func (s *LoginService) Authenticate(ctx context.Context, email, password string, from netip.Addr) (*User, error) {
	email = FoldEmail(email)
	visit, err := s.throttle.enter(ctx, newGuesser(email, from))
	if err != nil {
		return nil, err
	}
	defer visit.leave(ctx)
	if err := s.gate.enter(ctx, from); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	if err := visit.begin(ctx); err != nil {
		return nil, err
	}
	u, err := s.check(ctx, email, password)
	found := undecided
	switch {
	case err == nil:
		found = right
	case errors.Is(err, errInvalidCredentials):
		found = wrong
		s.tellRefused(ctx, email, u, from)
	}
	if uncounted := visit.end(ctx, found); uncounted != nil {
		return nil, uncounted
	}
	if err != nil {
		return nil, err
	}
	return u, nil
}

// Refused gives the problem by which failures refuse a login, nil if none do. It knows only what is in memory: failures at
// other members may be missing.
func (s *LoginService) Refused(email string, from netip.Addr) error {
	return s.throttle.refused(newGuesser(FoldEmail(email), from))
}

// check hashes the password, and says whose it is. A user beside errInvalidCredentials is the one it is not.
func (s *LoginService) check(ctx context.Context, email, password string) (*User, error) {
	u, err := s.Sessions.UserByEmail(ctx, email)
	if p, ok := problem.As(err); ok && p.Kind == problem.NotFound {
		u, err = nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read user by email: %w", err)
	}
	stored := s.nobody
	if u != nil {
		stored = u.PasswordHash
	}
	// What is longer than any password takes the time of one, whatever it holds.
	right := matches(stored, password[:min(len(password), 4*maxPassword)]) && len(password) <= 4*maxPassword
	if !right || u == nil || u.Disabled {
		return u, errInvalidCredentials
	}
	return u, nil
}

// Grant is what a login or a refresh gives to a client.
type Grant struct {
	AccessToken     string
	AccessLifetime  time.Duration
	RefreshToken    string
	RefreshLifetime time.Duration
	*Profile
}

// Start begins a session of a user who was authenticated just now. A user who was disabled, or given another password,
// meanwhile is invalid_credentials.
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

// ChangePassword gives the caller another password and ends all sessions of the user but the caller's. The current one
// is checked as at a login, with the same problems; a new one that will not do is problem.Invalid.
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
	if u.ID != p.UserID { // the email went to somebody else in between
		return errInvalidCredentials
	}
	if err := s.gate.enter(ctx, from); err != nil {
		return err
	}
	changed := *u
	changed.PasswordHash = hashPassword(wanted, s.Cost, s.Random)
	changed.Revision++
	s.gate.leave()
	err = s.Units.Run(ctx, func(ctx context.Context) error {
		if err := s.Store.UpdateUser(ctx, &changed); err != nil {
			return err
		}
		if err := s.endUser(ctx, u.ID, p.SessionID); err != nil {
			return err
		}
		return s.Audit.Record(ctx, audit.Entry{
			Action: audit.PasswordChanged, WorkspaceID: u.WorkspaceID, Actor: p.Actor(), Target: u.ID,
		})
	})
	if err != nil {
		return fmt.Errorf("change password: %w", err)
	}
	return nil
}

// renamed is a problem with the password under the name that its field has in the request.
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

// tellRefused has the log count a login that was refused. u is the user the email is of, nil for nobody's.
func (s *LoginService) tellRefused(ctx context.Context, email string, u *User, from netip.Addr) {
	e := audit.Entry{
		Action: audit.SessionRefused, Target: s.Audit.Pseudonym("email", email), Outcome: audit.Refused, Address: from,
	}
	if u != nil {
		e.WorkspaceID = u.WorkspaceID
	}
	s.Audit.Count(ctx, e)
}

// keepEnded is how long a session that has ended is kept, so that a refresh token of it is still told from an invented
// one.
const keepEnded = 24 * time.Hour

// Run forgets old sessions each hour, and old guesses more often, until ctx ends.
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
				s.Log.WarnContext(ctx, "old guesses were not deleted", "error", err.Error())
			}
		case <-prune.C:
			if err := s.Sessions.PruneSessions(ctx, s.now(), s.now().Add(-keepEnded)); err != nil && ctx.Err() == nil {
				s.Log.WarnContext(ctx, "old sessions were not deleted", "error", err.Error())
			}
		}
	}
}

func (s *LoginService) now() time.Time { return s.Now().UTC().Truncate(time.Millisecond) }

// common is the time by which members judge what another of them wrote just now.
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

// textual reports whether a text is a token of ours by its form.
func textual(text string) bool {
	rest, ok := strings.CutPrefix(text, refreshPrefix)
	return ok && len(rest) == base64.RawURLEncoding.EncodedLen(refreshSize)
}
