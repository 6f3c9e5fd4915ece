package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Subject is a person whom memories are about.
type Subject struct {
	SubjectID string     `json:"subjectId"`
	Memories  int64      `json:"memories"`
	Bytes     int64      `json:"bytes"`   // of all texts
	FirstAt   *time.Time `json:"firstAt"` // when the oldest memory occurred or was stored
	LastAt    *time.Time `json:"lastAt"`
	CreatedAt time.Time  `json:"createdAt"` // when the first memory was stored
	UpdatedAt time.Time  `json:"updatedAt"` // when memories changed last
}

// AccessEntry is an entry of a subject's access log.
type AccessEntry struct {
	ID        string    `json:"id"`
	At        time.Time `json:"at"`
	Action    string    `json:"action"` // memory.recalled
	Actor     *string   `json:"actor"`  // the key or user, or local
	Outcome   string    `json:"outcome"`
	MemoryIDs []string  `json:"memoryIds"`
	Count     int64     `json:"count"` // of memories
	RequestID *string   `json:"requestId"`
	Address   *string   `json:"address"`
}

const subjects = memories + "/subjects"

// ListSubjects reads one page of the subjects with memories, in no particular order.
func (c *Client) ListSubjects(ctx context.Context, limit int, cursor string) (*Page[Subject], error) {
	values := url.Values{}
	setInt(values, "limit", limit)
	set(values, "cursor", cursor)
	return result[Page[Subject]](func(out any) error { return c.get(ctx, subjects, values, out) })
}

// EachSubject reads all subjects, page by page.
func (c *Client) EachSubject(ctx context.Context) iter.Seq2[Subject, error] {
	return each("", func(cursor string) (*Page[Subject], error) { return c.ListSubjects(ctx, 200, cursor) })
}

// Subject reads the counts of one subject.
func (c *Client) Subject(ctx context.Context, id string) (*Subject, error) {
	return result[Subject](func(out any) error { return c.get(ctx, subjects+"/"+url.PathEscape(id), nil, out) })
}

// EraseSubject erases a subject: it destroys the data key and deletes the memories. It cannot be undone. The receipt is returned
// once, so the call is not repeated if its response is lost.
func (c *Client) EraseSubject(ctx context.Context, id string) (*Receipt, error) {
	return result[Receipt](func(out any) error {
		return c.call(ctx, request{method: http.MethodDelete, path: subjects + "/" + url.PathEscape(id), once: true}, out)
	})
}

// AccessLog reads one page of a subject's access log, newest first.
func (c *Client) AccessLog(ctx context.Context, id string, limit int, cursor string) (*Page[AccessEntry], error) {
	values := url.Values{}
	setInt(values, "limit", limit)
	set(values, "cursor", cursor)
	return result[Page[AccessEntry]](func(out any) error {
		return c.get(ctx, subjects+"/"+url.PathEscape(id)+"/access-log", values, out)
	})
}

// EachAccess reads the whole access log of a subject, page by page.
func (c *Client) EachAccess(ctx context.Context, id string) iter.Seq2[AccessEntry, error] {
	return each("", func(cursor string) (*Page[AccessEntry], error) { return c.AccessLog(ctx, id, 200, cursor) })
}
