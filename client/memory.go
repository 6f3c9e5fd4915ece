package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Memory is a short text about a subject.
type Memory struct {
	ID         string         `json:"id"`
	SubjectID  string         `json:"subjectId"`
	AgentID    *string        `json:"agentId"`
	SessionID  *string        `json:"sessionId"`
	Kind       string         `json:"kind"` // fact, preference, event, instruction, summary, turn, note
	Text       string         `json:"text"`
	Speaker    *string        `json:"speaker"`
	Tags       []string       `json:"tags"`
	Metadata   map[string]any `json:"metadata"`   // string, json.Number or bool
	Importance *float64       `json:"importance"` // 0 to 1
	Pinned     bool           `json:"pinned"`
	OccurredAt *time.Time     `json:"occurredAt"`
	ValidFrom  *time.Time     `json:"validFrom"`
	ValidTo    *time.Time     `json:"validTo"`
	ExpiresAt  *time.Time     `json:"expiresAt"`
	Key        *string        `json:"key"`
	Source     *string        `json:"source"`
	CreatedAt  time.Time      `json:"createdAt"`
	UpdatedAt  time.Time      `json:"updatedAt"`
	CreatedBy  string         `json:"createdBy"`
	ImportedBy *string        `json:"importedBy"` // the credential of the import that the memory comes from
	Revision   int64          `json:"revision"`
	Status     string         `json:"status"` // active, superseded
}

// NewMemory is a memory to store. Text is required, and SubjectID unless the API key is bound to a subject.
type NewMemory struct {
	SubjectID  string         `json:"subjectId,omitempty"`
	AgentID    string         `json:"agentId,omitempty"`
	SessionID  string         `json:"sessionId,omitempty"`
	Kind       string         `json:"kind,omitempty"` // empty: fact
	Text       string         `json:"text"`
	Speaker    string         `json:"speaker,omitempty"`
	Tags       []string       `json:"tags,omitempty"`
	Metadata   map[string]any `json:"metadata,omitempty"`
	Importance *float64       `json:"importance,omitempty"`
	Pinned     bool           `json:"pinned,omitempty"`
	OccurredAt *time.Time     `json:"occurredAt,omitempty"`
	ValidFrom  *time.Time     `json:"validFrom,omitempty"`
	ValidTo    *time.Time     `json:"validTo,omitempty"`
	ExpiresAt  *time.Time     `json:"expiresAt,omitempty"`
	Key        string         `json:"key,omitempty"` // replaces the subject's memory with the same key
	Source     string         `json:"source,omitempty"`

	AllowDuplicate bool `json:"allowDuplicate,omitempty"` // store it even if an equal memory exists
	Deduplicate    bool `json:"deduplicate,omitempty"`    // return an equal memory instead, also for a turn or an event
}

// StoredMemory is the result of storing a NewMemory.
type StoredMemory struct {
	Memory
	Deduplicated bool `json:"deduplicated"` // an equal memory existed, and this is it
}

// MemoryChange changes the fields that are set. A nil value in Metadata removes that entry.
type MemoryChange struct {
	Kind       Change[string]         `json:"kind,omitzero"`
	Text       Change[string]         `json:"text,omitzero"`
	Speaker    Change[string]         `json:"speaker,omitzero"`
	Tags       Change[[]string]       `json:"tags,omitzero"`
	Metadata   Change[map[string]any] `json:"metadata,omitzero"`
	Importance Change[float64]        `json:"importance,omitzero"`
	Pinned     Change[bool]           `json:"pinned,omitzero"`
	OccurredAt Change[time.Time]      `json:"occurredAt,omitzero"`
	ValidFrom  Change[time.Time]      `json:"validFrom,omitzero"`
	ValidTo    Change[time.Time]      `json:"validTo,omitzero"`
	ExpiresAt  Change[time.Time]      `json:"expiresAt,omitzero"`
	Key        Change[string]         `json:"key,omitzero"`
	Source     Change[string]         `json:"source,omitzero"`
}

// MemoryQuery selects memories, and a page of their list.
type MemoryQuery struct {
	SubjectID string
	AgentID   string
	SessionID string
	Kind      string
	IDs       []string  // at most 100; IDs that do not exist are ignored
	Tags      []string  // all must match; they need SubjectID
	From, To  time.Time // of OccurredAt, else CreatedAt; To is exclusive
	Limit     int       // 0: the server's default
	Cursor    string
}

