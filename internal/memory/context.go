package memory

import (
	"context"
	"fmt"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
)

// ContextQuery asks for a text that contains memories: the pinned ones, those that a recall of Query finds, and the newest.
type ContextQuery struct {
	RecallQuery       // Limit 0: 50; Fill is ignored
	MaxTokens     int // 0: 1000, unless MaxCharacters is set
	MaxCharacters int
}

// Packed is a text that contains memories, within the limits of its query.
type Packed struct {
	Text      string
	MemoryIDs []string // in the order of the text, which is that of Parts
	Tokens    int      // of the text, as estimated by Tokens
	Parts     ContextParts
	Cut       []string // those of MemoryIDs whose texts are not whole
	Omitted   ContextOmitted
	Degraded  bool // as in Recalled
}

// ContextParts are the IDs of memories by the reason why they are in a context.
type ContextParts struct {
	Pinned   []string
	Recalled []string // they answer the query
	Recent   []string
}

// ContextOmitted counts the memories that had no room in a context. Memories beyond the limit of the query do not count, except
// pinned ones, and neither do those that say the same as a memory of the context.
type ContextOmitted struct{ Pinned, Recalled, Recent int }

const (
	defaultContext = 50
	defaultTokens  = 1_000
)

// Context packs memories into a text for a prompt: those that fit of the pinned, the recalled and the newest ones. Each text
// occurs once, and each part is in the order of time. A pinned memory or the best answer is cut if it does not fit.
func (r *Recaller) Context(ctx context.Context, p *auth.Principal, q ContextQuery) (*Packed, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	if err := q.bind(p, defaultContext); err != nil {
		return nil, err
	}
	q.Fill = true
	if q.MaxTokens == 0 && q.MaxCharacters == 0 {
		q.MaxTokens = defaultTokens
	}
	task := r.shares.Start(ctx, p.WorkspaceID)
	defer task.End()
	asked := r.embeddings.question(p.WorkspaceID, q.Query)
	recalled, err := r.rank(ctx, task, p, &q.RecallQuery, asked, r.now())
	if err != nil {
		return nil, fmt.Errorf("pack a context: %w", err)
	}
	if recalled == nil {
		return &Packed{Degraded: asked.degraded()}, r.record(ctx, p, audit.MemoryContext, q.SubjectID, nil, asked)
	}
	packed, err := pack(task, recalled, &q)
	if err != nil {
		return nil, fmt.Errorf("pack a context: %w", err)
	}
	task.Release()
	packed.Degraded = asked.degraded()
	return packed, r.record(ctx, p, audit.MemoryContext, q.SubjectID, packed.MemoryIDs, asked)
}

func (q *ContextQuery) check() error {
	if q.Query != "" {
		if err := checkQuery(q.Query); err != nil {
			return err
		}
	}
	switch {
	case q.MaxTokens < 0:
		return problem.Validation("maxTokens", problem.TooSmall, "maxTokens must be at least 1.")
	case q.MaxCharacters < 0:
		return problem.Validation("maxCharacters", problem.TooSmall, "maxCharacters must be at least 1.")
	case q.MaxTokens > 0 && q.MaxCharacters > 0:
		return problem.Validation("maxCharacters", problem.NotAllowed, "maxCharacters cannot be combined with maxTokens.")
	}
	return nil
}
