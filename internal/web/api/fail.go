package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
)

// fail responds with an error: a problem, or a fixed 500 for any other error, whose cause is only logged.
func (x *charged) fail(err error) {
	p := x.problemOf(err)
	body := x.bodyOf(p)
	if x.failedByUs(p, err) {
		x.refund()
	}
	x.sendProblem(p, body)
}

// failedByUs logs the cause of a 5xx response, and reports whether it is due to a fault of ours.
func (x *charged) failedByUs(p *problem.Problem, err error) bool {
	if statuses[p.Kind] < http.StatusInternalServerError {
		return false
	}
	moreToKnow := err != error(p) || p.Unwrap() != nil
	if moreToKnow && x.ctx.parent.Err() == nil { // a disconnected client is not a failure
		x.api.o.Log.LogAttrs(context.Background(), levelOf(p), "request failed", slog.String("id", x.ctx.RequestID()), slog.String("route", x.identified.routed.route.template), slog.String("error", err.Error()))
	}
	return x.ourFault(p)
}

// levelOf returns the level of the log line of a 5xx. A 503 is for a state that ends, such as a full disk, and the client can
// repeat the request. Any other one is a bug.
func levelOf(p *problem.Problem) slog.Level {
	if p.Kind == problem.Unavailable {
		return slog.LevelWarn
	}
	return slog.LevelError
}

// ourFault reports whether a 5xx response is due to a fault of ours, and so not charged. It is not if the client has
// disconnected, or if the operation used up the time of its class: else a client could evade limits by cancelling slow
// requests. A wait that times out is a problem of its own (problem.Busy).
func (x *charged) ourFault(p *problem.Problem) bool {
	return x.ctx.parent.Err() == nil && (p != errInTime || x.ctx.Err() == nil)
}

// problemOf returns the problem that the client gets for err.
func (x *charged) problemOf(err error) *problem.Problem {
	p, ok := problem.As(err)
	switch {
	case ok:
		return p
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), x.ctx.Err() != nil: // drivers have errors of their own for it
		return errInTime
	default:
		return errInternal
	}
}

// bodyOf returns the JSON of a problem.
func (x *charged) bodyOf(p *problem.Problem) []byte {
	message := p.Message
	if message == problem.MissingMessage {
		message = missingFrom(x.identified.routed.route.template)
	}
	var v any = errorBody{Error: p.Code, Message: message, Details: p.Details, RequestID: x.ctx.RequestID()}
	switch {
	case p.Kind == problem.Gone && x.identified.routed.gone != nil:
		v = x.identified.routed.goneBody(p)
	case p.Kind == problem.RateLimited:
		v = limitBody{
			Error: p.Code, Message: p.Message, ResetTimeMs: int64((p.RetryAfter + time.Millisecond - 1) / time.Millisecond),
			Details: p.Details, RequestID: x.ctx.RequestID(),
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

func (x *charged) sendProblem(p *problem.Problem, body []byte) {
	x.sendProblemAs(p, mediaJSON, body)
}

func (x *charged) sendProblemAs(p *problem.Problem, media []string, body []byte) {
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
	a := x.answer()
	a.code = p.Code
	if x.identified.kind == judging {
		a.sendRefusal(p, body)
		return
	}
	a.send(statuses[p.Kind], media, body)
}

// refuse responds to a request over a limit: §2.4, with the same number of seconds in three places.
func (x *charged) refuse() {
	p := spent(&x.verdict, x.at)
	x.sendProblem(p, x.bodyOf(p))
}