// MemoryRevision is a former revision of a memory, and its author.
type MemoryRevision struct {
	Memory
	UpdatedBy string `json:"updatedBy"`
}

// BatchResult is the result of one item of a batch: Memory or Error.
type BatchResult struct {
	Index        int         `json:"index"`
	Status       int         `json:"status"` // as the HTTP status of the item alone
	Memory       *Memory     `json:"memory"`
	Deduplicated bool        `json:"deduplicated"`
	Error        *BatchError `json:"error"`
}

// BatchError says why an item was refused.
type BatchError struct {
	Code    string            `json:"error"`
	Message string            `json:"message"`
	Details map[string]string `json:"details"` // field, issue, limit
}

const memories = "/api/v1/memories"

// CreateMemory stores a memory. It replaces a memory of the subject with the same Key.
func (c *Client) CreateMemory(ctx context.Context, m NewMemory) (*StoredMemory, error) {
	return result[StoredMemory](func(out any) error {
		return c.send(ctx, request{method: http.MethodPost, path: memories, keyed: true}, m, out)
	})
}

// CreateMemories stores up to 1,000 memories and returns the result of each. If it is atomic, a refused memory is an error
// and nothing is stored.
func (c *Client) CreateMemories(ctx context.Context, items []NewMemory, atomic bool) ([]BatchResult, error) {
	var out struct {
		Results []BatchResult `json:"results"`
	}
	in := struct {
		Items  []NewMemory `json:"items"`
		Atomic bool        `json:"atomic,omitempty"`
	}{items, atomic}
	r := request{method: http.MethodPost, path: memories + "/batch", keyed: true}
	err := c.send(ctx, r, in, &out)
	return out.Results, err
}

// Memory reads one memory.
func (c *Client) Memory(ctx context.Context, id string) (*Memory, error) {
	return result[Memory](func(out any) error { return c.get(ctx, memories+"/"+url.PathEscape(id), nil, out) })
}

// ChangeMemory changes one memory; with ifRevision, only that revision.
func (c *Client) ChangeMemory(ctx context.Context, id string, m MemoryChange, ifRevision *int64) (*Memory, error) {
	return result[Memory](func(out any) error {
		return c.send(ctx, request{method: http.MethodPatch, path: memories + "/" + url.PathEscape(id), ifMatch: ifRevision}, m, out)
	})
}

// DeleteMemory erases one memory with its history; with ifRevision, only that revision.
func (c *Client) DeleteMemory(ctx context.Context, id string, ifRevision *int64) error {
	return c.call(ctx, request{method: http.MethodDelete, path: memories + "/" + url.PathEscape(id), ifMatch: ifRevision}, nil)
}

// MemoryHistory reads one page of a memory's revisions, newest first.
func (c *Client) MemoryHistory(ctx context.Context, id string, limit int, cursor string) (*Page[MemoryRevision], error) {
	values := url.Values{}
	setInt(values, "limit", limit)
	set(values, "cursor", cursor)
	return result[Page[MemoryRevision]](func(out any) error {
		return c.get(ctx, memories+"/"+url.PathEscape(id)+"/history", values, out)
	})
}

// EachMemoryRevision reads all revisions of a memory, page by page.
func (c *Client) EachMemoryRevision(ctx context.Context, id string) iter.Seq2[MemoryRevision, error] {
	return each("", func(cursor string) (*Page[MemoryRevision], error) { return c.MemoryHistory(ctx, id, 0, cursor) })
}

// ListMemories reads one page of memories, newest first.
func (c *Client) ListMemories(ctx context.Context, q MemoryQuery) (*Page[Memory], error) {
	values := url.Values{}
	set(values, "subjectId", q.SubjectID)
	set(values, "agentId", q.AgentID)
	set(values, "sessionId", q.SessionID)
	set(values, "kind", q.Kind)
	for _, id := range q.IDs {
		values.Add("id", id)
	}
	for _, tag := range q.Tags {
		values.Add("tag", tag)
	}
	setTime(values, "from", q.From)
	setTime(values, "to", q.To)
	setInt(values, "limit", q.Limit)
	set(values, "cursor", q.Cursor)
	return result[Page[Memory]](func(out any) error { return c.get(ctx, memories, values, out) })
}

// EachMemory reads all memories that q selects, page by page.
func (c *Client) EachMemory(ctx context.Context, q MemoryQuery) iter.Seq2[Memory, error] {
	return each(q.Cursor, func(cursor string) (*Page[Memory], error) {
		q.Cursor = cursor
		return c.ListMemories(ctx, q)
	})
}
