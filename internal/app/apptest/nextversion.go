package apptest

import (
	"context"
	"unicode/utf8"

	"keepsake/internal/app"
	"keepsake/internal/app/config"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/search/document"
	"keepsake/internal/web/endpoint"
)

// NextVersion lets a program declare a version 2 of the API, which the build does not have. Release it to serve it next to
// version 1.
func NextVersion() Option {
	return func(_ *config.Config, d *app.Deps) { d.Declare, d.Steps = DeclareNext, NextSteps }
}

// NextSteps are the steps to the version that DeclareNext declares.
var NextSteps = []lifecycle.Step{
	{
		Version: 2, ID: "document-text-renamed", Summary: "The text of a document is in content.",
		Routes: []string{"GET /documents/{id}"}, Fields: []string{"text"},
		Before: `{"id":"opening-hours","text":"Open from 9 to 5"}`, After: `{"id":"opening-hours","content":"Open from 9 to 5"}`,
	},
	{
		Version: 2, ID: "import-dropped", Summary: "Documents are written one by one.",
		Routes: []string{"POST /documents/import"},
		Before: "POST /api/v1/documents/import\n{\"id\":\"a\",\"text\":\"x\"}\n{\"id\":\"b\",\"text\":\"y\"}",
		After:  "PUT /api/v2/documents/a\n{\"text\":\"x\"}\n\nPUT /api/v2/documents/b\n{\"text\":\"y\"}",
	},
}

// DeclareNext declares version 2: it drops an operation, renames a field through a second handler and adds an operation.
func DeclareNext(r *endpoint.Registry, documents *document.Service) {
	var get endpoint.Operation
	for _, op := range r.Operations() {
		switch op.ID {
		case "importDocuments":
			op.Until = 1
		case "getDocument":
			get = endpoint.Operation{
				ID: op.ID, Method: op.Method, Path: op.Path, Since: 2, Tag: op.Tag, Summary: op.Summary, Credentials: op.Credentials,
				Scope: op.Scope, Status: op.Status, Errors: op.Errors,
			}
		}
	}
	endpoint.Add(r, get, func(ctx context.Context, in *nextGetDocument) (*nextDocument, error) {
		d, err := documents.Document(ctx, auth.From(ctx).WorkspaceID, in.ID)
		if err != nil {
			return nil, err
		}
		out := &nextDocument{ETag: endpoint.ETag(d.Revision)}
		out.Body = nextDocumentView{
			ID: d.ID, Collection: d.Collection, Title: d.Title, Content: d.Text, Tags: d.Tags, Metadata: d.Metadata,
			CreatedAt: wire.At(d.CreatedAt), UpdatedAt: wire.At(d.UpdatedAt), Revision: d.Revision,
		}
		if d.URL != "" {
			out.Body.URL = &d.URL
		}
		if d.Language != "" {
			out.Body.Language = &d.Language
		}
		return out, nil
	})
	endpoint.Add(r, endpoint.Operation{
		ID: "measureDocument", Method: "GET", Path: "/documents/{id}/length", Since: 2, Tag: "documents", Summary: "Measure a document",
		Credentials: endpoint.Key, Scope: auth.Read, Status: 200, Errors: []string{problem.CodeNotFound},
	}, func(ctx context.Context, in *nextGetDocument) (*nextLength, error) {
		d, err := documents.Document(ctx, auth.From(ctx).WorkspaceID, in.ID)
		if err != nil {
			return nil, err
		}
		out := &nextLength{}
		out.Body.Characters = utf8.RuneCountInString(d.Text)
		return out, nil
	})
}

type nextGetDocument struct {
	ID string `path:"id"`
}

type nextDocument struct {
	ETag string `header:"ETag"`
	Body nextDocumentView
}

type nextDocumentView struct {
	ID         string        `json:"id" example:"opening-hours"`
	Collection string        `json:"collection"`
	Title      string        `json:"title"`
	Content    string        `json:"content"`
	URL        *string       `json:"url"`
	Tags       []string      `json:"tags"`
	Metadata   wire.Metadata `json:"metadata"`
	Language   *string       `json:"language"`
	CreatedAt  wire.Time     `json:"createdAt"`
	UpdatedAt  wire.Time     `json:"updatedAt"`
	Revision   int64         `json:"revision"`
}

type nextLength struct {
	Body struct {
		Characters int `json:"characters"`
	}
}
