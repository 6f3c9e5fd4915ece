package v1

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"keepsake/internal/base/page"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/auth"
	"keepsake/internal/search/document"
	"keepsake/internal/web/endpoint"
)

// AddDocuments declares the operations on documents.
func AddDocuments(r *endpoint.Registry, documents *document.Service, cursors *page.Sealer) {
	create := documentOperation("createDocument", "POST", "", "Create a document", auth.Write)
	create.Description = "If the document has no ID, one is generated."
	create.Status, create.Idempotent = 201, true
	create.Errors = []string{problem.CodeConflict, problem.CodeLimitReached}
	endpoint.Add(r, create, func(ctx context.Context, in *createDocument) (*createdDocument, error) {
		id := ""
		if in.Body.ID != nil {
			id = string(*in.Body.ID)
		}
		d, err := documents.Create(ctx, auth.From(ctx).WorkspaceID, id, in.Body.fields())
		if err != nil {
			return nil, err
		}
		return &createdDocument{ETag: endpoint.ETag(d.Revision), Location: documentPath(d), Body: viewOfDocument(d)}, nil
	})

	put := documentOperation("putDocument", "PUT", "/{id}", "Create or replace a document", auth.Write)
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

	get := documentOperation("getDocument", "GET", "/{id}", "Get a document", auth.Read)
	get.Description = "The response contains the whole document, whatever its collection."
	get.Errors = []string{problem.CodeNotFound}
	endpoint.Add(r, get, func(ctx context.Context, in *getDocument) (*oneDocument, error) {
		d, err := documents.Document(ctx, auth.From(ctx).WorkspaceID, in.ID)
		if err != nil {
			return nil, err
		}
		return &oneDocument{ETag: endpoint.ETag(d.Revision), Body: viewOfDocument(d)}, nil
	})

	change := documentOperation("changeDocument", "PATCH", "/{id}", "Change a document", auth.Write)
	change.Description = "The body is a merge patch. Fields that are omitted do not change, null removes a field, and metadata is merged name by name."
	change.Errors = []string{problem.CodeNotFound, problem.CodeLimitReached, problem.CodeRevisionMismatch}
	endpoint.Add(r, change, func(ctx context.Context, in *changeDocument) (*oneDocument, error) {
		// `If-Match: *` only requires what the 404 checks anyway.
		d, err := documents.Patch(ctx, auth.From(ctx).WorkspaceID, in.ID, in.patch(), in.IfMatch.Revisions())
		if err != nil {
			return nil, err
		}
		return &oneDocument{ETag: endpoint.ETag(d.Revision), Body: viewOfDocument(d)}, nil
	})

	remove := documentOperation("deleteDocument", "DELETE", "/{id}", "Delete a document", auth.Write)
	remove.Description = "The next search does not find the document. Its ID can be used again."
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

	list := documentOperation("listDocuments", "GET", "", "List documents", auth.Read)
	list.Description = "If filter is given, a page can have fewer items than limit, or none, although nextCursor is not null."
	endpoint.Add(r, list, func(ctx context.Context, in *listDocuments) (*documentList, error) {
		return in.list(ctx, documents, cursors)
	})
}

// documentOperation is what the operations on documents have in common.
func documentOperation(id, method, path, summary string, scope auth.Scopes) endpoint.Operation {
	return endpoint.Operation{
		ID: id, Method: method, Path: "/documents" + path, Since: 1, Tag: "documents", Summary: summary,
		Credentials: endpoint.Key | endpoint.Bearer, Scope: scope, Status: 200,
	}
}

// documentFields are the fields of a document that a client writes.
type documentFields struct {
	Collection *string            `json:"collection" minLength:"1" maxLength:"128" doc:"The collection that the document belongs to. The default is the collection named default." example:"handbook"`
	Title      string             `json:"title" required:"false" maxLength:"1024" doc:"The title. At least one of title and text must not be blank." example:"Opening hours"`
	Text       string             `json:"text" required:"false" maxBytes:"262144" doc:"The text that search finds and shows in snippets. At least one of title and text must not be blank." example:"We are open from nine to five."`
	URL        *string            `json:"url" format:"uri" maxLength:"2048" doc:"The http or https URL of the original."`
	Tags       []string           `json:"tags" required:"false" maxItems:"32" minLength:"1" maxLength:"64" doc:"Words to select documents by, in lists and searches. Repeated ones are stored once."`
	Metadata   wire.MetadataLists `json:"metadata" required:"false" maxProperties:"32" doc:"Named values: strings of at most 1,024 characters, numbers, booleans, or arrays of at most 64 of these."`
	Language   *string            `json:"language" minLength:"1" doc:"The language of the document, as a code that GET /api/v1/languages lists. Without one, it is that of the collection's settings, or else that of the document's own words." example:"en"`
}

