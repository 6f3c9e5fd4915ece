package document

import (
	"context"
	"fmt"
	"slices"

	"keepsake/internal/base/unit"
	"keepsake/internal/govern/event"
)

// Deleted counts the documents of a deletion.
type Deleted struct {
	Matched int // documents that the deletion selects
	Deleted int // documents that were deleted; 0 for a dry run
}

// deleteAtOnce is how many documents a transaction deletes, so that other writes do not wait for long.
const deleteAtOnce = 500

// DeleteIDs deletes the existing documents of ids.
func (s *Service) DeleteIDs(ctx context.Context, workspaceID string, ids []string, dryRun bool) (Deleted, error) {
	var total Deleted
	bulk := event.NewBulk(s.o.Events, event.DocumentDeleted, workspaceID)
	defer bulk.End(ctx)
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	for some := range slices.Chunk(ids, MaxIDs) {
		f := Filter{IDs: some, Sort: ByID, Limit: MaxIDs}
		all := func(*Document) bool { return true }
		if _, err := s.deleteSome(ctx, workspaceID, f, all, dryRun, &total, bulk); err != nil {
			return total, fmt.Errorf("delete documents: %w", err)
		}
	}
	return total, nil
}

// DeleteSelected deletes the documents that a selection matches. It does so in parts, and what was deleted before an error
// stays deleted.
func (s *Service) DeleteSelected(ctx context.Context, workspaceID string, sel Selection, dryRun bool) (Deleted, error) {
	total, err := s.deleteWhere(ctx, workspaceID, sel.filter(), func(d *Document) bool { return matchesAll(d.Metadata, sel.Metadata) }, dryRun)
	if err != nil {
		return total, fmt.Errorf("delete documents: %w", err)
	}
	return total, nil
}

// deleteWhere deletes the documents of f that are selected.
func (s *Service) deleteWhere(ctx context.Context, workspaceID string, f Filter, selected func(*Document) bool, dryRun bool) (Deleted, error) {
	var total Deleted
	bulk := event.NewBulk(s.o.Events, event.DocumentDeleted, workspaceID)
	defer bulk.End(ctx)
	f.Limit = deleteAtOnce
	for {
		next, err := s.deleteSome(ctx, workspaceID, f, selected, dryRun, &total, bulk)
		if err != nil {
			return total, err
		}
		if next == nil {
			return total, nil
		}
		f.After = next
	}
}

// deleteSome deletes those of the documents of f that are selected, and adds them to total. It returns the position after which more can
// follow; nil at the end.
func (s *Service) deleteSome(ctx context.Context, workspaceID string, f Filter, selected func(*Document) bool, dryRun bool, total *Deleted, bulk *event.Bulk) (next *Position, err error) {
	f.Brief = true
	var done Deleted
	work := func(ctx context.Context) error {
		done, next = Deleted{}, nil // the transaction can run several times
		if !dryRun {
			if err := s.o.Store.HoldDocuments(ctx, workspaceID); err != nil {
				return err
			}
		}
		found, err := s.o.Store.ListDocuments(ctx, workspaceID, f)
		if err != nil {
			return err
		}
		var ids []string
		var items []event.Item
		for i := range found {
			if selected(&found[i]) {
				ids = append(ids, found[i].ID)
				items = append(items, event.Item{ID: found[i].ID, Revision: found[i].Revision})
			}
		}
		if len(found) == f.Limit {
			next = found[len(found)-1].position()
		}
		if done.Matched = len(ids); dryRun || len(ids) == 0 {
			return nil
		}
		if done.Deleted, err = s.o.Store.DeleteDocuments(ctx, workspaceID, ids); err != nil {
			return err
		}
		unit.AfterCommit(ctx, func() { s.o.Changed(workspaceID, 0) })
		return bulk.Add(ctx, items, f.IDs == nil && next == nil)
	}
	if dryRun {
		err = work(ctx)
	} else {
		err = s.o.Units.Run(ctx, work)
	}
	if err != nil {
		return nil, err
	}
	total.Matched += done.Matched
	total.Deleted += done.Deleted
	return next, nil
}
