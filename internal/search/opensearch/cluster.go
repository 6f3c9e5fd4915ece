package opensearch

import (
	"context"
	"sync"

	"keepsake/internal/search"
	"keepsake/internal/search/document"
)

// Cluster lets searches read the indexes of workspaces in OpenSearch. It implements search.Elsewhere.
type Cluster struct {
	client *Client
	ready  *Readiness
	has    func(workspaceID string) bool

	mu      sync.Mutex
	answers map[string]answered // by workspace
}

var _ search.Elsewhere = (*Cluster)(nil)

// answered are the answers of an index in a state.
type answered struct {
	state   refreshed
	answers *Answers
}

// NewCluster returns a Cluster. has reports whether searches of a workspace read OpenSearch.
func NewCluster(c *Client, r *Readiness, has func(workspaceID string) bool) *Cluster {
	return &Cluster{client: c, ready: r, has: has, answers: map[string]answered{}}
}

// Has implements search.Elsewhere.
func (c *Cluster) Has(_ context.Context, workspaceID string) (bool, error) {
	return c.has(workspaceID), nil
}

// State implements search.Elsewhere.
func (c *Cluster) State(ctx context.Context, workspaceID string) (document.State, error) {
	return c.ready.state(ctx, workspaceID)
}

// Open implements search.Elsewhere.
func (c *Cluster) Open(ctx context.Context, workspaceID string, state document.State) (search.Reader, error) {
	if err := c.ready.Wait(ctx, workspaceID, state); err != nil {
		return nil, err
	}
	documents, words := c.ready.Alias(workspaceID)
	reader := NewReader(ctx, c.client, documents, words, c.answersOf(workspaceID, c.ready.known(workspaceID)))
	reader.doubt = func(ctx context.Context) error { return c.ready.Answers(ctx, workspaceID) }
	return reader, nil
}

// answersOf returns what the indexes of a workspace answered in a state.
func (c *Cluster) answersOf(workspaceID string, state refreshed) *Answers {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, ok := c.answers[workspaceID]
	switch {
	case ok && kept.state == state:
		return kept.answers
	case ok && kept.state.index == state.index && kept.state.Change < state.Change:
		kept = answered{state, kept.answers.Next(kept.state.Change, state.Change)}
	default:
		kept = answered{state, NewAnswers()}
	}
	c.answers[workspaceID] = kept
	return kept.answers
}
