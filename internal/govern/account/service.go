package account

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/limit"
)

// Options is what a Service needs.
type Options struct {
	Store     Store
	Units     unit.Runner
	Directory *Directory
	Audit     audit.Recorder           // of what administrators do
	Sessions  Sessions                 // notified of changes of users; nil if users cannot sign in
	Hashing   Hashing                  // hashes passwords; nil: without bounds
	Anonymous func(limit.Allowance)    // called with the anonymous tier's limits after a change; can be nil
	Changed   func(workspaceID string) // called after a change of a workspace; can be nil
	// SearchEngine is that of new workspaces; empty: SearchLocal. SearchReady reports whether OpenSearch can have an index; nil: there is
	// no cluster.
	SearchEngine string
	SearchReady  func(ctx context.Context) error
	Cost         PasswordCost // of hashes without Hashing; zero except in tests
	Random       io.Reader    // for IDs, salts and passwords: crypto/rand.Reader except in tests
	Now          func() time.Time
}

// Service implements the rules of workspaces and users. It is safe for concurrent use.
type Service struct {
	Options
	tiers tierRevisions
}

// NewService returns a Service.
func NewService(o Options) *Service {
	if o.Sessions == nil {
		o.Sessions = noSessions{}
	}
	return &Service{Options: o}
}

// noSessions is used if users cannot sign in.
type noSessions struct{}

func (noSessions) EndUser(context.Context, string) error { return nil }

func (noSessions) UserChanged(context.Context, string) {}

// The defaults of a first start.
const (
	FirstWorkspace = "default"
	FirstEmail     = "admin@localhost"
)

// Admin is the user that a first start creates.
type Admin struct {
	Email    string // empty: FirstEmail
	Password string // 12 to 128 characters; empty: one is generated
}

// First is what a first start created.
type First struct {
	WorkspaceID string
	UserID      string
	Email       string
	Password    string // only if it was generated; it cannot be read again
}

// FirstStart creates the operator workspace and its admin. also runs in the same transaction and can run more than once.
//
// FirstStart returns problem.Invalid for an invalid password or email, and problem.Conflict if the instance already has its
// operator workspace.
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
		Search: SearchPlace{SearchLocal, SearchLocal}, CreatedAt: now, Revision: 1,
	}
	user := &User{
		ID: first.UserID, WorkspaceID: workspace.ID, Email: email, Role: RoleAdmin,
		PasswordHash: hashPassword(password, s.Cost, s.Random), // before the transaction: it takes tens of milliseconds
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

// FoldEmail returns an email as it is stored and compared: trimmed, lower case, NFC.
func FoldEmail(email string) string {
	return norm.NFC.String(strings.ToLower(strings.TrimSpace(email)))
}

// checkEmail refuses a folded email that is not an address.
func checkEmail(email string) error {
	at := strings.LastIndexByte(email, '@')
	if at < 1 || at == len(email)-1 || strings.IndexByte(email, '@') != at || len(email) > 254 || strings.ContainsFunc(email, notInEmail) {
		return problem.Validation("email", problem.Format, "This is not an email address.")
	}
	return nil
}

func notInEmail(r rune) bool { return r <= ' ' || r == 0x7f || r == '\uFFFD' }
