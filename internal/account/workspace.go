package account

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"keepsake/internal/audit"
	"keepsake/internal/auth"
	"keepsake/internal/id"
	"keepsake/internal/limit"
	"keepsake/internal/problem"
	"keepsake/internal/revision"
	"keepsake/internal/unit"
)

// Workspaces concern the whole instance: only the operator workspace's administrators come as far as these methods.

// NewWorkspace is what a workspace is made from.
type NewWorkspace struct {
	Name string
	Tier string // empty: limit.TierFree
}

// WorkspaceChange is what a workspace may be given later; a nil member stays as it is.
type WorkspaceChange struct {
	Name      *string
	Tier      *string
	Suspended *bool
}

// CreateWorkspace makes a tenant. A tier that is not there, or that is only for callers without a credential, is
// problem.Invalid.
func (s *Service) CreateWorkspace(ctx context.Context, p *auth.Principal, n NewWorkspace) (*Workspace, error) {
	if n.Tier == "" {
		n.Tier = limit.TierFree
	}
	if err := s.checkWorkspace(&n.Name, &n.Tier); err != nil {
		return nil, err
	}
	w := &Workspace{ID: s.newID(id.Workspace), Name: n.Name, Tier: n.Tier, CreatedAt: s.now(), Revision: 1}
	err := s.Units.Run(ctx, func(ctx context.Context) error {
		if err := s.Store.CreateWorkspace(ctx, w); err != nil {
			return err
		}
		s.putAfterCommit(ctx, w)
		return s.record(ctx, p, audit.WorkspaceCreated, w.ID, w.ID, map[string]string{"tier": w.Tier})
	})
	if err != nil {
		return nil, fmt.Errorf("create workspace: %w", err)
	}
	return w, nil
}

// Workspace reads one.
func (s *Service) Workspace(ctx context.Context, workspaceID string) (*Workspace, error) {
	if _, ok := id.Parse(id.Workspace, workspaceID); !ok {
		return nil, problem.Missing()
	}
	w, err := s.Store.Workspace(ctx, workspaceID)
	if err != nil {
		return nil, fmt.Errorf("read workspace %s: %w", workspaceID, err)
	}
	return w, nil
}

// ListWorkspaces reads at most limit workspaces, newest first, those made before the one named where one is.
func (s *Service) ListWorkspaces(ctx context.Context, before string, limit int) ([]Workspace, error) {
	list, err := s.Store.ListWorkspaces(ctx, before, limit)
	if err != nil {
		return nil, fmt.Errorf("list workspaces: %w", err)
	}
	return list, nil
}

// ChangeWorkspace changes a workspace, from its commit on for every request; ifRevision must allow the stored
// revision, else problem.Mismatch. What was used stays used, whatever the tier. The operator workspace is never
// suspended: nobody could undo it.
func (s *Service) ChangeWorkspace(ctx context.Context, p *auth.Principal, workspaceID string, ifRevision revision.Expected, c WorkspaceChange) (*Workspace, error) {
	if err := s.checkWorkspace(c.Name, c.Tier); err != nil {
		return nil, err
	}
	var w *Workspace
	err := s.Units.Run(ctx, func(ctx context.Context) (err error) {
		if w, err = s.Workspace(ctx, workspaceID); err != nil {
			return err
		}
		if w.Operator && c.Suspended != nil && *c.Suspended {
			return problem.Conflicts("The operator workspace cannot be suspended.")
		}
		if !ifRevision.Allows(w.Revision) {
			return problem.RevisionMismatch()
		}
		if w.Operator && c.Tier != nil && belowLeast(*s.Directory.Tiers().Lookup(*c.Tier).Tier()) != "" {
			return problem.Validation("tier", problem.NotAllowed, "This tier allows too little for the operator workspace.")
		}
		details := c.apply(w)
		if len(details) == 0 {
			return nil
		}
		w.Revision++
		if err := s.Store.UpdateWorkspace(ctx, w); err != nil {
			return err
		}
		s.putAfterCommit(ctx, w)
		return s.record(ctx, p, audit.WorkspaceChanged, w.ID, w.ID, details)
	})
	if err != nil {
		return nil, fmt.Errorf("change workspace: %w", err)
	}
	return w, nil
}

// apply changes w and says what became different, as the log tells it.
func (c *WorkspaceChange) apply(w *Workspace) map[string]string {
	details := map[string]string{}
	if c.Name != nil && *c.Name != w.Name {
		w.Name, details["name"] = *c.Name, audit.Changed
	}
	if c.Tier != nil && *c.Tier != w.Tier {
		w.Tier, details["tier"] = *c.Tier, *c.Tier
	}
	if c.Suspended != nil && *c.Suspended != w.Suspended {
		w.Suspended, details["suspended"] = *c.Suspended, strconv.FormatBool(*c.Suspended)
	}
	return details
}

func (s *Service) checkWorkspace(name, tier *string) error {
	if name != nil {
		if strings.TrimSpace(*name) == "" {
			return problem.Validation("name", problem.Required, "name must not be blank.")
		}
		if err := checkName(*name); err != nil {
			return err
		}
	}
	if tier != nil && (*tier == limit.TierAnonymous || s.Directory.CheckTier(*tier) != nil) {
		return problem.Validation("tier", problem.NotAllowed, "There is no such tier for workspaces.")
	}
	return nil
}

// putAfterCommit brings the directory up to date. A copy, because the caller goes on with w.
func (s *Service) putAfterCommit(ctx context.Context, w *Workspace) {
	kept := *w
	unit.AfterCommit(ctx, func() { _ = s.Directory.Put(&kept) }) // its tier was checked
}

// record logs what p did to target in a workspace.
func (s *Service) record(ctx context.Context, p *auth.Principal, action audit.Action, workspaceID, target string, details map[string]string) error {
	return s.Audit.Record(ctx, audit.Entry{
		Action: action, WorkspaceID: workspaceID, Actor: p.Actor(), Target: target, Details: details,
	})
}

func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Millisecond) }
