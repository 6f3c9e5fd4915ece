package collection

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/revision"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/search/document"
)

// Options is what a Service needs.
type Options struct {
	Store Store
	Units unit.Runner
	Audit audit.Recorder
	// MaxBytes returns how many bytes a workspace can store; nil is no limit.
	MaxBytes func(workspaceID string) *int64
	// Changed is called after a change is committed. number is that of the change among those of the workspace's documents.
	Changed func(workspaceID string, number int64)
	Now     func() time.Time
}

// Service manages the settings of collections. It is safe for concurrent use.
type Service struct{ o Options }

// NewService returns a Service.
func NewService(o Options) *Service { return &Service{o} }

// Collection reads a collection. It returns problem.Missing if it has neither documents nor settings.
func (s *Service) Collection(ctx context.Context, workspaceID, name string) (*Collection, error) {
	if utf8.RuneCountInString(name) > document.MaxCollection {
		return nil, problem.Missing()
	}
	c, err := s.o.Store.Collection(ctx, workspaceID, name)
	if err != nil {
		return nil, fmt.Errorf("read collection: %w", err)
	}
	return c, nil
}

// List lists collections in the order of their names: at most limit after a name.
func (s *Service) List(ctx context.Context, workspaceID, after string, limit int) ([]Collection, error) {
	list, err := s.o.Store.ListCollections(ctx, workspaceID, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list collections: %w", err)
	}
	return list, nil
}

// Condition is the condition of a change. The zero value is always true. A collection without settings has revisions, too.
type Condition struct {
	Exists      bool              // there must be settings
	Absent      bool              // there must not be settings
	Revision    revision.Expected // the stored revision must be one of these
	NotRevision revision.Expected // the stored revision must be none of these
}

func (c *Condition) allows(stored *Collection) bool {
	exists := stored.Settings != nil
	return (exists || !c.Exists) && (!exists || !c.Absent) && c.Revision.Allows(stored.Revision) &&
		!slices.Contains(c.NotRevision, stored.Revision)
}

// Put replaces the settings of a collection of p's workspace, which need not have documents. It returns problem.LimitReached if
// the workspace would have too many synonyms, and a problem.Mismatch for a condition that is false.
func (s *Service) Put(ctx context.Context, p *auth.Principal, name string, settings Settings, condition Condition) (*Collection, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	if err := settings.Check(); err != nil {
		return nil, err
	}
	return s.change(ctx, p, name, condition, audit.CollectionChanged, func(ctx context.Context, c *Collection) error {
		others, err := s.o.Store.SynonymRows(ctx, p.WorkspaceID, name)
		if err != nil {
			return err
		}
		if others+int64(len(settings.Synonyms)) > MaxRows {
			return problem.LimitReached("synonyms", fmt.Sprintf("The collections of a workspace can have at most %d rows of synonyms together.", MaxRows))
		}
		now := s.o.Now().UTC().Truncate(time.Millisecond)
		c.Settings, c.UpdatedAt = &settings, &now
		return nil
	})
}

// Delete removes the settings of a collection. Its documents stay.
func (s *Service) Delete(ctx context.Context, p *auth.Principal, name string, condition Condition) error {
	if CheckName(name) != nil {
		return problem.Missing()
	}
	_, err := s.change(ctx, p, name, condition, audit.CollectionDeleted, func(_ context.Context, c *Collection) error {
		if c.Settings == nil {
			return problem.Missing()
		}
		c.Settings, c.UpdatedAt = nil, nil
		return nil
	})
	return err
}

// change writes the next revision of the settings of a collection, which set makes. What set refuses comes before condition.
func (s *Service) change(
	ctx context.Context, p *auth.Principal, name string, condition Condition, action audit.Action, set func(context.Context, *Collection) error,
) (c *Collection, err error) {
	err = s.o.Units.Run(ctx, func(ctx context.Context) error {
		if c, err = s.o.Store.HoldCollection(ctx, p.WorkspaceID, name); err != nil {
			return err
		}
		stored := *c
		if err := set(ctx, c); err != nil {
			return err
		}
		if !condition.allows(&stored) {
			return problem.RevisionMismatch()
		}
		c.Revision++
		number, err := s.o.Store.SaveSettings(ctx, p.WorkspaceID, c, s.o.MaxBytes(p.WorkspaceID))
		if err != nil {
			return err
		}
		unit.AfterCommit(ctx, func() { s.o.Changed(p.WorkspaceID, number) })
		return s.o.Audit.Record(ctx, audit.Entry{
			Action: action, WorkspaceID: p.WorkspaceID, Actor: p.Actor(), Target: "collection:" + name, Details: c.details(),
		})
	})
	if err != nil {
		return nil, fmt.Errorf("change collection: %w", err)
	}
	return c, nil
}

// details describes the settings for the audit log, without the texts in them.
func (c *Collection) details() map[string]string {
	details := map[string]string{"revision": strconv.FormatInt(c.Revision, 10)}
	if c.Settings != nil {
		details["language"] = c.Settings.Language
		details["synonyms"] = strconv.Itoa(len(c.Settings.Synonyms))
		details["fields"] = strconv.Itoa(len(c.Settings.Fields))
	}
	return details
}
