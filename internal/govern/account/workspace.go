package account

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/revision"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
)

// Only operators call these methods: workspaces concern the whole instance.

// NewWorkspace is what the creator of a workspace chooses.
type NewWorkspace struct {
	Name string
	Tier string // empty: limit.TierFree
}

// WorkspaceChange is a change of a workspace. A nil field stays as it is.
type WorkspaceChange struct {
	Name       *string
	Tier       *string
	Suspended  *bool
	Embeddings *bool
	// SearchEngine is where the search index is to be. It is moved in the background.
	SearchEngine *string
}

// CreateWorkspace creates a workspace. It returns problem.Invalid for a tier that does not exist and for the anonymous tier.
func (s *Service) CreateWorkspace(ctx context.Context, p *auth.Principal, n NewWorkspace) (*Workspace, error) {
	if n.Tier == "" {
		n.Tier = limit.TierFree
	}
	if err := s.checkWorkspace(&n.Name, &n.Tier); err != nil {
		return nil, err
	}
	w := &Workspace{ID: s.newID(id.Workspace), Name: n.Name, Tier: n.Tier, CreatedAt: s.now(), Revision: 1}
	w.Search.Engine = cmp.Or(s.SearchEngine, SearchLocal)
	w.Search.Reads = w.Search.Engine
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

// Workspace reads a workspace.
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

// ListWorkspaces reads at most limit workspaces, newest first, starting after the one with the ID before unless that is
// empty.
func (s *Service) ListWorkspaces(ctx context.Context, before string, limit int) ([]Workspace, error) {
	list, err := s.Store.ListWorkspaces(ctx, before, limit)
	if err != nil {
		return nil, fmt.Errorf("list workspaces: %w", err)
	}
	return list, nil
}

// ChangeWorkspace changes a workspace. The change is in force from the commit on, and a new tier does not reset what was
// used. It returns problem.Mismatch if ifRevision does not allow the stored revision. The operator workspace cannot be
// suspended, because its administrators could not undo that.
func (s *Service) ChangeWorkspace(ctx context.Context, p *auth.Principal, workspaceID string, ifRevision revision.Expected, c WorkspaceChange) (*Workspace, error) {
	if err := s.checkWorkspace(c.Name, c.Tier); err != nil {
		return nil, err
	}
	if err := s.checkSearch(ctx, c.SearchEngine); err != nil {
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
			return problem.Validation("tier", problem.NotAllowed, "The limits of this tier are too low for the operator workspace.")
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

// apply changes w and returns what has changed, for the audit log.
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
	if c.Embeddings != nil && *c.Embeddings != w.Embeddings {
		w.Embeddings, details["embeddings"] = *c.Embeddings, strconv.FormatBool(*c.Embeddings)
	}
	if c.SearchEngine != nil && *c.SearchEngine != w.Search.Engine {
		w.Search.Engine, details["searchEngine"] = *c.SearchEngine, *c.SearchEngine
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
		return problem.Validation("tier", problem.NotAllowed, "This tier does not exist, or is not for workspaces.")
	}
	return nil
}

// putAfterCommit puts a copy of w into the directory after the commit, because the caller can change w.
func (s *Service) putAfterCommit(ctx context.Context, w *Workspace) {
	kept := *w
	unit.AfterCommit(ctx, func() {
		_ = s.Directory.Put(&kept) // its tier was checked
		if s.Changed != nil {
			s.Changed(kept.ID)
		}
	})
}

// record adds a row to the audit log: what p did to target in a workspace.
func (s *Service) record(ctx context.Context, p *auth.Principal, action audit.Action, workspaceID, target string, details map[string]string) error {
	return s.Audit.Record(ctx, audit.Entry{
		Action: action, WorkspaceID: workspaceID, Actor: p.Actor(), Target: target, Details: details,
	})
}

func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Millisecond) }
