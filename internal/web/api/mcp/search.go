package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/endpoint"
)

// Search and fetch have exactly the arguments and results that ChatGPT's connectors expect. So search has no parameter for
// a person: memories are searched if the key is bound to one.

// maySearch reports whether search and fetch can find anything for a caller.
func maySearch(p *auth.Principal) bool { return p.Scopes.Allows(auth.Read) || mySubject(p) }

// mySubject reports whether the caller is bound to a person whose memories it can read.
func mySubject(p *auth.Principal) bool { return p.SubjectID != "" && p.Scopes.Allows(auth.MemoryRead) }

// maxQuery is the max length of a query in characters, as in a search of documents.
const maxQuery = 1024

// foundItem is a document or a memory that search found.
type foundItem struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	URL   string `json:"url"`
	Text  string `json:"text"`
}

// fetched is what fetch returns.
type fetched struct {
	ID       string             `json:"id"`
	Title    string             `json:"title"`
	Text     string             `json:"text"`
	URL      string             `json:"url"`
	Metadata wire.MetadataLists `json:"metadata"`
}

// search finds documents and, for a key that is bound to a person, memories. Their scores cannot be compared, so the two
// lists alternate.
func (s *server) search(_ context.Context, c *call) (wire.Value, error) {
	query, err := c.text("query")
	switch {
	case err != nil:
		return nil, err
	case strings.TrimSpace(query) == "":
		return nil, problem.Validation("query", problem.Required, "query is required.")
	case utf8.RuneCountInString(query) > maxQuery:
		return nil, problem.Validation("query", problem.TooLong, "query must have at most 1024 characters.")
	}
	var documents, memories []foundItem
	if c.caller.Scopes.Allows(auth.Read) {
		if documents, err = s.searchDocuments(c, query); err != nil {
			return nil, err
		}
	}
	if mySubject(c.caller) {
		if memories, err = s.searchMemories(c, query); err != nil {
			return nil, err
		}
	}
	var out struct {
		Results []foundItem `json:"results"`
	}
	for i := range max(len(documents), len(memories)) {
		if i < len(memories) {
			out.Results = append(out.Results, memories[i])
		}
		if i < len(documents) {
			out.Results = append(out.Results, documents[i])
		}
	}
	return wire.Encode(out)
}

func (s *server) searchDocuments(c *call, query string) ([]foundItem, error) {
	var found struct {
		Results []struct {
			ID       string  `json:"id"`
			Title    string  `json:"title"`
			URL      *string `json:"url"`
			Passages []struct {
				Text string `json:"text"`
			} `json:"passages"`
		} `json:"results"`
	}
	if err := c.post("searchPost", map[string]any{"q": query, "highlight": false, "passages": 1}, &found); err != nil {
		return nil, err
	}
	items := make([]foundItem, len(found.Results))
	for i, r := range found.Results {
		items[i] = foundItem{ID: r.ID, Title: titleOr(r.Title, r.ID), URL: s.documentURL(c, r.ID, r.URL)}
		if len(r.Passages) > 0 { // at most maxText characters
			items[i].Text = r.Passages[0].Text
		}
	}
	return items, nil
}

func (s *server) searchMemories(c *call, query string) ([]foundItem, error) {
	var found struct {
		Results []struct {
			Memory memoryText `json:"memory"`
		} `json:"results"`
	}
	if err := c.post("recall", map[string]any{"query": query}, &found); err != nil {
		return nil, err
	}
	items := make([]foundItem, len(found.Results))
	for i, r := range found.Results {
		items[i] = foundItem{ID: r.Memory.ID, Title: r.Memory.title(), URL: s.memoryURL(c, r.Memory.ID), Text: r.Memory.Text}
	}
	return items, nil
}

// fetch reads a memory or a document. Clients choose the IDs of documents, so one can look like that of a memory; the memory
// is preferred.
func (s *server) fetch(_ context.Context, c *call) (wire.Value, error) {
	name, err := c.text("id")
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(name) == "" {
		return nil, problem.Validation("id", problem.Required, "id is required.")
	}
	if c.caller.Scopes.Allows(auth.MemoryRead) && isMemoryID(name) {
		out, err := s.fetchMemory(c, name)
		if p, ok := problem.As(err); !ok || p.Kind != problem.NotFound || !c.caller.Scopes.Allows(auth.Read) {
			return out, err
		}
	}
	if !c.caller.Scopes.Allows(auth.Read) {
		return nil, errNothing
	}
	return s.fetchDocument(c, name)
}

