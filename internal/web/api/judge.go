package api

import (
	"errors"
	"net/http"

	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/endpoint"
)

// Judge implements endpoint.Request.
func (c *operationContext) Judge(d endpoint.Demand) error {
	if c.judging == nil {
		return errors.New("judge a credential for an operation that does not declare it")
	}
	return c.judging.judge(d)
}

// judge decides with the function that also decides for /verify. A refusal costs the credential nothing.
func (x *requestState) judge(d endpoint.Demand) error {
	x.warnOfProxy()
	x.carry = d.Carry429
	if err := x.identify(endpoint.Key | endpoint.Bearer); err != nil {
		return x.unidentified(err)
	}
	live := &x.caller.live
	live.Principal = x.principal // that of a token is not in live yet
	q := apikey.VerifyRequest{Scopes: d.Scopes, Cost: d.Cost, Consume: true}
	if !live.Anywhere() {
		q.From = x.Client()
	}
	j := live.Judge(x.api.o.Limiter, q, x.at)
	x.verdict, x.receipt, x.paid, x.judged = j.Verdict, j.Receipt, j.Charged, true
	switch j.Code {
	case apikey.Valid:
		x.passed = true
		return nil
	case apikey.RateLimited, apikey.QuotaExceeded:
		return spent(&x.verdict)
	}
	x.verdict = x.api.o.Limiter.Peek(x.at, 1, x.caller.workspace, live.Account)
	switch j.Code {
	case apikey.InsufficientScope:
		return problem.ScopeMissing(firstMissing(d.Scopes, x.principal.Scopes))
	case apikey.IPNotAllowed:
		return errAddressNotAllowed
	default: // a key that is itself disabled was not identified
		return errSuspended
	}
}

// owner appends the headers that name the owner of a judged credential: a key or a user. The header of the other kind is sent
// empty, because some proxies only replace what their client sent by what is there.
func (x *requestState) owner(h headers) headers {
	p := &x.principal
	h = append(h, "X-Keepsake-Key-Id: "...)
	if p.Kind == auth.APIKey {
		h = id.Append(h, id.APIKey, p.Key)
	}
	h = h.text("\r\nX-Keepsake-User-Id: ", p.UserID).text("X-Keepsake-Workspace-Id: ", p.WorkspaceID)
	return append(p.Scopes.Append(append(h, "X-Keepsake-Scopes: "...)), "\r\n"...)
}

// firstMissing returns the first scope of need that a credential with the scopes own lacks. A bound key lacks admin even if own
// contains it.
func firstMissing(need, own auth.Scopes) string {
	if missing := need &^ own; missing != auth.None {
		return missing.Names()[0]
	}
	return auth.Admin.String()
}

// unidentified completes the refusal of a request without a valid credential. A wrong credential is charged to the client's
// address, like under /api/, so that guessing is slow. A missing one is free, because a proxy asks about every request of a
// browser that has not signed in.
func (x *requestState) unidentified(err error) error {
	p, ok := problem.As(err)
	if !ok || !isWrongCredential(p) {
		x.peekAddress()
		return err
	}
	verdict, _ := x.chargeAddress()
	x.verdict, x.judged = verdict, true
	if !verdict.Allowed {
		return spent(&x.verdict)
	}
	return p
}

// sendRefusal sends a problem to a proxy. Some proxies drop the body, so a header repeats its code.
func (x *requestState) sendRefusal(p *problem.Problem, body []byte) {
	h := x.w.Header()
	h["X-Keepsake-Error"] = []string{p.Code}
	if p.Kind != problem.RateLimited || !x.carry {
		x.send(statuses[p.Kind], mediaJSON, body)
		return
	}
	h["X-Keepsake-Status"] = []string{"429"}
	x.send(http.StatusForbidden, mediaJSON, body)
	x.status = http.StatusTooManyRequests // for usage and the log: it is what the client gets
}
