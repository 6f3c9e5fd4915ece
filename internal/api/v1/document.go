package v1

import (
	"context"
	"io"
	"iter"

	"keepsake/internal/auth"
	"keepsake/internal/document"
	"keepsake/internal/endpoint"
	"keepsake/internal/page"
	"keepsake/internal/problem"
	"keepsake/internal/wire"
)

// AddDocuments declares the operations on documents.
func AddDocuments(r *endpoint.Registry, documents *document.Service, cursors *page.Sealer) {
	op := func(id, method, path, summary string, scope auth.Scopes) endpoint.Operation {
		return endpoint.Operation{
			ID: id, Method: method, Path: path, Since: 1, Tag: "documents", Summary: summary,
			Credentials: endpoint.Key | endpoint.Bearer, Scope: scope, Status: 200,
		}
	}

	create := op("createDocument", "POST", "/documents", "Create a document", auth.Write)
	create.Description = "If the document has no ID, one is generated."
	create.Status, create.Idempotent = 201, true
	create.Errors = []string{problem.CodeConflict, problem.CodeLimitReached}
	endpoint.Add(r, create, func(ctx context.Context, in *createDocument) (*createdDocument, error) {
		id := ""
		if in.Body.ID != nil {
			id = *in.Body.ID
		}
		d, err := documents.Create(ctx, auth.From(ctx).WorkspaceID, id, in.Body.fields())
		if err != nil {
			return nil, err
		}
		return &createdDocument{ETag: endpoint.ETag(d.Revision), Location: documentPath(d), Body: viewOfDocument(d)}, nil
	})

	put := op("putDocument", "PUT", "/documents/{id}", "Create or replace a document", auth.Write)
	put.Description = "With If-None-Match: *, the operation creates a document and does not replace one."
	put.Errors = []string{problem.CodeLimitReached, problem.CodeRevisionMismatch}
	endpoint.Add(r, put, func(ctx context.Context, in *putDocument) (*storedDocument, error) {
		condition := document.Condition{
			Exists: in.IfMatch.Any, Revision: in.IfMatch.Revisions(),
			Absent: in.IfNoneMatch.Any, NotRevision: in.IfNoneMatch.Revisions,
		}
		d, created, err := documents.Put(ctx, auth.From(ctx).WorkspaceID, in.ID, in.Body.fields(), condition)
		if err != nil {
			return nil, err
		}
		out := &storedDocument{Status: 200, ETag: endpoint.ETag(d.Revision), Body: viewOfDocument(d)}
		if created {
			out.Status, out.Location = 201, documentPath(d)
		}
		return out, nil
	})

	get := op("getDocument", "GET", "/documents/{id}", "Get a document", auth.Read)
	get.Errors = []string{problem.CodeNotFound}
	endpoint.Add(r, get, func(ctx context.Context, in *getDocument) (*oneDocument, error) {
		d, err := documents.Document(ctx, auth.From(ctx).WorkspaceID, in.ID)
		if err != nil {
			return nil, err
		}
		return &oneDocument{ETag: endpoint.ETag(d.Revision), Body: viewOfDocument(d)}, nil
	})

	remove := op("deleteDocument", "DELETE", "/documents/{id}", "Delete a document", auth.Write)
	remove.Status = 204
	remove.Errors = []string{problem.CodeNotFound, problem.CodeRevisionMismatch}
	endpoint.Add(r, remove, func(ctx context.Context, in *deleteDocument) (*struct{}, error) {
		// `If-Match: *` only requires what the 404 checks anyway.
		err := documents.Delete(ctx, auth.From(ctx).WorkspaceID, in.ID, in.IfMatch.Revisions())
		if err != nil {
			return nil, err
		}
		return &struct{}{}, nil
	})

	list := op("listDocuments", "GET", "/documents", "List documents in the order of their IDs", auth.Read)
	endpoint.Add(r, list, func(ctx context.Context, in *listDocuments) (*documentList, error) {
		return in.list(ctx, documents, cursors)
	})

	load := op("importDocuments", "POST", "/documents/import", "Import documents from lines of JSON", auth.Write)
	load.Description = "Each line is a document in the format of createDocument. A document whose ID exists is replaced. An invalid line does " +
		"not affect the others. If the request has an Idempotency-Key, every line must have an ID."
	load.Class, load.Media, load.Idempotent = endpoint.Stream, "application/x-ndjson", true
	decoder := endpoint.NewDecoder[newDocument]()
	endpoint.Add(r, load, func(ctx context.Context, in *importDocuments) (*importResult, error) {
		imported, err := documents.Import(ctx, auth.From(ctx).WorkspaceID, documentLines(in.Stream, decoder),
			document.ImportOptions{RequireID: in.IdempotencyKey != ""})
		if err != nil {
			return nil, err
		}
		return viewOfImport(imported), nil
	})
}

