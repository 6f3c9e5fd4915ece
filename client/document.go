package client

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Document is a text that search finds.
type Document struct {
	ID         string         `json:"id"`
	Collection string         `json:"collection"`
	Title      string         `json:"title"`
	Text       string         `json:"text"`
	URL        *string        `json:"url"`
	Tags       []string       `json:"tags"`
	Metadata   map[string]any `json:"metadata"` // string, json.Number, bool, or a list ([]any) of these
	Language   *string        `json:"language"` // a code that EachLanguage lists
	CreatedAt  time.Time      `json:"createdAt"`
	UpdatedAt  time.Time      `json:"updatedAt"`
	Revision   int64          `json:"revision"`
}

// NewDocument is a document to store. Title or Text is required. The server generates an empty ID.
type NewDocument struct {
	ID         string         `json:"id,omitempty"`
	Collection string         `json:"collection,omitempty"`
	Title      string         `json:"title,omitempty"`
	Text       string         `json:"text,omitempty"`
	URL        string         `json:"url,omitempty"`
	Tags       []string       `json:"tags,omitempty"`
	Metadata   map[string]any `json:"metadata,omitempty"`
	Language   string         `json:"language,omitempty"` // a code that EachLanguage lists
}

// DocumentQuery selects documents, and a page of their list.
type DocumentQuery struct {
	Collection string
	Tags       []string // all must match
	Filters    []string // comparisons of metadata, such as "floor:gte:2"; all must match
	Sort       string   // id (the default), updatedAt or -updatedAt
	Limit      int      // 0: the server's default
	Cursor     string
}

// DocumentChange changes the fields that are set. A nil value in Metadata removes that entry.
type DocumentChange struct {
	Collection Change[string]         `json:"collection,omitzero"`
	Title      Change[string]         `json:"title,omitzero"`
	Text       Change[string]         `json:"text,omitzero"`
	URL        Change[string]         `json:"url,omitzero"`
	Tags       Change[[]string]       `json:"tags,omitzero"`
	Metadata   Change[map[string]any] `json:"metadata,omitzero"`
	Language   Change[string]         `json:"language,omitzero"`
}

// DocumentDeletion selects documents to delete, by ID or by the other fields.
type DocumentDeletion struct {
	IDs        []string `json:"ids,omitempty"`
	Collection string   `json:"collection,omitempty"`
	Tags       []string `json:"tags,omitempty"`   // all must match
	Filters    []string `json:"filter,omitempty"` // as in DocumentQuery; all must match
	DryRun     bool     `json:"dryRun"`           // only count the documents that match
}

// DeletedDocuments counts the documents of a deletion.
type DeletedDocuments struct {
	Matched int64 `json:"matched"`
	Deleted int64 `json:"deleted"`
}

const documents = "/api/v1/documents"

// CreateDocument adds a document. An existing ID is a conflict.
func (c *Client) CreateDocument(ctx context.Context, d NewDocument) (*Document, error) {
	return result[Document](func(out any) error {
		return c.send(ctx, request{method: http.MethodPost, path: documents, keyed: true}, d, out)
	})
}

// PutDocument creates or replaces the document d.ID. With ifRevision, it only replaces that revision.
func (c *Client) PutDocument(ctx context.Context, d NewDocument, ifRevision *int64) (*Document, error) {
	path := documents + "/" + url.PathEscape(d.ID)
	d.ID = "" // it is in the path
	return result[Document](func(out any) error {
		return c.send(ctx, request{method: http.MethodPut, path: path, ifMatch: ifRevision}, d, out)
	})
}

// Document reads one document.
func (c *Client) Document(ctx context.Context, id string) (*Document, error) {
	return result[Document](func(out any) error { return c.get(ctx, documents+"/"+url.PathEscape(id), nil, out) })
}

// ChangeDocument changes one document; with ifRevision, only that revision.
func (c *Client) ChangeDocument(ctx context.Context, id string, d DocumentChange, ifRevision *int64) (*Document, error) {
	return result[Document](func(out any) error {
		return c.send(ctx, request{method: http.MethodPatch, path: documents + "/" + url.PathEscape(id), ifMatch: ifRevision}, d, out)
	})
}

// DeleteDocuments deletes the documents that d selects, or counts them.
func (c *Client) DeleteDocuments(ctx context.Context, d DocumentDeletion) (*DeletedDocuments, error) {
	return result[DeletedDocuments](func(out any) error {
		return c.send(ctx, request{method: http.MethodPost, path: documents + "/delete", keyed: !d.DryRun, safe: d.DryRun}, d, out)
	})
}

// ExportDocuments writes the documents of a collection, or all, to w as lines that ImportDocuments takes.
func (c *Client) ExportDocuments(ctx context.Context, collection string, w io.Writer) error {
	values := url.Values{}
	set(values, "collection", collection)
	return c.call(ctx, request{method: http.MethodGet, path: documents + "/export", query: values, accept: mediaLines}, w)
}

// DeleteDocument deletes one document; with ifRevision, only that revision.
func (c *Client) DeleteDocument(ctx context.Context, id string, ifRevision *int64) error {
	return c.call(ctx, request{method: http.MethodDelete, path: documents + "/" + url.PathEscape(id), ifMatch: ifRevision}, nil)
}

// ListDocuments reads one page of documents.
func (c *Client) ListDocuments(ctx context.Context, q DocumentQuery) (*Page[Document], error) {
	values := url.Values{}
	set(values, "collection", q.Collection)
	for _, tag := range q.Tags {
		values.Add("tag", tag)
	}
	for _, filter := range q.Filters {
		values.Add("filter", filter)
	}
	set(values, "sort", q.Sort)
	setInt(values, "limit", q.Limit)
	set(values, "cursor", q.Cursor)
	return result[Page[Document]](func(out any) error { return c.get(ctx, documents, values, out) })
}

// EachDocument reads all documents that q selects, page by page.
func (c *Client) EachDocument(ctx context.Context, q DocumentQuery) iter.Seq2[Document, error] {
	return each(q.Cursor, func(cursor string) (*Page[Document], error) {
		q.Cursor = cursor
		return c.ListDocuments(ctx, q)
	})
}