func isMemoryID(name string) bool {
	_, ok := id.Parse(id.Memory, name)
	return ok
}

var errNothing = problem.New(problem.NotFound, problem.CodeNotFound, "There is no document or memory with this id.")

func (s *server) fetchMemory(c *call, name string) (wire.Value, error) {
	var m memoryText
	if err := c.get("getMemory", name, &m); err != nil {
		return nil, err
	}
	return wire.Encode(fetched{ID: m.ID, Title: m.title(), Text: m.Text, URL: s.memoryURL(c, m.ID), Metadata: wire.MetadataLists(m.Metadata)})
}

func (s *server) fetchDocument(c *call, name string) (wire.Value, error) {
	var d struct {
		ID       string             `json:"id"`
		Title    string             `json:"title"`
		Text     string             `json:"text"`
		URL      *string            `json:"url"`
		Metadata wire.MetadataLists `json:"metadata"`
	}
	if err := c.get("getDocument", name, &d); err != nil {
		if p, ok := problem.As(err); ok && p.Kind == problem.NotFound {
			return nil, errNothing
		}
		return nil, err
	}
	return wire.Encode(fetched{ID: d.ID, Title: titleOr(d.Title, d.ID), Text: d.Text, URL: s.documentURL(c, d.ID, d.URL), Metadata: d.Metadata})
}

// memoryText is what search and fetch show of a memory.
type memoryText struct {
	ID       string        `json:"id"`
	Text     string        `json:"text"`
	Metadata wire.Metadata `json:"metadata"`
}

// maxTitle is the length of a memory's title in characters.
const maxTitle = 80

// title is the beginning of the text.
func (m *memoryText) title() string {
	line, _, _ := strings.Cut(strings.TrimSpace(m.Text), "\n")
	line = strings.TrimSpace(line)
	if utf8.RuneCountInString(line) <= maxTitle {
		return line
	}
	return strings.TrimSpace(string([]rune(line)[:maxTitle-1])) + "…"
}

func titleOr(title, name string) string {
	if strings.TrimSpace(title) == "" {
		return name
	}
	return title
}

// documentURL is the document's own URL, or its address in the API.
func (s *server) documentURL(c *call, name string, own *string) string {
	if own != nil && *own != "" {
		return *own
	}
	return s.address(c, "/documents/", name)
}

func (s *server) memoryURL(c *call, name string) string { return s.address(c, "/memories/", name) }

func (s *server) address(c *call, path, name string) string {
	return fmt.Sprintf("%s/api/v%d%s%s", s.API, c.request.APIVersion(), path, url.PathEscape(name))
}

// get reads a resource with an operation that has the parameter id.
func (c *call) get(operation, name string, out any) error {
	resp, err := c.request.Call(&endpoint.Call{Operation: operation, Path: map[string]string{"id": name}})
	if err != nil {
		return err
	}
	return decodeAnswer(resp, out)
}

// once returns the headers of a call with the Idempotency-Key of the request, if it has one.
func (c *call) once() map[string]string {
	if c.onceKey == "" {
		return map[string]string{}
	}
	return map[string]string{"Idempotency-Key": c.onceKey}
}

// post calls an operation with a body.
func (c *call) post(operation string, body map[string]any, out any) error {
	text, err := wire.Encode(body)
	if err != nil {
		return err
	}
	resp, err := c.request.Call(&endpoint.Call{Operation: operation, Header: c.once(), Body: text})
	if err != nil {
		return err
	}
	return decodeAnswer(resp, out)
}

// decodeAnswer decodes the members of a response that out has.
func decodeAnswer(resp endpoint.Response, out any) error {
	if err := json.Unmarshal(resp.Body, out); err != nil {
		return fmt.Errorf("decode the response of an operation: %w", err)
	}
	return nil
}