// documentFields are the fields of a document that a client writes.
type documentFields struct {
	Collection *string       `json:"collection" minLength:"1" maxLength:"128" doc:"The collection that the document belongs to. The default is the collection named default." example:"handbook"`
	Title      string        `json:"title" required:"false" maxLength:"1024" doc:"The title. At least one of title and text must not be blank." example:"Opening hours"`
	Text       string        `json:"text" required:"false" maxBytes:"262144" example:"We are open from nine to five."`
	URL        *string       `json:"url" format:"uri" maxLength:"2048" doc:"The http or https URL of the original."`
	Tags       []string      `json:"tags" required:"false" maxItems:"32" minLength:"1" maxLength:"64"`
	Metadata   wire.Metadata `json:"metadata" required:"false" maxProperties:"32" doc:"Named values: strings of at most 1,024 characters, numbers or booleans."`
}

func (f *documentFields) fields() document.Fields {
	fields := document.Fields{Title: f.Title, Text: f.Text, Tags: f.Tags, Metadata: f.Metadata}
	if f.Collection != nil {
		fields.Collection = *f.Collection
	}
	if f.URL != nil {
		fields.URL = *f.URL
	}
	return fields
}

type newDocument struct {
	ID *string `json:"id" pattern:"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$" doc:"The ID of the document. If it is omitted, one is generated." example:"opening-hours"`
	documentFields
}

type createDocument struct {
	Body newDocument
}

type putDocument struct {
	ID          string               `path:"id" pattern:"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$"`
	IfMatch     endpoint.IfMatch     `header:"If-Match"`
	IfNoneMatch endpoint.IfNoneMatch `header:"If-None-Match" doc:"With *, an existing document is not replaced and the request is refused with 412."`
	Body        documentFields
}

type getDocument struct {
	ID string `path:"id"`
}

type deleteDocument struct {
	ID      string           `path:"id"`
	IfMatch endpoint.IfMatch `header:"If-Match"`
}

type importDocuments struct {
	IdempotencyKey string `header:"Idempotency-Key"`
	Stream         io.Reader
}

type documentView struct {
	ID         string        `json:"id" example:"opening-hours"`
	Collection string        `json:"collection"`
	Title      string        `json:"title"`
	Text       string        `json:"text"`
	URL        *string       `json:"url"`
	Tags       []string      `json:"tags"`
	Metadata   wire.Metadata `json:"metadata"`
	CreatedAt  wire.Time     `json:"createdAt"`
	UpdatedAt  wire.Time     `json:"updatedAt"`
	Revision   int64         `json:"revision"`
}

type oneDocument struct {
	ETag string `header:"ETag"`
	Body documentView
}

type createdDocument struct {
	ETag     string `header:"ETag"`
	Location string `header:"Location"`
	Body     documentView
}

type storedDocument struct {
	Status   int    `enum:"200,201"`
	ETag     string `header:"ETag"`
	Location string `header:"Location"`
	Body     documentView
}

func documentPath(d *document.Document) string { return "/documents/" + d.ID }

func viewOfDocument(d *document.Document) documentView {
	return documentView{
		ID: d.ID, Collection: d.Collection, Title: d.Title, Text: d.Text, URL: textOrNull(d.URL), Tags: d.Tags,
		Metadata: d.Metadata, CreatedAt: wire.At(d.CreatedAt), UpdatedAt: wire.At(d.UpdatedAt), Revision: d.Revision,
	}
}

// textOrNull returns nil for "".
func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

type listDocuments struct {
	Collection string   `query:"collection"`
	Tags       []string `query:"tag" maxItems:"32" doc:"The tags to match. All of them must match."`
	pageQuery
}

type documentList struct {
	Body struct {
		Items      iter.Seq2[*documentView, error] `json:"items"`
		NextCursor *string                         `json:"nextCursor"`
	}
}

func (in *listDocuments) list(ctx context.Context, documents *document.Service, cursors *page.Sealer) (*documentList, error) {
	workspaceID := auth.From(ctx).WorkspaceID
	scope := page.Scope(workspaceID, "listDocuments", append([]string{in.Collection}, in.Tags...)...)
	found, next, err := readAhead(in.pageQuery, cursors, scope, func(after *string, limit int) ([]document.Document, error) {
		filter := document.Filter{Collection: in.Collection, Tags: in.Tags, Limit: limit}
		if after != nil {
			filter.AfterID = *after
		}
		return documents.List(ctx, workspaceID, filter)
	}, func(d document.Document) string { return d.ID })
	if err != nil {
		return nil, err
	}
	out := &documentList{}
	out.Body.NextCursor = next
	out.Body.Items = views(found, func(d document.Document) documentView { return viewOfDocument(&d) })
	return out, nil
}
