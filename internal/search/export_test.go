package search

import (
	"context"

	"keepsake/internal/base/text"
	"keepsake/internal/search/document"
	"keepsake/internal/search/index"
)

// Look looks over all workspaces now, as happens every lookEvery.
func (x *Indexer) Look(ctx context.Context) error { return x.look(ctx) }

// ChangesOf returns what an index needs of the changes after one, and the number of the last. After a change of settings, these are all.
func ChangesOf(ctx context.Context, o IndexerOptions, workspaceID string, after int64) (list []index.Change, last int64, err error) {
	changes, _, err := o.Source.FollowDocuments(ctx, workspaceID, document.Following{After: after, Limit: 1_000_000})
	if err != nil {
		return nil, 0, err
	}
	for i := range changes {
		if last = changes[i].Number; changes[i].Collection != "" && after > 0 {
			return ChangesOf(ctx, o, workspaceID, 0)
		}
	}
	tuned := noSettings
	if o.Settings != nil {
		all, err := o.Settings.CollectionSettings(ctx, workspaceID)
		if err != nil {
			return nil, 0, err
		}
		tuned = settingsOf(text.NewAnalyzer(), all)
	}
	var documents []document.Change
	for i := range changes {
		if changes[i].Collection == "" {
			documents = append(documents, changes[i])
		}
	}
	return changesOf(documents, tuned), last, nil
}