func (f *documentFields) fields() document.Fields {
	fields := document.Fields{Title: f.Title, Text: f.Text, Tags: f.Tags, Metadata: f.Metadata}
	if f.Collection != nil {
		fields.Collection = *f.Collection
	}
	if f.URL != nil {
		fields.URL = *f.URL
	}
	if f.Language != nil {
		fields.Language = *f.Language
	}
	return fields
}

// documentID is the ID of a document in a body, where an integer is taken as its digits.
type documentID string

// UnmarshalJSONFrom decodes a string or an integer.
func (id *documentID) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '0' {
		return json.UnmarshalDecode(dec, (*string)(id))
	}
	number, err := dec.ReadValue()
	if err != nil {
		return err
	}
	digits, ok := wire.IntegerText(string(number))
	if !ok {
		return &json.SemanticError{JSONPointer: dec.StackPointer(), JSONKind: '0', Err: errors.New("no integer")}
	}
	*id = documentID(digits)
	return nil
}

type newDocument struct {
	ID *documentID `json:"id" pattern:"^[A-Za-z0-9_|+=@-][A-Za-z0-9._:@|+=-]{0,127}$" doc:"The ID of the document. If it is omitted, one is generated. An integer is taken as its digits." example:"opening-hours"`
	documentFields
}

type createDocument struct {
	Body newDocument
}

type putDocument struct {
	ID          string               `path:"id" pattern:"^[A-Za-z0-9_|+=@-][A-Za-z0-9._:@|+=-]{0,127}$" doc:"The ID of the document, which the client chooses."`
	IfMatch     endpoint.IfMatch     `header:"If-Match"`
	IfNoneMatch endpoint.IfNoneMatch `header:"If-None-Match" doc:"With *, an existing document is not replaced and the request is refused with 412."`
	Body        documentFields
}

type getDocument struct {
	ID string `path:"id" doc:"The ID of the document."`
}

type deleteDocument struct {
	ID      string           `path:"id" doc:"The ID of the document."`
	IfMatch endpoint.IfMatch `header:"If-Match"`
}

type changeDocument struct {
	ID      string           `path:"id" doc:"The ID of the document."`
	IfMatch endpoint.IfMatch `header:"If-Match"`
	Body    struct {
		Collection wire.Optional[string]                   `json:"collection" minLength:"1" maxLength:"128" doc:"The collection that the document belongs to. null stands for the collection named default."`
		Title      wire.Optional[string]                   `json:"title" maxLength:"1024" doc:"The title of the document. null removes it. At least one of title and text must not be blank."`
		Text       wire.Optional[string]                   `json:"text" maxBytes:"262144" doc:"The text of the document. null removes it. At least one of title and text must not be blank."`
		URL        wire.Optional[string]                   `json:"url" format:"uri" maxLength:"2048" doc:"The http or https URL of the original. null removes it."`
		Tags       wire.Optional[[]string]                 `json:"tags" maxItems:"32" minLength:"1" maxLength:"64" doc:"The new tags, which replace all old ones. null removes all of them."`
		Metadata   wire.Optional[wire.MetadataListsChange] `json:"metadata" maxProperties:"64" doc:"The metadata to merge, name by name. A null value removes the entry. null instead of an object removes all entries."`
		Language   wire.Optional[string]                   `json:"language" minLength:"1" doc:"The language of the document, as a code that GET /api/v1/languages lists. null removes it."`
	}
}

func (in *changeDocument) patch() document.Patch {
	b := &in.Body
	p := document.Patch{
		Collection: replacement(&b.Collection), Title: replacement(&b.Title), Text: replacement(&b.Text), URL: replacement(&b.URL),
		Tags: replacement(&b.Tags), Language: replacement(&b.Language),
	}
	if metadata := replacement(&b.Metadata); metadata != nil {
		p.Metadata = (*map[string]any)(metadata)
	}
	return p
}

