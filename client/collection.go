package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Collection is a collection of documents with its settings.
type Collection struct {
	Collection string `json:"collection"`
	Documents  int64  `json:"documents"`
	CollectionSettings
	UpdatedAt *time.Time `json:"updatedAt"` // of the settings; nil without settings
	Revision  int64      `json:"revision"`  // of the settings; 0 if there never were any
}

// CollectionSettings are what an owner sets for a collection. The zero value of a field is its default.
type CollectionSettings struct {
	Language *string            `json:"language"` // of documents without one, as a code that EachLanguage lists
	Synonyms []Synonym          `json:"synonyms"`
	Fields   map[string]float64 `json:"fields"` // weights of title, text, and entries of metadata, such as metadata.author
}

// CollectionQuery selects a page of the list of collections.
type CollectionQuery struct {
	Limit  int // 0: the server's default
	Cursor string
}

const collections = "/api/v1/collections"

func collectionPath(name string) string { return collections + "/" + url.PathEscape(name) }

// ListCollections reads one page of collections: those with documents or settings, by name.
func (c *Client) ListCollections(ctx context.Context, q CollectionQuery) (*Page[Collection], error) {
	values := url.Values{}
	setInt(values, "limit", q.Limit)
	set(values, "cursor", q.Cursor)
	return result[Page[Collection]](func(out any) error { return c.get(ctx, collections, values, out) })
}

// EachCollection reads all collections, page by page.
func (c *Client) EachCollection(ctx context.Context, q CollectionQuery) iter.Seq2[Collection, error] {
	return each(q.Cursor, func(cursor string) (*Page[Collection], error) {
		q.Cursor = cursor
		return c.ListCollections(ctx, q)
	})
}

// Collection reads a collection. It is an error if the collection has neither documents nor settings.
func (c *Client) Collection(ctx context.Context, name string) (*Collection, error) {
	return result[Collection](func(out any) error { return c.get(ctx, collectionPath(name), nil, out) })
}

// PutCollection replaces the settings of a collection; with ifRevision, only if they still have that revision.
func (c *Client) PutCollection(ctx context.Context, name string, ifRevision *int64, settings CollectionSettings) (*Collection, error) {
	r := request{method: http.MethodPut, path: collectionPath(name), ifMatch: ifRevision}
	return result[Collection](func(out any) error { return c.send(ctx, r, settings, out) })
}

// DeleteCollection removes the settings of a collection, not its documents; with ifRevision, only if they still have that revision.
func (c *Client) DeleteCollection(ctx context.Context, name string, ifRevision *int64) error {
	return c.call(ctx, request{method: http.MethodDelete, path: collectionPath(name), ifMatch: ifRevision}, nil)
}
