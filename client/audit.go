package client

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// AuditEntry is an entry of the audit log.
type AuditEntry struct {
	ID          string         `json:"id"`
	At          time.Time      `json:"at"`
	WorkspaceID *string        `json:"workspaceId"` // nil for an action on the instance
	Actor       *string        `json:"actor"`       // the key or user, or local
	Action      string         `json:"action"`      // api_key.revoked
	Target      *string        `json:"target"`
	Outcome     string         `json:"outcome"` // done, refused, failed
	Count       int64          `json:"count"`   // how often it happened since At
	Details     map[string]any `json:"details"`
	Address     *string        `json:"address"`
	RequestID   *string        `json:"requestId"`
	Link        *AuditLink     `json:"link"` // only for admins of the operator workspace
}

// AuditLink is an entry's place in its chain, in which each entry contains the hash of the one before.
type AuditLink struct {
	Chain    string `json:"chain"`
	Sequence int64  `json:"sequence"`
	Previous string `json:"previous"`
	Hash     string `json:"hash"`
}

// AuditQuery selects entries, and a page of their list. The zero value selects all.
type AuditQuery struct {
	Workspace string
	Actor     string
	Action    string
	Target    string
	Changes   bool // leave out reads of memories
	From      time.Time
	To        time.Time // exclusive
	Limit     int       // 0: the server's default
	Cursor    string
}

const auditLog = "/api/v1/admin/audit-log"

// ListAuditLog reads one page of the log, newest first.
func (c *Client) ListAuditLog(ctx context.Context, q AuditQuery) (*Page[AuditEntry], error) {
	return result[Page[AuditEntry]](func(out any) error { return c.get(ctx, auditLog, q.values(), out) })
}

func (q *AuditQuery) values() url.Values {
	values := url.Values{}
	set(values, "workspace", q.Workspace)
	set(values, "actor", q.Actor)
	set(values, "action", q.Action)
	set(values, "target", q.Target)
	if q.Changes {
		values.Set("reads", "false")
	}
	setTime(values, "from", q.From)
	setTime(values, "to", q.To)
	setInt(values, "limit", q.Limit)
	set(values, "cursor", q.Cursor)
	return values
}

// EachAuditEntry reads all entries that q selects, page by page.
func (c *Client) EachAuditEntry(ctx context.Context, q AuditQuery) iter.Seq2[AuditEntry, error] {
	return each(q.Cursor, func(cursor string) (*Page[AuditEntry], error) {
		q.Cursor = cursor
		return c.ListAuditLog(ctx, q)
	})
}

// ExportAuditLog writes all entries that q selects to w, one JSON object per line, newest first. Limit has no effect.
func (c *Client) ExportAuditLog(ctx context.Context, q AuditQuery, w io.Writer) error {
	return c.call(ctx, request{method: http.MethodGet, path: auditLog, query: q.values(), accept: mediaLines}, w)
}

// AuditVerified is the result of verifying the audit log.
type AuditVerified struct {
	OK                 bool         `json:"ok"`
	Rows               int64        `json:"rows"`
	Chains             []AuditChain `json:"chains"`
	Checkpoints        int          `json:"checkpoints"`
	NewestCheckpointAt *time.Time   `json:"newestCheckpointAt"`
	Break              *AuditBreak  `json:"break"`  // the first of Breaks; nil if there is none
	Breaks             []AuditBreak `json:"breaks"` // the first entry of each chain that is bad or missing
}

// AuditChain is the end of a chain of entries.
type AuditChain struct {
	Chain string `json:"chain"`
	Rows  int64  `json:"rows"`
	Hash  string `json:"hash"`
}

// AuditBreak is the first entry of a chain that is bad or missing.
type AuditBreak struct {
	Chain    string  `json:"chain"`
	Sequence int64   `json:"sequence"`
	ID       *string `json:"id"`
	Reason   string  `json:"reason"`
	Message  string  `json:"message"`
}

// VerifyAuditLog asks the server to verify its audit log.
func (c *Client) VerifyAuditLog(ctx context.Context) (*AuditVerified, error) {
	return result[AuditVerified](func(out any) error { return c.get(ctx, auditLog+"/verify", nil, out) })
}
