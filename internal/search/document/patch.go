package document

import (
	"context"
	"fmt"
	"maps"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/revision"
	"keepsake/internal/base/unit"
)

// Patch is a merge patch of a document. A nil field does not change; a zero value removes what the document has.
type Patch struct {
	Collection *string
	Title      *string
	Text       *string
	URL        *string
	Tags       *[]string
	Language   *string
	Metadata   *map[string]any // merged by name: a nil value removes an entry, and a nil map removes all
}

// Patch writes the next revision of a document if ifRevision allows the stored one.
func (s *Service) Patch(ctx context.Context, workspaceID, id string, p Patch, ifRevision revision.Expected) (next *Document, err error) {
	if !ValidID(id) {
		return nil, problem.Missing()
	}
	err = s.o.Units.Run(ctx, func(ctx context.Context) error {
		if err := s.o.Store.HoldDocuments(ctx, workspaceID); err != nil {
			return err
		}
		current, err := s.o.Store.Document(ctx, workspaceID, id)
		if err != nil {
			return err
		}
		if next, err = p.apply(current, s.now()); err != nil {
			return err
		}
		if !ifRevision.Allows(current.Revision) { // after every 400 (docs/spec/scopes.md)
			return problem.RevisionMismatch()
		}
		put := Put{Exists: true, Max: s.o.Max(workspaceID), MaxBytes: s.o.MaxBytes(workspaceID)}
		if _, err := s.o.Store.PutDocument(ctx, workspaceID, next, put); err != nil {
			return err
		}
		stored := next // the number of its change is set when the transaction commits
		unit.AfterCommit(ctx, func() { s.o.Changed(workspaceID, stored.Change) })
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("patch document: %w", err)
	}
	return next, nil
}

// apply returns the next revision of d.
func (p *Patch) apply(d *Document, now time.Time) (*Document, error) {
	f := Fields{Collection: d.Collection, Title: d.Title, Text: d.Text, URL: d.URL, Tags: d.Tags, Metadata: p.metadata(d.Metadata), Language: d.Language}
	set(&f.Collection, p.Collection)
	set(&f.Title, p.Title)
	set(&f.Text, p.Text)
	set(&f.URL, p.URL)
	set(&f.Tags, p.Tags)
	set(&f.Language, p.Language)
	if err := f.check(); err != nil {
		return nil, err
	}
	return f.document(d.ID, now), nil
}

func set[T any](field, to *T) {
	if to != nil {
		*field = *to
	}
}

// metadata merges entries by name.
func (p *Patch) metadata(old map[string]any) map[string]any {
	switch {
	case p.Metadata == nil:
		return old
	case *p.Metadata == nil:
		return nil
	}
	merged := maps.Clone(old)
	maps.Copy(merged, *p.Metadata)
	maps.DeleteFunc(merged, func(_ string, value any) bool { return value == nil })
	return merged
}
