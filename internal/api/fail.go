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

	"keepsake/internal/limit"
	"keepsake/internal/problem"
	"keepsake/internal/wire"
)

// fail answers with an error: a problem as it is, anything else as a fixed 500 whose cause goes to the log alone.
func (x *requestState) fail(err error) {
	p := x.problemOf(err)
	body := x.bodyOf(p)
	if statuses[p.Kind] >= http.StatusInternalServerError {
		if x.ourFault(p) {
			x.refund()
		}
		moreToKnow := err != error(p) || p.Unwrap() != nil
		if moreToKnow && x.parent.Err() == nil { // a client that went away is no failure of ours
			x.api.o.Log.Error("request failed", slog.String("id", x.RequestID()), slog.String("route", x.route.template), slog.String("error", err.Error()))
		}
	}
	x.sendProblem(p, body)
}

// ourFault reports whether an answer of 5xx is for a fault of ours, for which nobody pays. It is not if the client has
// gone, nor if the operation used up the time of its class by itself: else a limit could be evaded by hanging up on
// requests that take long. What waits for a part of ours until its time is over is a problem of its own (problem.Busy).
func (x *requestState) ourFault(p *problem.Problem) bool {
	return x.parent.Err() == nil && (p != errInTime || x.operationContext.Err() == nil)
}

// problemOf finds what the caller is told about err.
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

// bodyOf is the JSON of a problem.
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

// resources are the kinds of resource that paths name, by the segment before the ID.
var resources = map[string]string{
	"api-keys": "API key", "documents": "Document", "memories": "Memory", "subjects": "Subject",
	"users": "User", "workspaces": "Workspace", "tiers": "Tier", "versions": "Version",
}

// missingFrom says what a path names that does not exist: "Memory not found."
func missingFrom(template string) string {
	if i := strings.LastIndex(template, "/{"); i >= 0 {
		if resource := resources[path.Base(template[:i])]; resource != "" {
			return resource + " not found."
		}
	}
	return problem.MissingMessage
}

// encode is for bodies of our own, which always can be encoded. They end with a newline, like those of operations.
func encode(v any) []byte {
	body, err := wire.Encode(v)
	if err != nil {
		panic(err)
	}
	return append(body, '\n')
}

func (x *requestState) sendProblem(p *problem.Problem, body []byte) {
	h := x.w.Header()
	switch p.Kind {
	case problem.Unauthenticated:
		x.challenge(h, p)
	case problem.Unavailable, problem.RateLimited:
		seconds := max(1, int64((p.RetryAfter+time.Second-1)/time.Second))
		h["Retry-After"] = []string{strconv.FormatInt(seconds, 10)}
	}
	x.send(statuses[p.Kind], mediaJSON, body)
}

// refuse is the answer to a request whose budget is spent: §2.4, with the same number of seconds in three places.
func (x *requestState) refuse() {
	p := spent(&x.verdict)
	x.sendProblem(p, x.bodyOf(p))
}

// refund gives back what a request was charged that failed by a fault of ours, and lets its headers show that.
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

// end runs last, whatever happened: it answers for a panic, counts the request and writes its line in the log.
func (x *requestState) end() {
	fault := recover()
	if fault == nil {
		x.settle()
		x.release()
		return
	}
	defer x.settle()
	if fault != http.ErrAbortHandler { //nolint:errorlint // the value net/http compares with
		x.api.o.Log.Error("panic", slog.String("id", x.RequestID()), slog.String("route", x.route.template),
			slog.Any("panic", fault), slog.String("stack", string(debug.Stack())))
	}
	if x.status != 0 || fault == http.ErrAbortHandler { //nolint:errorlint // as above
		panic(http.ErrAbortHandler) // half an answer is out: cut the connection, so that it is not taken for a whole one
	}
	x.apologise()
}

// apologise answers 500 from wherever a panic came.
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
