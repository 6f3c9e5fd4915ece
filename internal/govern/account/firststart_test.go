package account_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/crypto/argon2"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/limit"
	"keepsake/internal/store"
	"keepsake/internal/store/sqlite"
	"keepsake/internal/store/sqlite/sqlitetest"
)

// keptUsers is the store with a look at what is written of users, which nothing reads back yet.
type keptUsers struct {
	*store.Accounts
	users []account.User
}

func (s *keptUsers) CreateUser(ctx context.Context, u *account.User) error {
	s.users = append(s.users, *u)
	return s.Accounts.CreateUser(ctx, u)
}

func setup(t *testing.T) (*account.Service, *keptUsers) {
	t.Helper()
	engine, err := sqlite.Open(t.Context(), sqlite.Options{Dir: sqlitetest.Dir(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	st := store.New(engine)
	s := &keptUsers{Accounts: st.Accounts}
	return account.NewService(account.Options{
		Store: s, Units: st, Directory: account.NewDirectory(s, limit.Tiers(), &owners{}, clock),
		Random: rand.Reader, Now: clock,
	}), s
}

func nothingElse(context.Context, string) error { return nil }

// matches hashes password again under the parameters a PHC string names.
func matches(t *testing.T, phc, password string) bool {
	t.Helper()
	fields := strings.Split(phc, "$")
	if len(fields) != 6 || fields[1] != "argon2id" || fields[2] != "v=19" {
		t.Fatalf("the hash is %q", phc)
	}
	var memory, passes uint32
	var threads uint8
	if _, err := fmt.Sscanf(fields[3], "m=%d,t=%d,p=%d", &memory, &passes, &threads); err != nil {
		t.Fatalf("the hash is %q: %v", phc, err)
	}
	if memory != 19*1024 || passes != 2 || threads != 1 {
		t.Errorf("a password costs %d KiB, %d passes, %d threads; want 19456, 2, 1", memory, passes, threads)
	}
	salt, err := base64.RawStdEncoding.DecodeString(fields[4])
	if err != nil || len(salt) != 16 {
		t.Fatalf("the salt is %d bytes: %v", len(salt), err)
	}
	hash, err := base64.RawStdEncoding.DecodeString(fields[5])
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(hash, argon2.IDKey([]byte(password), salt, passes, memory, threads, uint32(len(hash))))
}

func TestFirstStartCreatesOperatorAndAdmin(t *testing.T) {
	t.Parallel()
	s, kept := setup(t)
	var inside string
	first, err := s.FirstStart(t.Context(), account.Admin{}, func(_ context.Context, workspaceID string) error {
		inside = workspaceID
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if first.Email != "admin@localhost" || len(first.Password) < 20 || inside != first.WorkspaceID {
		t.Errorf("the first start made %+v and told %q", first, inside)
	}
	e, ok := s.Directory.Entry(first.WorkspaceID)
	if !ok || !e.Operator() || e.Name() != "default" || e.Tier().Name != limit.TierUnlimited {
		t.Errorf("the directory has %+v", e)
	}
	workspaces, err := kept.Accounts.Workspaces(t.Context())
	if err != nil || len(workspaces) != 1 || workspaces[0].ID != first.WorkspaceID || !workspaces[0].CreatedAt.Equal(noon) {
		t.Errorf("the store has %+v, %v", workspaces, err)
	}
	u := kept.users[0]
	if u.ID != first.UserID || u.Role != account.RoleAdmin || u.WorkspaceID != first.WorkspaceID || u.Email != first.Email {
		t.Errorf("the user is %+v", u)
	}
	if !matches(t, u.PasswordHash, first.Password) || matches(t, u.PasswordHash, first.Password+"x") {
		t.Error("the hash is not that of the password")
	}
}

func TestSecondFirstStartChangesNothing(t *testing.T) {
	t.Parallel()
	s, kept := setup(t)
	if _, err := s.FirstStart(t.Context(), account.Admin{}, nothingElse); err != nil {
		t.Fatal(err)
	}
	_, err := s.FirstStart(t.Context(), account.Admin{Email: "other@example.org"}, nothingElse)
	if p, ok := problem.As(err); !ok || p.Kind != problem.Conflict {
		t.Errorf("a second first start answers %v, want a conflict", err)
	}
	if workspaces, _ := kept.Accounts.Workspaces(t.Context()); len(workspaces) != 1 {
		t.Errorf("there are %d workspaces", len(workspaces))
	}
}

func TestFirstStartIsAtomic(t *testing.T) {
	t.Parallel()
	s, kept := setup(t)
	broken := errors.New("no key today")
	_, err := s.FirstStart(t.Context(), account.Admin{}, func(context.Context, string) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
	if workspaces, _ := kept.Accounts.Workspaces(t.Context()); len(workspaces) != 0 {
		t.Errorf("a first start that failed left %d workspaces", len(workspaces))
	}
	if _, ok := s.Directory.Operator(); ok {
		t.Error("a first start that failed is in the directory")
	}
	if _, err := s.FirstStart(t.Context(), account.Admin{}, nothingElse); err != nil {
		t.Errorf("the next try: %v", err)
	}
}

func TestAdminCanBeChosen(t *testing.T) {
	t.Parallel()
	s, kept := setup(t)
	password := strings.Repeat("é", 12)
	first, err := s.FirstStart(t.Context(), account.Admin{Email: "  Ada@Exämple.ORG ", Password: password}, nothingElse)
	if err != nil {
		t.Fatal(err)
	}
	if first.Email != "ada@exämple.org" || first.Password != "" || !matches(t, kept.users[0].PasswordHash, password) {
		t.Errorf("the first start made %+v", first)
	}
}

func TestInvalidAdminCreatesNothing(t *testing.T) {
	t.Parallel()
	s, kept := setup(t)
	for _, bad := range []struct {
		account.Admin
		field string
		issue problem.Issue
	}{
		{account.Admin{Password: "elevenchars"}, "password", problem.TooShort},
		{account.Admin{Password: strings.Repeat("é", 129)}, "password", problem.TooLong},
		{account.Admin{Password: "twelve chars\xff"}, "password", problem.Format},
		{account.Admin{Email: "nobody"}, "email", problem.Format},
		{account.Admin{Email: "@example.org"}, "email", problem.Format},
		{account.Admin{Email: "a b@example.org"}, "email", problem.Format},
		{account.Admin{Email: "a@"}, "email", problem.Format},
		{account.Admin{Email: strings.Repeat("a", 250) + "@b.de"}, "email", problem.Format},
	} {
		_, err := s.FirstStart(t.Context(), bad.Admin, nothingElse)
		p, ok := problem.As(err)
		if !ok || p.Details.Field != bad.field || p.Details.Issue != bad.issue {
			t.Errorf("%q, %d bytes of password: %v; want %s, %s", bad.Email, len(bad.Password), err, bad.field, bad.issue)
			continue
		}
		if strings.Contains(p.Message, "elevenchars") {
			t.Errorf("the message shows the password: %s", p.Message)
		}
	}
	if workspaces, _ := kept.Accounts.Workspaces(t.Context()); len(workspaces) != 0 {
		t.Errorf("refused admins left %d workspaces", len(workspaces))
	}
}

func TestGeneratedPasswordsDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 3 {
		s, _ := setup(t)
		first, err := s.FirstStart(t.Context(), account.Admin{}, nothingElse)
		if err != nil {
			t.Fatal(err)
		}
		if seen[first.Password] {
			t.Fatalf("a password was made twice")
		}
		seen[first.Password] = true
	}
}
