package search

import (
	"context"
	"fmt"

	"keepsake/internal/base/text"
	"keepsake/internal/search/document"
	"keepsake/internal/search/index"
)

// Feed provides the changes of documents to indexes that are not in this process.
type Feed struct {
	source   Source
	settings SettingsSource // nil: there are none
	analyzer *text.Analyzer
}

// NewFeed returns a Feed. settings can be nil.
func NewFeed(source Source, settings SettingsSource) *Feed {
	return &Feed{source: source, settings: settings, analyzer: text.NewAnalyzer()}
}

// Changes are consecutive changes of a workspace.
type Changes struct {
	List     []index.Change // those of documents
	Last     int64          // the number of the last one, of whatever kind
	Bytes    int            // of text
	Settings bool           // settings of collections are among them
}

// Changes reads at most limit changes after a number.
func (f *Feed) Changes(ctx context.Context, workspaceID string, after int64, limit int) (*Changes, error) {
	changes, err := f.source.DocumentChanges(ctx, workspaceID, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read changes after %d: %w", after, err)
	}
	s, err := f.load(ctx, workspaceID) // after the changes, so settings that are among them are not missing
	if err != nil {
		return nil, err
	}
	c := &Changes{Last: after, Bytes: sizeOf(changes)}
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
	return c, nil
}

// LastChange returns the number of the last change, or 0.
func (f *Feed) LastChange(ctx context.Context, workspaceID string) (int64, error) {
	return f.source.DocumentChange(ctx, workspaceID)
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
