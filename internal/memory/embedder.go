package memory

import (
	"context"

	"keepsake/internal/base/fairshare"
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
	client      *embedding.Client
	workspaceID string
	query       string
	running     *embedding.Query // nil before send
	vector      embedding.Vector
}

// question returns the question that a recall asks, if the workspace uses the endpoint.
func (e *Embeddings) question(workspaceID, query string) *question {
	if query == "" || !e.uses(workspaceID) {
		return nil
	}
	return &question{client: e.Client, workspaceID: workspaceID, query: query}
}

// send sends the question to the endpoint, without the names of speakers, and waits for its vector, without a slot of the task.
// Another call does nothing.
func (q *question) send(ctx context.Context, task *fairshare.Task, speakers []string) {
	if q == nil || q.running != nil {
		return
	}
	outgoing := recall.Outgoing(q.query, speakers)
	task.Release()
	q.running = q.client.Query(ctx, q.workspaceID, outgoing)
	q.vector = q.running.Wait()
}

// wanted is the model of the vectors that the question probably needs.
func (q *question) wanted() string {
	if q == nil {
		return ""
	}
	return q.client.Model()
}

// model is the model of the memories' vectors that can be compared with the query; empty without a vector of the query.
func (q *question) model() string {
	if q == nil || q.vector == nil {
		return ""
	}
	return q.client.Model()
}

// degraded reports whether the endpoint should have been part of a recall and was not.
func (q *question) degraded() bool { return q != nil && q.running != nil && q.vector == nil }

// sent reports whether the query was sent to the endpoint.
func (q *question) sent() bool { return q != nil && q.running != nil && q.running.Sent() }

// apply adds the vectors to the query of an index.
func (q *question) apply(to *recall.Query, vectors *recall.Embeddings) {
	if q.model() != "" {
		to.Embedding, to.Embeddings = q.vector, vectors
		if b := q.client.Baseline(); b != nil {
			to.Baseline = &recall.Baseline{Mean: b.Mean, Deviation: b.Deviation}
		}
	}
}
