package account_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/audit"
)

const chosen = "a password that a person chose"

func setupToken(t *testing.T, o *office) string {
	t.Helper()
	token, _, err := o.SetupToken(t.Context(), o.user)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestSetupTokenSetsThePasswordOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	token := setupToken(t, o)
	_, err := o.SetUp(t.Context(), token, "short", here)
	wantCode(t, err, problem.CodeValidation)
	u, err := o.SetUp(t.Context(), token, chosen, here)
	if err != nil || u.ID != o.user {
		t.Fatalf("got %v, %v", u, err)
	}
	if _, err := o.Authenticate(t.Context(), email, chosen, here); err != nil {
		t.Errorf("the chosen password: %v", err)
	}
	_, err = o.Authenticate(t.Context(), email, password, here)
	wantCode(t, err, problem.CodeInvalidCredentials)
	_, err = o.SetUp(t.Context(), token, "another password entirely", here)
	wantCode(t, err, problem.CodeInvalidToken)
	if n := o.log.count(audit.PasswordChanged); n != 1 {
		t.Errorf("the audit log has %d entries", n)
	}
}

func TestSetupTokenExpires(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	token := setupToken(t, o)
	o.wait(account.SetupLifetime - time.Second)
	_, err := o.SetUp(t.Context(), token, "short", here)
	wantCode(t, err, problem.CodeValidation)
	o.wait(time.Second)
	_, err = o.SetUp(t.Context(), token, chosen, here)
	wantCode(t, err, problem.CodeInvalidToken)
}

func TestForgedSetupTokenIsRefused(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	token := setupToken(t, o)
	for i := range token {
		other := byte('A')
		if token[i] == other {
			other = 'B'
		}
		_, err := o.SetUp(t.Context(), token[:i]+string(other)+token[i+1:], chosen, here)
		wantCode(t, err, problem.CodeInvalidToken)
	}
	for _, text := range []string{"", ".", "kpsu_", "kpsu_...", strings.Repeat("a.", 5000), token + ".", token[:len(token)-1], "\xff" + token, strings.TrimPrefix(token, "kpsu")} {
		_, err := o.SetUp(t.Context(), text, chosen, here)
		wantCode(t, err, problem.CodeInvalidToken)
	}
	other := newOffice(t) // whose secret is another
	other.Secret = []byte(strings.Repeat("x", 32))
	_, err := other.SetUp(t.Context(), token, chosen, here)
	wantCode(t, err, problem.CodeInvalidToken)
}

func TestSetupTokenEndsWithTheFirstUseOfTheUser(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(t *testing.T, o *office) error{
		"a login": func(t *testing.T, o *office) error {
			u, err := o.Authenticate(t.Context(), email, password, here)
			if err == nil {
				_, err = o.Start(t.Context(), u)
			}
			return err
		},
		"a change by an administrator": func(t *testing.T, o *office) error {
			_, err := o.people.ChangeUser(t.Context(), o.admin, o.user, nil, account.UserChange{Name: new("Ada")})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			token := setupToken(t, o)
			if err := use(t, o); err != nil {
				t.Fatal(err)
			}
			_, err := o.SetUp(t.Context(), token, chosen, here)
			wantCode(t, err, problem.CodeInvalidToken)
		})
	}
}

// wantOneSetUp uses a token at all services at once.
func wantOneSetUp(t *testing.T, token string, services ...*account.LoginService) {
	t.Helper()
	var worked atomic.Int64
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			_, err := services[i%len(services)].SetUp(t.Context(), token, chosen, from(i))
			if err == nil {
				worked.Add(1)
				return
			}
			wantCode(t, err, problem.CodeInvalidToken)
		})
	}
	running.Wait()
	if n := worked.Load(); n != 1 {
		t.Errorf("the token worked %d times", n)
	}
}

func TestConcurrentSetUpsChangeThePasswordOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	wantOneSetUp(t, setupToken(t, o), o.LoginService)
}

func TestMembersSetUpAUserOnce(t *testing.T) {
	t.Parallel()
	two := members(t)
	wantOneSetUp(t, setupToken(t, two[0]), two[0].LoginService, two[1].LoginService)
	_, err := two[1].Authenticate(t.Context(), email, chosen, here)
	if err != nil {
		t.Errorf("the chosen password: %v", err)
	}
}

func TestInviteHelpsAUserWhoForgotThePassword(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	u, err := o.Authenticate(t.Context(), email, password, here)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Start(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	token, expires, err := o.Invite(t.Context(), o.admin, o.user)
	if err != nil {
		t.Fatal(err)
	}
	if lifetime := expires.Sub(o.now()); lifetime > account.SetupLifetime || lifetime <= account.SetupLifetime-time.Second {
		t.Errorf("the token is valid for %v", lifetime)
	}
	if n := o.log.count(audit.SetupLinkCreated); n != 1 {
		t.Errorf("the audit log has %d entries", n)
	}
	if _, err := o.SetUp(t.Context(), token, chosen, here); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Authenticate(t.Context(), email, chosen, here); err != nil {
		t.Errorf("the chosen password: %v", err)
	}
	_, err = o.SetUp(t.Context(), token, "another password entirely", here)
	wantCode(t, err, problem.CodeInvalidToken)
}

func TestInviteEndsWithALogin(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for range 2 { // the first login, and a later one
		token, _, err := o.Invite(t.Context(), o.admin, o.user)
		if err != nil {
			t.Fatal(err)
		}
		o.wait(time.Second)
		u, err := o.Authenticate(t.Context(), email, password, here)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.Start(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		_, err = o.SetUp(t.Context(), token, chosen, here)
		wantCode(t, err, problem.CodeInvalidToken)
	}
}

func TestInviteRefusesUsersOfOthersAndDisabledOnes(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	stranger := *o.admin
	stranger.WorkspaceID, stranger.Operator = "wsp_00000000000000000000000000", false
	for _, id := range []string{o.user, "usr_00000000000000000000000000", "nobody"} {
		_, _, err := o.Invite(t.Context(), &stranger, id)
		wantCode(t, err, problem.CodeNotFound)
	}
	hashed, err := o.people.HashPassword(t.Context(), password)
	if err != nil {
		t.Fatal(err)
	}
	other, err := o.people.CreateUser(t.Context(), o.admin, account.NewUser{Email: "other@example.org", Role: account.RoleMember, Password: hashed})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.people.ChangeUser(t.Context(), o.admin, other.ID, nil, account.UserChange{Disabled: new(true)}); err != nil {
		t.Fatal(err)
	}
	_, _, err = o.Invite(t.Context(), o.admin, other.ID)
	wantCode(t, err, problem.CodeConflict)
}
