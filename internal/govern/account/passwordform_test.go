package account_test

import (
	"context"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
)

const (
	composed   = "caf\u00e9 au lait, s'il vous pla\u00eet"
	decomposed = "cafe\u0301 au lait, s'il vous plai\u0302t"
)

// A keyboard sends an accent composed or decomposed, and one person can use both.
func TestPasswordsAreComparedInNFC(t *testing.T) {
	t.Parallel()
	for set, sent := range map[string]string{composed: decomposed, decomposed: composed} {
		o := newOffice(t)
		admin := o.principal(t, o.login(t))
		if err := o.ChangePassword(t.Context(), admin, password, set, here); err != nil {
			t.Fatal(err)
		}
		for _, right := range []string{sent, set} {
			if _, err := o.Authenticate(t.Context(), email, right, here); err != nil {
				t.Errorf("%+q for %+q: %v", right, set, err)
			}
		}
		for _, wrong := range []string{sent + " ", " " + sent, strings.ToUpper(sent), strings.ReplaceAll(norm.NFC.String(sent), "\u00e9", "e")} {
			_, err := o.Authenticate(t.Context(), email, wrong, here)
			wantCode(t, err, problem.CodeInvalidCredentials)
		}
		// The current password of a change is compared alike.
		if err := o.ChangePassword(t.Context(), admin, sent, password, here); err != nil {
			t.Errorf("change with %+q: %v", sent, err)
		}
	}
}

func TestSetupLinkAndAdminSetPasswordsInNFC(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	if _, err := o.SetUp(t.Context(), setupToken(t, o), decomposed, here); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Authenticate(t.Context(), email, composed, here); err != nil {
		t.Error(err)
	}
	hashed, err := o.people.HashPassword(t.Context(), norm.NFD.String(composed+" 2"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = o.people.ChangeUser(t.Context(), o.admin, o.user, nil, account.UserChange{Password: &hashed})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Authenticate(t.Context(), email, composed+" 2", here); err != nil {
		t.Error(err)
	}
}

// lateSessions ends the time of a request after it has read the user, so while the password is hashed.
type lateSessions struct {
	account.SessionStore
	request *lateRequest
}

func (s *lateSessions) UserByEmail(ctx context.Context, email string) (*account.User, error) {
	defer func() { s.request.over = true }()
	return s.SessionStore.UserByEmail(ctx, email)
}

type lateRequest struct {
	context.Context
	over bool
}

func (r *lateRequest) Err() error {
	if r.over {
		return context.DeadlineExceeded
	}
	return nil
}

// The hash is our work, so a login whose time ends in it is refused as by a busy service. That is not charged.
func TestLoginThatTimesOutInItsHashIsOurFault(t *testing.T) {
	t.Parallel()
	for _, sent := range []string{password, "a wrong password"} {
		o := newOffice(t)
		request := &lateRequest{Context: t.Context()}
		o.Sessions = &lateSessions{o.Sessions, request}
		_, err := o.Authenticate(request, email, sent, here)
		wantCode(t, err, problem.CodeUnavailable)
		if p, _ := problem.As(err); p.RetryAfter <= 0 {
			t.Errorf("%q: no Retry-After: %v", sent, err)
		}
	}
}