// replacement returns the new value of a member of a merge patch: nil if it is omitted, and a zero value for null.
func replacement[T any](o *wire.Optional[T]) *T {
	if !o.Set {
		return nil
	}
	return &o.Value
}

type documentView struct {
	ID         string             `json:"id" doc:"The ID of the document, which is unique in its workspace." example:"opening-hours"`
	Collection string             `json:"collection" doc:"The collection that the document belongs to."`
	Title      string             `json:"title" doc:"The title of the document. It is empty if the document has none."`
	Text       string             `json:"text" doc:"The text of the document as it was stored. It is empty if the document has none."`
	URL        *string            `json:"url" doc:"The URL of the original. It is null if none was stored."`
	Tags       []string           `json:"tags" doc:"The tags of the document, in the order in which they were sent."`
	Metadata   wire.MetadataLists `json:"metadata" doc:"The metadata of the document: strings, numbers, booleans or arrays of these by name."`
	Language   *string            `json:"language" doc:"The language of the document, as it was stored. It is null if none was." example:"en"`
	CreatedAt  wire.Time          `json:"createdAt"`
	UpdatedAt  wire.Time          `json:"updatedAt"`
	Revision   int64              `json:"revision"`
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

func documentPath(d *document.Document) string { return "/documents/" + url.PathEscape(d.ID) }

func viewOfDocument(d *document.Document) documentView {
	return documentView{
		ID: d.ID, Collection: d.Collection, Title: d.Title, Text: d.Text, URL: textOrNull(d.URL), Tags: d.Tags,
		Metadata: d.Metadata, Language: textOrNull(d.Language), CreatedAt: wire.At(d.CreatedAt), UpdatedAt: wire.At(d.UpdatedAt), Revision: d.Revision,
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
	Collection string   `query:"collection" doc:"List only documents of this collection."`
	Tags       []string `query:"tag" maxItems:"32" doc:"The tags to match. All of them must match."`
	Filters    []string `query:"filter" maxItems:"32" doc:"Comparisons of metadata, each in the form name:op:value, where op is eq, ne, lt, lte, gt or gte. All of them must match." example:"floor:gte:2"`
	Sort       string   `query:"sort" default:"id" enum:"id,updatedAt,-updatedAt" doc:"The order of the documents: id is by ID, updatedAt has the oldest change first, and -updatedAt the newest."`
	pageQuery
}

// documentPosition is the position of a document in a list.
type documentPosition struct {
	ID        string    `json:"id"`
	UpdatedAt time.Time `json:"updatedAt,omitzero"`
}

type documentList struct {
	Body struct {
		Items      endpoint.Sequence[documentView] `json:"items"`
		NextCursor *string                         `json:"nextCursor"`
	}
}

func (in *listDocuments) list(ctx context.Context, documents *document.Service, cursors *page.Sealer) (*documentList, error) {
	workspaceID := auth.From(ctx).WorkspaceID
	metadata, err := comparisons(in.Filters, func(int) string { return "filter" })
	if err != nil {
		return nil, err
	}
	selection := document.Selection{Collection: in.Collection, Tags: in.Tags, Metadata: metadata}
	scope := page.Scope(workspaceID, "listDocuments", in.Sort, in.Collection, strings.Join(in.Tags, "\n"), strings.Join(in.Filters, "\n"))
	found, next, err := readPage(in.pageQuery, cursors, scope, func(after *documentPosition) ([]document.Document, *documentPosition, error) {
		list, next, err := documents.List(ctx, workspaceID, selection, document.Sort(in.Sort), (*document.Position)(after), in.Limit)
		return list, (*documentPosition)(next), err
	})
	if err != nil {
		return nil, err
	}
	out := &documentList{}
	out.Body.NextCursor = next
	out.Body.Items = views(found, func(d document.Document) documentView { return viewOfDocument(&d) })
	return out, nil
}

// comparisons parses filters. name returns the name of one for an error.
func comparisons(filters []string, name func(i int) string) ([]document.Comparison, error) {
	list := make([]document.Comparison, len(filters))
	for i, filter := range filters {
		var ok bool
		if list[i], ok = document.ParseComparison(filter); !ok {
			return nil, problem.Validation(name(i), problem.Format,
				name(i)+" must have the form name:op:value, such as price:gte:10. op is eq, ne, lt, lte, gt or gte.")
		}
	}
	return list, nil
}
