package memory

import (
	"context"

	"keepsake/internal/fairshare"
	"keepsake/internal/memory/embedding"
	"keepsake/internal/memory/recall"
)

// Embeddings is the embeddings endpoint of the instance: *embedding.Client, and the workspaces that use it.
type Embeddings struct {
	Client *embedding.Client
	// Uses reports whether texts of a workspace are sent to the endpoint, and Workspaces lists those of which they are.
	Uses       func(workspaceID string) bool
	Workspaces func() []string
	// Alone runs fn while no other process of the instance runs one.
	Alone func(ctx context.Context, fn func(ctx context.Context) error) error
}

// uses reports whether there is an endpoint that a workspace uses.
func (e *Embeddings) uses(workspaceID string) bool { return e != nil && e.Uses(workspaceID) }

// question is the query of a recall as the endpoint sees it. The nil question is that of a workspace without an endpoint.
type question struct {
	client  *embedding.Client
	running *embedding.Query
	vector  embedding.Vector
}

// ask sends a query to the endpoint, if the workspace uses it.
func (e *Embeddings) ask(ctx context.Context, workspaceID, query string) *question {
	if query == "" || !e.uses(workspaceID) {
		return nil
	}
	return &question{client: e.Client, running: e.Client.Query(ctx, query)}
}

// wait waits for the vector, without a slot of the task.
func (q *question) wait(task *fairshare.Task) {
	if q != nil {
		task.Release()
		q.vector = q.running.Wait()
	}
}

// model is the model of the memories' vectors that can be compared with the query; empty without a vector of the query.
func (q *question) model() string {
	if q == nil || q.vector == nil {
		return ""
	}
	return q.client.Model()
}

// degraded reports whether the endpoint should have been part of a recall and was not.
func (q *question) degraded() bool { return q != nil && q.vector == nil }

// sent reports whether the query was sent to the endpoint.
func (q *question) sent() bool { return q != nil && q.running.Sent() }

// apply adds the vectors to the query of an index.
func (q *question) apply(to *recall.Query, vectors *recall.Embeddings) {
	if q.model() != "" {
		to.Embedding, to.Embeddings = q.vector, vectors
		if b := q.client.Baseline(); b != nil {
			to.Baseline = &recall.Baseline{Mean: b.Mean, Deviation: b.Deviation}
		}
	}
}
