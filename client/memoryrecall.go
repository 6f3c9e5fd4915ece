package client

import (
	"context"
	"net/http"
	"time"
)

// RecallQuery is a question about a subject. Query is required, and SubjectID unless the API key is bound to a subject.
type RecallQuery struct {
	SubjectID string     `json:"subjectId,omitempty"`
	Query     string     `json:"query"`
	Limit     int        `json:"limit,omitempty"` // 1 to 200; 0: the server's default
	AgentID   string     `json:"agentId,omitempty"`
	SessionID string     `json:"sessionId,omitempty"`
	Kinds     []string   `json:"kinds,omitempty"`
	Tags      []string   `json:"tags,omitempty"` // all must match
	From      *time.Time `json:"from,omitempty"`
	To        *time.Time `json:"to,omitempty"`
	AsOf      *time.Time `json:"asOf,omitempty"` // the time at which memories must be stored and valid; nil: now
	MinScore  float64    `json:"minScore,omitempty"`
	Fill      string     `json:"fill,omitempty"` // recent: pinned memories, then the newest, follow up to Limit; empty: none
	Explain   bool       `json:"explain,omitempty"`
	TimeZone  string     `json:"timeZone,omitempty"` // an IANA name, of the days that Query names; empty: UTC
}

// Recalled contains the results of a RecallQuery, best first.
type Recalled struct {
	Results  []RecallResult `json:"results"`
	TookMs   float64        `json:"tookMs"`
	Degraded []string       `json:"degraded"` // what the ranking had to do without
}

// RecallResult is a memory that was recalled.
type RecallResult struct {
	Memory  Memory     `json:"memory"`
	Score   float64    `json:"score"`
	Rank    int        `json:"rank"`    // from 1
	Matched []string   `json:"matched"` // words of the query that it contains
	Why     *RecallWhy `json:"why"`     // only with Explain
}

// RecallWhy contains what each signal added to the score.
type RecallWhy struct {
	Words      float64 `json:"words"`      // words of the query, by their stems
	Related    float64 `json:"related"`    // words with a similar meaning
	Together   float64 `json:"together"`   // how much of the query the memory and the two turns before and after it contain
	Neighbours float64 `json:"neighbours"` // the two turns before it in the session
	Session    float64 `json:"session"`    // how well the whole session matches the query
	Speaker    float64 `json:"speaker"`    // the query names the speaker
	Date       float64 `json:"date"`       // the query names the time
	Answer     float64 `json:"answer"`     // the kind of answer that the query asks for: a time, a number
	Meaning    float64 `json:"meaning"`    // words that occur in similar texts
	Worth      float64 `json:"worth"`      // how much the text tells, whatever the query asks
}

// ContextQuery asks for memories packed into one text for a prompt: pinned ones, those that answer Query, and the newest. Without
// MaxTokens and MaxCharacters, the text has at most 1,000 tokens.
type ContextQuery struct {
	SubjectID     string     `json:"subjectId,omitempty"`
	Query         string     `json:"query,omitempty"` // empty: pinned and newest memories
	Limit         int        `json:"limit,omitempty"` // maximum of memories
	MaxTokens     int        `json:"maxTokens,omitempty"`
	MaxCharacters int        `json:"maxCharacters,omitempty"`
	AgentID       string     `json:"agentId,omitempty"`
	SessionID     string     `json:"sessionId,omitempty"`
	Kinds         []string   `json:"kinds,omitempty"`
	Tags          []string   `json:"tags,omitempty"`
	From          *time.Time `json:"from,omitempty"`
	To            *time.Time `json:"to,omitempty"`
	AsOf          *time.Time `json:"asOf,omitempty"`
	MinScore      float64    `json:"minScore,omitempty"`
	TimeZone      string     `json:"timeZone,omitempty"` // of the days in the text, and of those that Query names; empty: UTC
}

// PackedContext is a text for a prompt, in time order with dates and speakers.
type PackedContext struct {
	Text      string   `json:"text"`
	MemoryIDs []string `json:"memoryIds"`
	Tokens    int      `json:"tokens"` // an estimate, usually higher than what a model counts
	Parts     struct {
		Pinned   []string `json:"pinned"`
		Recalled []string `json:"recalled"`
		Recent   []string `json:"recent"`
	} `json:"parts"` // the IDs of the memories by the reason why they are in the text
	Cut     []string `json:"cut"` // the IDs of the memories that are not whole in the text
	Omitted struct {
		Pinned   int `json:"pinned"`
		Recalled int `json:"recalled"`
		Recent   int `json:"recent"`
	} `json:"omitted"` // how many memories had no room
	Degraded []string `json:"degraded"` // as in Recalled
}

// Recall finds the memories of a subject that answer a question.
func (c *Client) Recall(ctx context.Context, q RecallQuery) (*Recalled, error) {
	return result[Recalled](func(out any) error {
		return c.send(ctx, request{method: http.MethodPost, path: memories + "/recall", safe: true}, q, out)
	})
}

// Context packs memories of a subject into a text of limited length.
func (c *Client) Context(ctx context.Context, q ContextQuery) (*PackedContext, error) {
	return result[PackedContext](func(out any) error {
		return c.send(ctx, request{method: http.MethodPost, path: memories + "/context", safe: true}, q, out)
	})
}
