package account_test

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/usage"
	"keepsake/internal/store"
	"keepsake/internal/store/sqlite"
	"keepsake/internal/store/sqlite/sqlitetest"
	usagestore "keepsake/internal/store/usage"
)

// office is a LoginService over a real store, with a workspace and a user who administers it.
type office struct {
	*account.LoginService
	store   *store.Store
	people  *account.Service
	bearers *account.Bearers
	log     *entries
	guesses *guesses // nil for an office that is alone
	clock   atomic.Int64
	user    string
	admin   *auth.Principal
}

const (
	email    = "ada@example.org"
	password = "correct horse battery staple"
)

// cheap is what passwords cost in tests that are not about their cost.
var cheap = account.PasswordCost{MemoryKiB: 64, Passes: 1}

var here = netip.MustParseAddr("192.0.2.1")

// entries is an audit log that only remembers.
type entries struct {
	mu   sync.Mutex
	list []audit.Entry
}

func (e *entries) Record(_ context.Context, entry audit.Entry) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, entry)
	return nil
}

func (e *entries) Count(ctx context.Context, entry audit.Entry) { _ = e.Record(ctx, entry) }

func (e *entries) Pseudonym(kind, _ string) string { return kind + ":hashed" }

func (e *entries) count(action audit.Action) (n int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, entry := range e.list {
		if entry.Action == action {
			n += max(1, entry.Count)
		}
	}
	return n
}

// safe keeps signing keys in a map.
type safe map[string][]byte

func (s safe) Names(string) []string           { return nil }
func (s safe) Find(name string) ([]byte, bool) { v, ok := s[name]; return v, ok }

func (s safe) Add(_ context.Context, name string, secret []byte) error { s[name] = secret; return nil }

func (s safe) Remove(_ context.Context, name string) error { delete(s, name); return nil }

func (o *office) now() time.Time { return time.UnixMilli(o.clock.Load()).UTC() }

func (o *office) wait(d time.Duration) { o.clock.Add(d.Milliseconds()) }

func (o *office) authenticate(t *testing.T, token string) (account.Bearer, error) {
	t.Helper()
	return o.bearers.Authenticate(t.Context(), token, here, o.now())
}

