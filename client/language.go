package client

import (
	"context"
	"iter"
	"net/url"
)

// Language is a language of documents.
type Language struct {
	Language string `json:"language"` // the code in ISO 639-1; und stands for any other language
	Name     string `json:"name"`     // in English
	Stemmer  bool   `json:"stemmer"`  // whether a word finds its other forms
}

// LanguageQuery selects a page of the list of languages.
type LanguageQuery struct {
	Limit  int // 0: the server's default
	Cursor string
}

// ListLanguages reads one page of the languages that a document can have.
func (c *Client) ListLanguages(ctx context.Context, q LanguageQuery) (*Page[Language], error) {
	values := url.Values{}
	setInt(values, "limit", q.Limit)
	set(values, "cursor", q.Cursor)
	return result[Page[Language]](func(out any) error { return c.get(ctx, "/api/v1/languages", values, out) })
}

// EachLanguage reads all languages, page by page.
func (c *Client) EachLanguage(ctx context.Context, q LanguageQuery) iter.Seq2[Language, error] {
	return each(q.Cursor, func(cursor string) (*Page[Language], error) {
		q.Cursor = cursor
		return c.ListLanguages(ctx, q)
	})
}
