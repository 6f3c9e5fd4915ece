package client

import (
	"context"
	"net/http"
	"time"
)

// ForgetQuery selects the memories of a subject to forget: by IDs, by Filter, or by Query, whose words must all occur.
type ForgetQuery struct {
	SubjectID string        `json:"subjectId,omitempty"`
	IDs       []string      `json:"ids,omitempty"`
	Filter    *ForgetFilter `json:"filter,omitempty"`
	Query     string        `json:"query,omitempty"`
}

// ForgetFilter selects memories by their fields. All fields that are set must match.
type ForgetFilter struct {
	Kinds     []string   `json:"kinds,omitempty"`
	Tags      []string   `json:"tags,omitempty"`
	SessionID string     `json:"sessionId,omitempty"`
	AgentID   string     `json:"agentId,omitempty"`
	From      *time.Time `json:"from,omitempty"`
	To        *time.Time `json:"to,omitempty"`
}

// ForgetPlan lists exactly what Forget will erase. It expires.
type ForgetPlan struct {
	MemoryIDs []string  `json:"memoryIds"`
	PlanID    string    `json:"planId"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// PlanForget plans what to forget. It erases nothing.
func (c *Client) PlanForget(ctx context.Context, q ForgetQuery) (*ForgetPlan, error) {
	return result[ForgetPlan](func(out any) error {
		return c.send(ctx, request{method: http.MethodPost, path: memories + "/forget", safe: true}, q, out)
	})
}

// Forget erases exactly what a plan lists, and returns the number of memories. A plan can be used once.
func (c *Client) Forget(ctx context.Context, subjectID, planID string) (int64, error) {
	in := struct {
		SubjectID string `json:"subjectId,omitempty"`
		PlanID    string `json:"planId"`
		DryRun    bool   `json:"dryRun"`
	}{SubjectID: subjectID, PlanID: planID}
	var out struct {
		Forgotten int64 `json:"forgotten"`
	}
	r := request{method: http.MethodPost, path: memories + "/forget", keyed: true}
	err := c.send(ctx, r, in, &out)
	return out.Forgotten, err
}
