package client

import (
	"context"
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
	Metadata   map[string]any `json:"metadata"` // string, float64 or bool
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
}

// DocumentQuery selects documents, and a page of their list.
type DocumentQuery struct {
	Collection string
	Tags       []string // all must match
	Limit      int      // 0: the server's default
	Cursor     string
}

const documents = "/api/v1/documents"

// CreateDocument adds a document. An existing ID is a conflict.
func (c *Client) CreateDocument(ctx context.Context, d NewDocument) (*Document, error) {
	return result[Document](func(out any) error {
		return c.send(ctx, request{method: http.MethodPost, path: documents, idempotency: newIdempotencyKey()}, d, out)
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

// DeleteDocument deletes one document; with ifRevision, only that revision.
func (c *Client) DeleteDocument(ctx context.Context, id string, ifRevision *int64) error {
	return c.call(ctx, request{method: http.MethodDelete, path: documents + "/" + url.PathEscape(id), ifMatch: ifRevision}, nil)
}

// ListDocuments reads one page of documents, sorted by ID.
func (c *Client) ListDocuments(ctx context.Context, q DocumentQuery) (*Page[Document], error) {
	values := url.Values{}
	set(values, "collection", q.Collection)
	for _, tag := range q.Tags {
		values.Add("tag", tag)
	}
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
