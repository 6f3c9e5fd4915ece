package api

import (
	"errors"
	"net/http"

	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
	"keepsake/internal/web/endpoint"
)

// judgement is what a Judging operation found out about the credential of another service's request.
type judgement struct {
	owner    *auth.Principal // of a credential that can make the request, for the headers; nil if none can
	carry429 bool            // send a 429 as a 403 (endpoint.Demand)
}

// Judge implements endpoint.Request.
func (c *operationContext) Judge(d endpoint.Demand) error {
	x := c.running
	if x == nil || x.identified.kind != judging {
		return errors.New("judge a credential for an operation that does not declare it")
	}
	x.warnOfProxy()
	err := x.judge(&d)
	x.charged.judgement.carry429 = d.Carry429
	return err
}

// judge decides with the function that also decides for /verify. A refusal costs the credential nothing.
func (x *admitted) judge(d *endpoint.Demand) error {
	who := x.identified
	known, err := who.routed.authenticate(endpoint.Key|endpoint.Bearer, who.keyAsBearer())
	if err != nil {
		return x.unidentified(err)
	}
	who.setCaller(known)
	q := apikey.VerifyRequest{Scopes: d.Scopes, Cost: d.Cost, Consume: true}
	if !known.live.Anywhere() {
		q.From = x.ctx.Client()
	}
	j := known.live.Judge(x.api.o.Limiter, q, x.at)
	switch j.Code {
	case apikey.Valid:
		x.charged = who.charged(j.Verdict, j.Receipt)
		x.charged.judgement.owner = &x.ctx.principal
		return nil
	case apikey.RateLimited, apikey.QuotaExceeded:
		x.charged = who.charged(j.Verdict, j.Receipt)
		return spent(&j.Verdict, x.at)
	}
	x.charged = who.peek()
	switch j.Code {
	case apikey.InsufficientScope:
		return problem.ScopeMissing(firstMissing(d.Scopes, known.live.Principal.Scopes))
	case apikey.IPNotAllowed:
		return errAddressNotAllowed
	default: // a key that is itself disabled was not identified
		return errSuspended
	}
}

// ownerHeaders appends the headers that name the owner of a judged credential: a key or a user. The header of the other kind is sent
// empty, because some proxies only replace what their client sent by what is there.
func ownerHeaders(h headers, p *auth.Principal) headers {
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
func (x *admitted) unidentified(err error) error {
	p, ok := problem.As(err)
	if !ok || !isWrongCredential(p) {
		x.charged = x.identified.peek()
		return err
	}
	verdict, _ := x.address.charge()
	x.charged = x.identified.charged(verdict, limit.Receipt{})
	if !verdict.Allowed {
		return spent(&verdict, x.at)
	}
	return p
}

// sendRefusal sends a problem to a proxy. Some proxies drop the body, so a header repeats its code.
func (x *answered) sendRefusal(p *problem.Problem, body []byte) {
	h := x.w.Header()
	h["X-Keepsake-Error"] = []string{p.Code}
	if p.Kind != problem.RateLimited || !x.charged.judgement.carry429 {
		x.send(statuses[p.Kind], mediaJSON, body)
		return
	}
	h["X-Keepsake-Status"] = []string{"429"}
	x.send(http.StatusForbidden, mediaJSON, body)
	x.status = http.StatusTooManyRequests // for usage and the log: it is what the client gets
}
