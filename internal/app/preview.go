//go:build !noconsole

package app

import (
	"context"
	"errors"

	"keepsake/internal/base/problem"
	"keepsake/internal/search"
	"keepsake/internal/search/collection"
	"keepsake/internal/web/console"
)

// previewer lets the console search with settings of a collection that are not stored.
func previewer(s *search.Service) console.Previewer {
	return func(ctx context.Context, r console.PreviewRequest) ([]console.PreviewResult, error) {
		settings := &collection.Settings{Fields: r.Settings.Fields}
		if r.Settings.Language != nil {
			settings.Language = *r.Settings.Language
		}
		for _, row := range r.Settings.Synonyms {
			settings.Synonyms = append(settings.Synonyms, collection.Synonym{Words: row.Words, From: row.From, To: row.To, List: row.List})
		}
		err := settings.Check()
		var found *search.Answer
		if err == nil {
			found, err = s.Search(ctx, r.WorkspaceID, search.Request{Query: r.Query, Collection: r.Collection, Limit: r.Limit, Repair: true, Preview: settings})
		}
		if p, ok := problem.As(err); ok {
			return nil, errors.New(p.Message)
		}
		if err != nil {
			return nil, err
		}
		list := make([]console.PreviewResult, len(found.Results))
		for i := range found.Results {
			list[i] = console.PreviewResult{ID: found.Results[i].Document.ID, Title: found.Results[i].Document.Title}
		}
		return list, nil
	}
}
