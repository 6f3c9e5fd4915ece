package client

import (
	"context"
	"net/http"
)

// Agent calls the AI services of a server: the operations on memories that an agent needs. If its API key is bound to a subject,
// the subject can be left out of every call, and the agent reaches the memories of no one else. It is safe for concurrent use.
type Agent struct{ client *Client }

// NewAgent returns a client for the AI services at baseURL (https://search.example.org, or the address of their own listener).
// The credential is an API key or an access token. It is sent as Authorization: Bearer.
func NewAgent(baseURL, credential string, options ...Option) (*Agent, error) {
	if err := headerValue("the credential", credential); err != nil {
		return nil, err
	}
	c, err := New(baseURL, "", options...)
	if err != nil {
		return nil, err
	}
	c.token = credential
	return &Agent{c}, nil
}

// Remember stores a memory, as CreateMemory does.
func (a *Agent) Remember(ctx context.Context, m NewMemory) (*StoredMemory, error) {
	return result[StoredMemory](func(out any) error {
		return a.client.send(ctx, request{method: http.MethodPost, path: "/ai/remember", versioned: true, keyed: true}, m, out)
	})
}

// Recall finds the memories of a subject that answer a question.
func (a *Agent) Recall(ctx context.Context, q RecallQuery) (*Recalled, error) {
	return result[Recalled](func(out any) error {
		return a.client.send(ctx, request{method: http.MethodPost, path: "/ai/recall", versioned: true, safe: true}, q, out)
	})
}

// Context packs memories of a subject into a text of limited length.
func (a *Agent) Context(ctx context.Context, q ContextQuery) (*PackedContext, error) {
	return result[PackedContext](func(out any) error {
		return a.client.send(ctx, request{method: http.MethodPost, path: "/ai/context", versioned: true, safe: true}, q, out)
	})
}

// RateLimits returns the limits that the last response reported, as RateLimits of Client does.
func (a *Agent) RateLimits() *RateLimits { return a.client.RateLimits() }
