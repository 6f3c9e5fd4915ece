package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/idempotency"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/web/endpoint"
)

const idempotencyKey = idempotency.HeaderName

var replayed = []string{"true"}

// runOnce is run for a request with an Idempotency-Key: a repeated request gets the first response and has no effect.
func (x *admitted) runOnce(key []string) {
	op := x.op
	var in endpoint.Bound
	var err error
	body := x.api.o.Replays.BodyHash()
	var text bytes.Buffer // the body of an operation that is committed in parts
	copied := io.Writer(body)
	if op.InParts {
		copied = &text
	}
	if op.Class != endpoint.Stream { // read the whole body first
		if in, err = x.receive(copied); err == nil && in.Harmless() {
			x.runBound(in)
			return
		}
	}
	if err == nil {
		err = checkIdempotencyKey(key)
	}
	if err != nil {
		x.fail(err)
		return
	}
	request := x.onceRequest(x.r, key[0])
	var resp endpoint.Response
	work := func(in endpoint.Bound) func(context.Context) (idempotency.Outcome, error) {
		return x.onceWork(op, in, &resp)
	}
	var kept *idempotency.Answer
	switch {
	case op.Class == endpoint.Stream:
		kept, err = x.streamOnce(request, work)
	case op.InParts:
		run := func(ctx context.Context, _ io.Reader) (idempotency.Outcome, error) { return work(in)(ctx) }
		kept, err = x.api.o.Replays.DoStream(x.ctx, request, &text, run, x.refused)
	default:
		kept, err = x.api.o.Replays.Do(x.ctx, request, body, idempotency.Work{
			Prepare: func(ctx context.Context) error { return op.Prepare(ctx, in) }, Run: work(in), Refused: x.refused,
		})
	}
	switch {
	case err != nil && op.WithoutStorage && unstored(err):
		x.runBound(in)
	case err != nil:
		x.fail(err)
	case kept != nil:
		x.replay(kept)
	default:
		x.respond(&resp)
	}
}

// onceRequest identifies a request that runs once.
func (x *admitted) onceRequest(r *http.Request, key string) idempotency.Request {
	return idempotency.Request{
		Credential: x.ctx.principal.Actor(), Workspace: x.ctx.principal.WorkspaceID, Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery,
		Key: key,
	}
}

// onceWork returns the work of such a request, which runs the operation and encodes its response into resp.
func (x *admitted) onceWork(op *endpoint.Operation, in endpoint.Bound, resp *endpoint.Response) func(context.Context) (idempotency.Outcome, error) {
	return func(ctx context.Context) (idempotency.Outcome, error) {
		out, err := op.Run(ctx, in)
		if err != nil {
			return idempotency.Outcome{}, err
		}
		*resp, err = op.Encode(out, nil)
		x.locate(op, resp)
		return outcome(*resp), err
	}
}

// unstored reports whether a request failed because the store accepts no writes.
func unstored(err error) bool {
	p, ok := problem.As(err)
	return ok && p.Kind == problem.Unavailable
}

type boundWork func(in endpoint.Bound) func(context.Context) (idempotency.Outcome, error)

// streamOnce lets the operation read the body as it arrives, and computes the hash that identifies a repeated request.
func (x *admitted) streamOnce(request idempotency.Request, work boundWork) (*idempotency.Answer, error) {
	body := whole{http.MaxBytesReader(x.w, x.r.Body, maxStream)}
	var hashed lateReader
	x.r.Body = &hashed
	in, err := x.receive(nil)
	if err != nil {
		return nil, err
	}
	run := func(ctx context.Context, body io.Reader) (idempotency.Outcome, error) {
		hashed.Reader = body
		return work(in)(ctx)
	}
	return x.api.o.Replays.DoStream(x.ctx, request, body, run, x.refused)
}

// whole turns errors of a body into problems.
type whole struct{ io.Reader }

func (w whole) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return n, errTooLarge.Because(err)
	}
	if err != nil && err != io.EOF {
		return n, problem.Validation("body", problem.Format, "The body was cut off.").Because(err)
	}
	return n, err
}

// lateReader is a body whose source is set after it was passed on.
type lateReader struct{ io.Reader }

func (*lateReader) Close() error { return nil }

// outcome returns a response in the form in which it is stored.
func outcome(resp endpoint.Response) idempotency.Outcome {
	out := idempotency.Outcome{Status: resp.Status, Body: resp.Kept}
	for _, f := range resp.Header {
		switch f.Name {
		case "Location":
			out.Location = f.Value
		case "Etag":
			out.ETag = f.Value
		}
	}
	return out
}

// refused returns the response of a problem in the form in which it is stored.
func (x *admitted) refused(p *problem.Problem) idempotency.Outcome {
	return idempotency.Outcome{Status: statuses[p.Kind], Body: x.price().bodyOf(p)}
}

func checkIdempotencyKey(sent []string) error {
	if len(sent) > 1 {
		return problem.Validation(idempotencyKey, problem.Duplicate, "Send the header Idempotency-Key once.")
	}
	return idempotency.CheckKey(sent[0])
}

// replay sends a stored response again.
func (x *admitted) replay(kept *idempotency.Answer) {
	body, err := x.again(x.op, kept)
	if err != nil {
		x.fail(err)
		return
	}
	h := x.w.Header()
	h["Idempotent-Replayed"] = replayed
	if kept.Location != "" {
		h["Location"] = []string{kept.Location}
	}
	if kept.ETag != "" {
		h["ETag"] = []string{kept.ETag}
	}
	media := mediaJSON
	if body == nil {
		media = nil
	}
	a := x.price().answer()
	if kept.Status >= http.StatusBadRequest {
		a.code = codeOf(body)
	}
	a.send(kept.Status, media, body)
}

// again returns the body of a stored response, which is not stored if it is large.
func (x *admitted) again(op *endpoint.Operation, kept *idempotency.Answer) ([]byte, error) {
	if kept.Body != nil && kept.Status < 300 && op.Again != nil {
		if err := op.Again(x.ctx, kept.Body); err != nil {
			return nil, fmt.Errorf("show a kept answer again: %w", err)
		}
	}
	if kept.Body != nil || kept.Location == "" {
		return kept.Body, nil
	}
	resp, err := x.read(kept.Location)
	if err != nil {
		return nil, fmt.Errorf("rebuild a kept answer: %w", err)
	}
	return resp.Body, nil
}

// codeOf returns the code of a stored error.
func codeOf(body []byte) string {
	var stored struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &stored) != nil {
		return ""
	}
	return stored.Error
}

// read performs a GET for the same caller within this request.
func (x *admitted) read(location string) (resp endpoint.Response, err error) {
	target, err := url.Parse(location)
	if err != nil {
		return resp, fmt.Errorf("read its location: %w", err)
	}
	t := x.identified.routed.table
	if number, ok := lifecycle.InPath(target.Path); ok && x.api.o.Primary != nil {
		if t, err = x.api.o.Primary.table(number); err != nil {
			return resp, err
		}
	}
	r := &http.Request{Method: http.MethodGet, URL: target, Host: x.r.Host, Header: http.Header{}, Body: http.NoBody}
	rt, values := t.find(r)
	if rt == nil || rt.op == nil || !x.ctx.principal.Scopes.Allows(rt.op.Scope) {
		return resp, problem.Missing()
	}
	rt.setPathValues(r, values)
	in, err := rt.op.Bind(r, nil)
	if err != nil {
		return resp, err
	}
	out, err := rt.op.Run(x.ctx, in)
	if err != nil {
		return resp, err
	}
	return rt.op.Encode(out, nil)
}
