package search

import (
	"context"
	"fmt"

	"keepsake/internal/base/text"
	"keepsake/internal/search/document"
	"keepsake/internal/search/index"
)

// FeedSource provides the documents to indexes elsewhere.
type FeedSource interface {
	DocumentState(ctx context.Context, workspaceID string) (document.State, error)
	DocumentStates(ctx context.Context, workspaceIDs []string) (map[string]document.State, error)
	HadDocumentState(ctx context.Context, workspaceID string, had document.State) (bool, error)
	FollowDocuments(ctx context.Context, workspaceID string, f document.Following) ([]document.Change, document.State, error)
}

// Feed provides the changes of documents to indexes that are not in this process.
type Feed struct {
	source   FeedSource
	settings SettingsSource // nil: there are none
	analyzer *text.Analyzer
}

// NewFeed returns a Feed. settings can be nil.
func NewFeed(source FeedSource, settings SettingsSource) *Feed {
	return &Feed{source: source, settings: settings, analyzer: text.NewAnalyzer()}
}

// Changes are consecutive changes of a workspace.
type Changes struct {
	List     []index.Change // those of documents
	Last     int64          // the number of the last one, of whatever kind
	Bytes    int            // of text
	Settings bool           // settings of collections are among them
}

// Follow reads changes, and returns the state of the documents that has them.
func (f *Feed) Follow(ctx context.Context, workspaceID string, from document.Following) (*Changes, document.State, error) {
	changes, now, err := f.source.FollowDocuments(ctx, workspaceID, from)
	if err != nil {
		return nil, now, fmt.Errorf("read changes after %d: %w", from.After, err)
	}
	s, err := f.load(ctx, workspaceID) // after the changes, so settings that are among them are not missing
	if err != nil {
		return nil, now, err
	}
	c := &Changes{Last: from.After, Bytes: sizeOf(changes)}
	var documents []document.Change
	for i := range changes {
		c.Last = changes[i].Number
		if changes[i].Collection != "" {
			c.Settings = true
			continue
		}
		documents = append(documents, changes[i])
	}
	c.List = changesOf(documents, s)
	return c, now, nil
}

// State returns the state of the documents.
func (f *Feed) State(ctx context.Context, workspaceID string) (document.State, error) {
	return f.source.DocumentState(ctx, workspaceID)
}

// States returns those of several workspaces.
func (f *Feed) States(ctx context.Context, workspaceIDs []string) (map[string]document.State, error) {
	return f.source.DocumentStates(ctx, workspaceIDs)
}

// HadState reports whether the documents had a state that Follow returned, also after a restore.
func (f *Feed) HadState(ctx context.Context, workspaceID string, had document.State) (bool, error) {
	return f.source.HadDocumentState(ctx, workspaceID, had)
}

// Label identifies how documents are now to be indexed.
func (f *Feed) Label(ctx context.Context, workspaceID string) (string, error) {
	s, err := f.load(ctx, workspaceID)
	if err != nil {
		return "", err
	}
	return labelOf(s.digests), nil
}

func (f *Feed) load(ctx context.Context, workspaceID string) (*settings, error) {
	if f.settings == nil {
		return noSettings, nil
	}
	list, err := f.settings.CollectionSettings(ctx, workspaceID)
	if err != nil {
		return nil, fmt.Errorf("read settings of collections: %w", err)
	}
	return settingsOf(f.analyzer, list), nil
}
