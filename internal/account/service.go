package account

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"keepsake/internal/audit"
	"keepsake/internal/id"
	"keepsake/internal/limit"
	"keepsake/internal/problem"
	"keepsake/internal/unit"
)

// Options is what a Service needs.
type Options struct {
	Store     Store
	Units     unit.Runner
	Directory *Directory
	Audit     audit.Recorder        // of what administrators do
	Sessions  Sessions              // learns what becomes of users; nil where nobody can sign in
	Hashing   Hashing               // where passwords are hashed; nil where that needs no bounds
	Anonymous func(limit.Allowance) // told what callers without a credential may use, when that changes; may be nil
	Cost      PasswordCost          // of hashes that are not left to Hashing; zero but in tests
	Random    io.Reader             // of ids, salts and passwords: crypto/rand.Reader but in tests
	Now       func() time.Time
}

// Service holds the rules of workspaces and users. All of it is safe for concurrent use.
type Service struct {
	Options
	tiers tierTurns
}

// NewService makes a Service.
func NewService(o Options) *Service {
	if o.Sessions == nil {
		o.Sessions = noSessions{}
	}
	return &Service{Options: o}
}

// noSessions are those of a service that nobody can sign in to.
type noSessions struct{}

func (noSessions) EndUser(context.Context, string) error { return nil }

func (noSessions) UserChanged(context.Context, string) {}

// What a first start makes when nobody says otherwise.
const (
	FirstWorkspace = "default"
	FirstEmail     = "admin@localhost"
)

// Admin is the user a first start makes.
type Admin struct {
	Email    string // empty: FirstEmail
	Password string // 12 to 128 characters; empty: one is generated
}

// First is what a first start made.
type First struct {
	WorkspaceID string
	UserID      string
	Email       string
	Password    string // only when it was generated: this is the one time it can be read
}

// FirstStart makes the operator workspace and its admin. also runs in the same unit of work, so that whatever else
// belongs to a first start is there with them or not at all; like every such function it may run more than once.
//
// A password or an email that will not do is problem.Invalid; an instance that has its operator workspace already is
// problem.Conflict, and nothing is changed.
func (s *Service) FirstStart(ctx context.Context, admin Admin, also func(ctx context.Context, workspaceID string) error) (*First, error) {
	email := FirstEmail
	if admin.Email != "" {
		email = FoldEmail(admin.Email)
	}
	if err := checkEmail(email); err != nil {
		return nil, err
	}
	first := &First{WorkspaceID: s.newID(id.Workspace), UserID: s.newID(id.User), Email: email}
	password := admin.Password
	if password == "" {
		password = generatePassword(s.Random)
		first.Password = password
	} else if err := checkPassword(password); err != nil {
		return nil, err
	}
	now := s.Now().UTC().Truncate(time.Millisecond)
	workspace := &Workspace{
		ID: first.WorkspaceID, Name: FirstWorkspace, Tier: limit.TierUnlimited, Operator: true,
		CreatedAt: now, Revision: 1,
	}
	user := &User{
		ID: first.UserID, WorkspaceID: workspace.ID, Email: email, Role: RoleAdmin,
		PasswordHash: hashPassword(password, s.Cost, s.Random), // before the unit: it takes tens of milliseconds
		CreatedAt:    now, Revision: 1,
	}
	if err := s.Directory.CheckTier(workspace.Tier); err != nil {
		return nil, err
	}
	err := s.Units.Run(ctx, func(ctx context.Context) error {
		if err := s.Store.CreateWorkspace(ctx, workspace); err != nil {
			return fmt.Errorf("create workspace: %w", err)
		}
		if err := s.Store.CreateUser(ctx, user); err != nil {
			return fmt.Errorf("create user: %w", err)
		}
		unit.AfterCommit(ctx, func() { _ = s.Directory.Put(workspace) }) // its tier was checked
		return also(ctx, workspace.ID)
	})
	if err != nil {
		return nil, fmt.Errorf("first start: %w", err)
	}
	return first, nil
}

func (s *Service) newID(prefix string) string { return id.At(prefix, s.Now(), s.Random) }

// FoldEmail writes an email the one way it is stored and compared: trimmed, lower case, NFC.
func FoldEmail(email string) string {
	return norm.NFC.String(strings.ToLower(strings.TrimSpace(email)))
}

// checkEmail refuses a folded email that cannot be one.
func checkEmail(email string) error {
	at := strings.LastIndexByte(email, '@')
	if at < 1 || at == len(email)-1 || strings.IndexByte(email, '@') != at || len(email) > 254 || strings.ContainsFunc(email, notInEmail) {
		return problem.Validation("email", problem.Format, "This is not an email address.")
	}
	return nil
}

func notInEmail(r rune) bool { return r <= ' ' || r == 0x7f || r == '\uFFFD' }
