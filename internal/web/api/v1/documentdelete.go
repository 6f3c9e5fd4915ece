package v1

import (
	"context"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/auth"
	"keepsake/internal/search/document"
	"keepsake/internal/web/endpoint"
)

// AddDocumentDeletion declares the deletion of several documents.
func AddDocumentDeletion(r *endpoint.Registry, documents *document.Service) {
	remove := documentOperation("deleteDocuments", "POST", "/delete", "Delete documents by ID, or those that match a selection", auth.Write)
	remove.Description = "With dryRun, which is the default, the operation only counts the documents that it would delete. Documents are deleted in " +
		"parts, so if the request fails, some of them can be deleted already. It can then be repeated."
	remove.Class, remove.MaxBody = endpoint.Batch, endpoint.Small.MaxBody() // it takes long, but needs no large body
	remove.Idempotent, remove.InParts = true, true
	endpoint.Add(r, remove, func(ctx context.Context, in *deleteDocuments) (*deletedDocuments, error) {
		deleted, err := in.run(ctx, documents, auth.From(ctx).WorkspaceID)
		if err != nil {
			return nil, err
		}
		out := &deletedDocuments{}
		out.Body.Matched, out.Body.Deleted = deleted.Matched, deleted.Deleted
		return out, nil
	})
}

type deleteDocuments struct {
	Body struct {
		IDs        []documentID `json:"ids" required:"false" maxItems:"1000" pattern:"^[A-Za-z0-9_|+=@-][A-Za-z0-9._:@|+=-]{0,127}$" doc:"The documents to delete. IDs cannot be combined with a selection."`
		Collection *string      `json:"collection" minLength:"1" maxLength:"128" doc:"Select documents of this collection."`
		Tags       []string     `json:"tags" required:"false" maxItems:"32" minLength:"1" maxLength:"64" doc:"Select documents with all of these tags."`
		Filter     []string     `json:"filter" required:"false" maxItems:"32" doc:"Select documents whose metadata matches all of these comparisons, each in the form name:op:value." example:"year:lt:2020"`
		DryRun     bool         `json:"dryRun" default:"true" doc:"Whether the documents are only counted, and none is deleted."`
	}
}

// Harmless implements endpoint.Harmless.
func (in *deleteDocuments) Harmless() bool { return in.Body.DryRun }

type deletedDocuments struct {
	Body struct {
		Matched int `json:"matched" doc:"The number of documents that exist and are selected."`
		Deleted int `json:"deleted" doc:"The number of documents that were deleted, which is 0 for a dry run."`
	}
}

func (in *deleteDocuments) run(ctx context.Context, documents *document.Service, workspaceID string) (document.Deleted, error) {
	b := &in.Body
	selects := b.Collection != nil || len(b.Tags) > 0 || len(b.Filter) > 0
	switch {
	case len(b.IDs) > 0 && selects:
		return document.Deleted{}, problem.Validation("ids", problem.NotAllowed, "ids cannot be combined with collection, tags or filter.")
	case len(b.IDs) > 0:
		ids := make([]string, len(b.IDs))
		for i, id := range b.IDs {
			ids[i] = string(id)
		}
		return documents.DeleteIDs(ctx, workspaceID, ids, b.DryRun)
	case !selects:
		return document.Deleted{}, problem.Validation("ids", problem.Required, "ids, collection, tags or filter is required.")
	}
	metadata, err := comparisons(b.Filter, func(i int) string { return item("filter", i) })
	if err != nil {
		return document.Deleted{}, err
	}
	selection := document.Selection{Collection: textOrEmpty(b.Collection), Tags: b.Tags, Metadata: metadata}
	return documents.DeleteSelected(ctx, workspaceID, selection, b.DryRun)
}