func newOffice(t testing.TB) *office {
	t.Helper()
	engine, err := sqlite.Open(t.Context(), sqlite.Options{Dir: sqlitetest.Dir(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	o := officeOn(t, engine, safe{})
	first, err := o.people.FirstStart(t.Context(), account.Admin{Email: email, Password: password},
		func(context.Context, string) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	o.user = first.UserID
	o.admin = &auth.Principal{Kind: auth.Local, WorkspaceID: first.WorkspaceID, Operator: true, Scopes: auth.All}
	return o
}

func TestFailedLoginsAreCountedAcrossARestart(t *testing.T) {
	t.Parallel()
	dir, signing := sqlitetest.Dir(t), safe{}
	var refused error
	for range 2 {
		engine, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		o := officeOn(t, engine, signing)
		for range 5 {
			_, err := o.Authenticate(t.Context(), "nobody@example.org", "not the password", here)
			wantCode(t, err, problem.CodeInvalidCredentials)
		}
		_, refused = o.Authenticate(t.Context(), "nobody@example.org", "not the password", netip.MustParseAddr("192.0.2.2"))
		wantCode(t, refused, problem.CodeInvalidCredentials)
		if err := engine.Close(); err != nil {
			t.Fatal(err)
		}
	}
	engine, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	_, refused = officeOn(t, engine, signing).Authenticate(t.Context(), "nobody@example.org", "not the password", here)
	wantCode(t, refused, problem.CodeRateLimited)
}

// officeOn returns an office without users.
func officeOn(t testing.TB, engine store.Engine, signing safe) *office {
	t.Helper()
	o := &office{store: store.New(engine), log: &entries{}}
	o.clock.Store(time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC).UnixMilli())
	log := slog.New(slog.DiscardHandler)
	directory := account.NewDirectory(o.store.Accounts, limit.Tiers(), usage.NewRecorder(usagestore.New(engine).Counters, o.now, log), o.now)
	keys, err := auth.OpenSigningKeys(t.Context(), signing, o.now)
	if err != nil {
		t.Fatal(err)
	}
	tokens := auth.NewTokens(keys, "keepsake", o.now)
	o.bearers = account.NewBearers(o.store.Sessions, directory, tokens)
	o.guesses = &guesses{GuessStore: o.store.Guesses}
	options := account.LoginOptions{
		Store: o.store.Accounts, Sessions: o.store.Sessions, Units: o.store, Directory: directory, Tokens: tokens, Bearers: o.bearers,
		Audit: o.log, Guesses: o.guesses, Secret: []byte("secret of the tests"), Cost: cheap, Random: rand.Reader, Now: o.now, Log: log,
	}
	if engine.Shared() {
		options.Clock = o.store.Guesses.Clock
	}
	o.LoginService = account.NewLoginService(options)
	o.people = account.NewService(account.Options{
		Store: o.store.Accounts, Units: o.store, Directory: directory, Audit: o.log, Sessions: o.LoginService, Hashing: o.LoginService,
		Cost: cheap, Random: rand.Reader, Now: o.now,
	})
	return o
}

func (o *office) login(t testing.TB) *account.Grant {
	t.Helper()
	u, err := o.Authenticate(t.Context(), email, password, here)
	if err != nil {
		t.Fatal(err)
	}
	g, err := o.Start(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (o *office) principal(t *testing.T, g *account.Grant) *auth.Principal {
	t.Helper()
	b, err := o.authenticate(t, g.AccessToken)
	if err != nil {
		t.Fatal(err)
	}
	return &b.Principal
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if p, ok := problem.As(err); !ok || p.Code != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

func (o *office) wantAlive(t *testing.T, g *account.Grant, alive bool) {
	t.Helper()
	if _, err := o.authenticate(t, g.AccessToken); (err == nil) != alive {
		t.Errorf("the access token: %v, want it valid: %v", err, alive)
	}
}

func TestLoginReturnsTokensOfTheUser(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	u, err := o.Authenticate(t.Context(), "  ADA@example.org\t", password, here)
	if err != nil {
		t.Fatal(err)
	}
	g, err := o.Start(t.Context(), u)
	if err != nil || g.LastLoginAt == nil || !g.LastLoginAt.Equal(o.now()) {
		t.Fatalf("got %+v, %v", g, err)
	}
	p := o.principal(t, g)
	if p.Kind != auth.User || p.UserID != o.user || p.Actor() != o.user || !p.Operator || p.Scopes != auth.All || p.WorkspaceID != o.admin.WorkspaceID {
		t.Errorf("the token's owner is %+v", p)
	}
	if kept, err := o.Profile(t.Context(), p); err != nil || kept.LastLoginAt == nil || kept.Revision != 1 {
		t.Errorf("the profile is %+v, %v", kept, err)
	}
	if o.log.count(audit.SessionStarted) != 1 {
		t.Error("the login is not in the log")
	}
}

func TestTokenOfAnotherSessionIsInvalid(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	session := o.principal(t, o.login(t)).SessionID
	for range 2 { // also when it is known
		for _, user := range []string{"usr_01kakakakafkhvayayayayayay", o.user + "x"} {
			text, err := o.Tokens.Issue(user, session, auth.All, auth.AccessLifetime)
			if err != nil {
				t.Fatal(err)
			}
			_, err = o.authenticate(t, text)
			wantCode(t, err, "invalid_token")
		}
	}
}

func TestWrongUnknownAndDisabledLookAlike(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	hashed, err := o.people.HashPassword(t.Context(), password)
	if err != nil {
		t.Fatal(err)
	}
	bob, err := o.people.CreateUser(t.Context(), o.admin, account.NewUser{Email: "bob@example.org", Password: hashed})
	if err != nil {
		t.Fatal(err)
	}
	disabled := true
	if _, err := o.people.ChangeUser(t.Context(), o.admin, bob.ID, nil, account.UserChange{Disabled: &disabled}); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for i, try := range [][2]string{
		{email, "not the password"},
		{"nobody@example.org", password},
		{"bob@example.org", password},
		{"no address", password},
		{email, ""},
		{email, password + string(make([]byte, 1<<20))},
		{email, "\xff\xfe"},
	} {
		_, err := o.Authenticate(t.Context(), try[0], try[1], netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}))
		wantCode(t, err, "invalid_credentials")
		texts = append(texts, err.Error())
	}
	for _, text := range texts {
		if text != texts[0] {
			t.Errorf("%q and %q differ", text, texts[0])
		}
	}
}

func TestUserChangedDuringLoginIsRefused(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	u, err := o.Authenticate(t.Context(), email, password, here)
	if err != nil {
		t.Fatal(err)
	}
	other, err := o.people.HashPassword(t.Context(), "another password")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.people.ChangeUser(t.Context(), o.admin, o.user, nil, account.UserChange{Password: &other}); err != nil {
		t.Fatal(err)
	}
	_, err = o.Start(t.Context(), u)
	wantCode(t, err, "invalid_credentials")
}

func TestRefusedLoginsAreCounted(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for range 3 {
		_, err := o.Authenticate(t.Context(), email, "not the password", here)
		wantCode(t, err, "invalid_credentials")
	}
	if n := o.log.count(audit.SessionRefused); n != 3 {
		t.Errorf("%d refused logins in the log, want 3", n)
	}
	if last := o.log.list[len(o.log.list)-1]; last.Target != "email:hashed" || last.WorkspaceID != o.admin.WorkspaceID || last.Address != here {
		t.Errorf("the entry is %+v", last)
	}
}

func TestLogoutEndsTheSessionAtOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	g, other := o.login(t), o.login(t)
	if err := o.Logout(t.Context(), o.principal(t, g)); err != nil {
		t.Fatal(err)
	}
	o.wantAlive(t, g, false)
	o.wantAlive(t, other, true)
	_, err := o.Refresh(t.Context(), g.RefreshToken)
	wantCode(t, err, "invalid_token")
}

func TestPasswordChangeEndsOtherSessions(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	g, other := o.login(t), o.login(t)
	o.wantAlive(t, other, true)
	p := o.principal(t, g)
	err := o.ChangePassword(t.Context(), p, password, "short", here)
	wantCode(t, err, "validation_error")
	if p, _ := problem.As(err); p.Details.Field != "newPassword" {
		t.Errorf("the field is %s", p.Details.Field)
	}
	wantCode(t, o.ChangePassword(t.Context(), p, "not the password", "another password", here), "invalid_credentials")
	o.wantAlive(t, other, true)
	if err := o.ChangePassword(t.Context(), p, password, "another password", here); err != nil {
		t.Fatal(err)
	}
	o.wantAlive(t, g, true)
	o.wantAlive(t, other, false)
	_, err = o.Refresh(t.Context(), other.RefreshToken)
	wantCode(t, err, "invalid_token")
	_, err = o.Authenticate(t.Context(), email, password, here)
	wantCode(t, err, "invalid_credentials")
	if _, err := o.Authenticate(t.Context(), email, "another password", here); err != nil {
		t.Errorf("with the new one: %v", err)
	}
}

func TestRoleChangeAppliesToTokensAtOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	made := account.NewUser{Email: "bob@example.org", Role: account.RoleMember}
	var err error
	if made.Password, err = o.people.HashPassword(t.Context(), password); err != nil {
		t.Fatal(err)
	}
	bob, err := o.people.CreateUser(t.Context(), o.admin, made)
	if err != nil {
		t.Fatal(err)
	}
	u, err := o.Authenticate(t.Context(), bob.Email, password, here)
	if err != nil {
		t.Fatal(err)
	}
	g, err := o.Start(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		role account.Role
		may  auth.Scopes
	}{
		{account.RoleMember, account.RoleMember.Scopes()},
		{account.RoleViewer, account.RoleViewer.Scopes()},
		{account.RoleAdmin, account.RoleMember.Scopes()}, // what the token says
		{account.RoleViewer, account.RoleViewer.Scopes()},
	} {
		if _, err := o.people.ChangeUser(t.Context(), o.admin, bob.ID, nil, account.UserChange{Role: &step.role}); err != nil {
			t.Fatal(err)
		}
		if p := o.principal(t, g); p.Scopes != step.may {
			t.Errorf("as %s the token may %q, want %q", step.role, p.Scopes, step.may)
		}
	}
	g, err = o.Refresh(t.Context(), g.RefreshToken)
	if err != nil || o.principal(t, g).Scopes != account.RoleViewer.Scopes() {
		t.Errorf("refreshed: %v", err)
	}
	if err := o.people.DeleteUser(t.Context(), o.admin, bob.ID, nil); err != nil {
		t.Fatal(err)
	}
	o.wantAlive(t, g, false)
	_, err = o.Refresh(t.Context(), g.RefreshToken)
	wantCode(t, err, "invalid_token")
}

func TestForgedTokensDoNotBlockValidOnes(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	g := o.login(t)
	o.wantAlive(t, g, true)
	fresh, later := o.login(t), o.login(t)
	for i := range 400 {
		if _, err := o.authenticate(t, g.AccessToken[:len(g.AccessToken)-10]+time.Duration(i).String()); !errors.Is(err, auth.ErrInvalidToken) {
			t.Fatalf("an invented token: %v", err)
		}
	}
	o.wantAlive(t, g, true) // known already
	o.wantAlive(t, fresh, true)

	release := o.bearers.HoldSuspects()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := o.bearers.Authenticate(ctx, later.AccessToken, here, o.now()); !errors.Is(err, context.Canceled) {
		t.Errorf("a new token from an address that guesses does not wait for the one before it: %v", err)
	}
	if _, err := o.bearers.Authenticate(t.Context(), later.AccessToken, netip.MustParseAddr("192.0.2.2"), o.now()); err != nil {
		t.Errorf("from another address: %v", err)
	}
	release()
	o.wait(time.Minute)
	defer o.bearers.HoldSuspects()()
	o.wantAlive(t, o.login(t), true) // the address has not guessed in this minute
}
