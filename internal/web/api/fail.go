package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/limit"
)

// fail responds with an error: a problem, or a fixed 500 for any other error, whose cause is only logged.
func (x *requestState) fail(err error) {
	if !x.judged { // a Judging operation failed before it judged
		x.peekAddress()
	}
	p := x.problemOf(err)
	body := x.bodyOf(p)
	if statuses[p.Kind] >= http.StatusInternalServerError {
		if x.ourFault(p) {
			x.refund()
		}
		moreToKnow := err != error(p) || p.Unwrap() != nil
		if moreToKnow && x.parent.Err() == nil { // a disconnected client is not a failure
			x.api.o.Log.Error("request failed", slog.String("id", x.RequestID()), slog.String("route", x.route.template), slog.String("error", err.Error()))
		}
	}
	x.sendProblem(p, body)
}

// ourFault reports whether a 5xx response is due to a fault of ours, and so not charged. It is not if the client has
// disconnected, or if the operation used up the time of its class: else a client could evade limits by cancelling slow
// requests. A wait that times out is a problem of its own (problem.Busy).
func (x *requestState) ourFault(p *problem.Problem) bool {
	return x.parent.Err() == nil && (p != errInTime || x.operationContext.Err() == nil)
}

// problemOf returns the problem that the client gets for err.
func (x *requestState) problemOf(err error) *problem.Problem {
	p, ok := problem.As(err)
	switch {
	case ok:
		return p
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), x.operationContext.Err() != nil: // drivers have errors of their own for it
		return errInTime
	default:
		return errInternal
	}
}

// bodyOf returns the JSON of a problem.
func (x *requestState) bodyOf(p *problem.Problem) []byte {
	message := p.Message
	if message == problem.MissingMessage {
		message = missingFrom(x.route.template)
	}
	var v any = errorBody{Error: p.Code, Message: message, Details: p.Details, RequestID: x.RequestID()}
	switch {
	case p.Kind == problem.Gone && x.gone != nil:
		v = x.goneBody(p)
	case p.Kind == problem.RateLimited:
		v = limitBody{
			Error: p.Code, Message: p.Message, ResetTimeMs: int64((p.RetryAfter + time.Millisecond - 1) / time.Millisecond),
			Details: p.Details, RequestID: x.RequestID(),
		}
	}
	return encode(v)
}

// resources maps the segment before an ID to the kind of the resource.
var resources = map[string]string{
	"api-keys": "API key", "documents": "Document", "memories": "Memory", "subjects": "Subject",
	"users": "User", "workspaces": "Workspace", "tiers": "Tier", "versions": "Version", "webhooks": "Webhook", "deliveries": "Delivery",
}

// missingFrom names the resource that does not exist: "Memory not found."
func missingFrom(template string) string {
	if i := strings.LastIndex(template, "/{"); i >= 0 {
		if resource := resources[path.Base(template[:i])]; resource != "" {
			return resource + " not found."
		}
	}
	return problem.MissingMessage
}

// encode encodes bodies that always can be encoded. They end with a newline, like those of operations.
func encode(v any) []byte {
	body, err := wire.Encode(v)
	if err != nil {
		panic(err)
	}
	return append(body, '\n')
}

func (x *requestState) sendProblem(p *problem.Problem, body []byte) {
	x.sendProblemAs(p, mediaJSON, body)
}

func (x *requestState) sendProblemAs(p *problem.Problem, media []string, body []byte) {
	h := x.w.Header()
	switch p.Kind {
	case problem.Unauthenticated:
		x.challenge(h, p)
	case problem.Forbidden:
		x.challengeScope(h, p)
	case problem.Unavailable, problem.RateLimited:
		seconds := max(1, int64((p.RetryAfter+time.Second-1)/time.Second))
		h["Retry-After"] = []string{strconv.FormatInt(seconds, 10)}
	}
	if p.Kind == problem.RateLimited {
		x.api.counters.throttle(p.Details.Policy)
	}
	x.code = p.Code
	if x.judging != nil {
		x.sendRefusal(p, body)
		return
	}
	x.send(statuses[p.Kind], media, body)
}

// refuse responds to a request over a limit: §2.4, with the same number of seconds in three places.
func (x *requestState) refuse() {
	p := spent(&x.verdict)
	x.sendProblem(p, x.bodyOf(p))
}

// refund refunds a request that failed by a fault of ours, also in its headers.
func (x *requestState) refund() {
	x.receipt.Refund()
	x.receipt = limit.Receipt{}
	switch {
	case x.paid:
		x.verdict = x.api.o.Limiter.Peek(x.at, 1, x.caller.workspace, x.caller.live.Account)
		x.paid = false
	case x.address.Use != nil && !x.known:
		x.peekAddress()
	}
}

// end runs last in any case: it handles a panic, counts the request and logs it, and discards the rest of its body.
func (x *requestState) end() {
	fault := recover()
	if fault == nil {
		x.settle()
		x.discard()
		x.release()
		return
	}
	defer x.discard() // last
	defer x.settle()
	if fault != http.ErrAbortHandler { //nolint:errorlint // the value net/http compares with
		x.api.o.Log.Error("panic", slog.String("id", x.RequestID()), slog.String("route", x.route.template),
			slog.Any("panic", fault), slog.String("stack", string(debug.Stack())))
	}
	if x.status != 0 || fault == http.ErrAbortHandler { //nolint:errorlint // as above
		panic(http.ErrAbortHandler) // part of the response was sent: abort the connection, so that it does not look complete
	}
	x.apologise()
}

// apologise responds with a 500 after a panic.
func (x *requestState) apologise() {
	if x.table == nil {
		x.snapshot = x.api.o.Versions.Snapshot()
		x.version = x.snapshot.Current()
		x.number = x.version.Number
		x.table = &table{number: strconv.Itoa(x.number)}
	}
	switch {
	case !x.judged:
		x.peekAddress()
	case x.ourFault(errInternal):
		x.refund()
	}
	clear(x.w.Header())
	x.sendProblem(errInternal, x.bodyOf(errInternal))
}
