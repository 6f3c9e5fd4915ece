// Package openai sends texts to an embeddings endpoint that is compatible with the API of OpenAI. Many servers are.
package openai

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"keepsake/internal/base/outbound"
	"keepsake/internal/memory/embedding"
)

// Options is what an Endpoint needs.
type Options struct {
	URL   string // of the API, such as https://api.openai.com/v1
	Model string
	Key   string // sent as a bearer token; none if empty
	// AllowPrivate permits addresses that are not on the public internet.
	AllowPrivate bool
	// Lookup resolves the name of a host. The system's resolver if nil.
	Lookup  func(ctx context.Context, host string) ([]netip.Addr, error)
	Release string        // of the program, for User-Agent
	Timeout time.Duration // of a request; 30 s if zero
	Now     func() time.Time
}

// Endpoint implements embedding.Encoder.
type Endpoint struct {
	o      Options
	client *http.Client
}

const (
	defaultTimeout = 30 * time.Second
	// maxVector is the size of a vector in a response, and maxRest that of everything else in it.
	maxVector = 256 << 10
	maxRest   = 64 << 10
)

// New returns an Endpoint.
func New(o Options) *Endpoint {
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	return &Endpoint{o: o, client: outbound.NewClient(outbound.Options{AllowPrivate: o.AllowPrivate, Lookup: o.Lookup, MaxPerHost: 16})}
}

// Close closes idle connections.
func (e *Endpoint) Close() { e.client.CloseIdleConnections() }

type request struct {
	Model string   `json:"model"`
	Input []string `json:"input"`
}

type response struct {
	Data []struct {
		Index     *int      `json:"index"`
		Embedding []float32 `json:"embedding"`
	} `json:"data"`
}

// Encode implements embedding.Encoder. It sends the request once and follows no redirect. No error contains what was sent or what
// came back, because both can contain texts of people.
func (e *Endpoint) Encode(ctx context.Context, texts []string) ([][]float32, error) {
	body, err := json.Marshal(request{e.o.Model, texts})
	if err != nil {
		return nil, &embedding.Error{Reason: embedding.Rejected} // not valid UTF-8
	}
	ctx, cancel := context.WithTimeout(ctx, e.o.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(e.o.URL, "/")+"/embeddings", bytes.NewReader(body))
	if err != nil {
		return nil, &embedding.Error{Reason: embedding.Connection}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Keepsake/"+e.o.Release)
	if e.o.Key != "" {
		r.Header.Set("Authorization", "Bearer "+e.o.Key)
	}
	answer, err := e.client.Do(r)
	if err != nil {
		return nil, failure(ctx, err)
	}
	defer answer.Body.Close()
	if err := e.statusError(answer); err != nil {
		_, _ = io.CopyN(io.Discard, answer.Body, maxRest) // so that the connection can be used again
		return nil, err
	}
	most := int64(len(texts))*maxVector + maxRest
	text, err := io.ReadAll(io.LimitReader(answer.Body, most+1))
	switch {
	case err != nil:
		return nil, failure(ctx, err)
	case int64(len(text)) > most:
		return nil, &embedding.Error{Reason: embedding.Answer}
	}
	return vectors(text, len(texts))
}

// vectors reads n vectors from a response, in the order of their indexes.
func vectors(text []byte, n int) ([][]float32, error) {
	invalid := &embedding.Error{Reason: embedding.Answer}
	var r response
	if json.Unmarshal(text, &r) != nil || len(r.Data) != n {
		return nil, invalid
	}
	list := make([][]float32, n)
	for _, d := range r.Data {
		if d.Index == nil || *d.Index < 0 || *d.Index >= n || list[*d.Index] != nil || len(d.Embedding) == 0 {
			return nil, invalid
		}
		list[*d.Index] = d.Embedding
	}
	return list, nil
}

// failure returns why there is no response.
func failure(ctx context.Context, err error) error {
	var timeout net.Error
	switch {
	case errors.Is(err, outbound.ErrAddress):
		return &embedding.Error{Reason: embedding.Address}
	case ctx.Err() != nil || errors.As(err, &timeout) && timeout.Timeout():
		return &embedding.Error{Reason: embedding.Timeout}
	}
	return &embedding.Error{Reason: embedding.Connection}
}

func (e *Endpoint) statusError(r *http.Response) error {
	failed := &embedding.Error{Reason: embedding.Status}
	switch status := r.StatusCode; {
	case status == http.StatusOK:
		return nil
	case status >= 300 && status < 400:
		failed.Reason = embedding.Redirect
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		failed.Reason = embedding.Credentials
	case status == http.StatusBadRequest, status == http.StatusRequestEntityTooLarge, status == http.StatusUnprocessableEntity:
		failed.Reason = embedding.Rejected
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		failed.Reason = embedding.Throttled
		failed.RetryAfter = outbound.RetryAfter(r.Header.Get("Retry-After"), e.o.Now())
	}
	return failed
}
