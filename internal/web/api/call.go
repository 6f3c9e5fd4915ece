package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/idempotency"
	"keepsake/internal/web/endpoint"
)

// Call implements endpoint.Request.
func (c *operationContext) Call(call *endpoint.Call) (endpoint.Response, error) {
	if c.running == nil || !c.running.op.Calls {
		return endpoint.Response{}, errors.New("call " + call.Operation + ": the operation of the request does not declare that it calls others")
	}
	resp, err := c.running.call(call)
	if err != nil {
		return endpoint.Response{}, err
	}
	return resp, nil
}

// call runs another operation for the caller of the request.
func (x *admitted) call(call *endpoint.Call) (resp endpoint.Response, err error) {
	from := cmp.Or(x.api.o.Primary, x.api)
	t, err := from.table(x.ctx.number)
	if err != nil {
		return resp, err
	}
	rt := t.operations[call.Operation]
	if rt == nil {
		return resp, fmt.Errorf("call %s: version %s has no such operation", call.Operation, t.number)
	}
	if p := x.identified.mayNot(rt.op); p != nil {
		return resp, p
	}
	resp, err = x.runCalled(rt.op, called(rt, call))
	if p, ok := problem.As(err); ok && p.Message == problem.MissingMessage {
		named := *p
		named.Message = missingFrom(rt.template)
		err = &named
	}
	return resp, err
}

// called returns a call as a request.
func called(rt *route, call *endpoint.Call) *http.Request {
	r := &http.Request{
		Method: rt.method, URL: &url.URL{Path: rt.template, RawQuery: call.Query.Encode()}, Header: http.Header{}, Body: http.NoBody,
	}
	for name, value := range call.Header {
		r.Header.Set(name, value)
	}
	if call.Body != nil {
		r.Header["Content-Type"] = mediaJSON
		r.Body, r.ContentLength = readCloser{bytes.NewReader(call.Body)}, int64(len(call.Body))
	}
	for name, value := range call.Path {
		r.SetPathValue(name, value)
	}
	return r
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }

// runCalled runs an operation that was called, once if the call has an Idempotency-Key.
func (x *admitted) runCalled(op *endpoint.Operation, r *http.Request) (resp endpoint.Response, err error) {
	key := r.Header[idempotencyKey]
	if !op.Idempotent || key == nil {
		in, err := op.Bind(r, nil)
		if err != nil {
			return resp, err
		}
		return x.encoded(op, in)
	}
	body := x.api.o.Replays.BodyHash()
	in, err := op.Bind(r, body)
	if err != nil {
		return resp, err
	}
	if in.Harmless() {
		return x.encoded(op, in)
	}
	if err := checkIdempotencyKey(key); err != nil {
		return resp, err
	}
	kept, err := x.api.o.Replays.Do(x.ctx, x.onceRequest(r, key[0]), body, idempotency.Work{
		Prepare: func(ctx context.Context) error { return op.Prepare(ctx, in) }, Run: x.onceWork(op, in, &resp), Refused: x.refused,
	})
	if err != nil || kept == nil {
		return resp, err
	}
	resp.Status = kept.Status
	if kept.Status >= http.StatusBadRequest {
		return resp, storedProblem(kept.Body)
	}
	resp.Body, err = x.again(op, kept)
	return resp, err
}

// encoded runs an operation and encodes its response as a whole.
func (x *admitted) encoded(op *endpoint.Operation, in endpoint.Bound) (resp endpoint.Response, err error) {
	if err := op.Prepare(x.ctx, in); err != nil {
		return resp, err
	}
	out, err := op.Run(x.ctx, in)
	if err != nil {
		return resp, err
	}
	return op.Encode(out, nil)
}

// storedProblem returns the problem that a stored response tells of.
func storedProblem(body []byte) error {
	var stored errorBody
	if err := json.Unmarshal(body, &stored); err != nil {
		return fmt.Errorf("read a stored error: %w", err)
	}
	p := problem.New(problem.Internal, stored.Error, stored.Message)
	p.Details = stored.Details
	status := endpoint.StatusOf(stored.Error)
	for kind, of := range statuses {
		if of == status {
			p.Kind = problem.Kind(kind)
		}
	}
	return p
}
