package apikey

import (
	"time"

	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
)

// Judgement is what Judge decides about a request.
type Judgement struct {
	Code    Code
	Verdict limit.Verdict // unless Code is about something other than limits
	Receipt limit.Receipt // of the charge
	Charged bool          // the cost was charged
}

// Judge decides whether the owner of k could make a request. It is the only such decision: services that use the API keys of
// this instance as their own get it from Service.Verify, proxies in front of them from /forward-auth. An access token is judged
// as a LiveKey with the scopes of its user and without an account, so that only the workspace is charged.
//
// Judge ignores q.Text. Only a Valid answer with q.Consume is charged; the caller records the charge as usage. A key of a
// suspended workspace counts as disabled. A bound key lacks the scope admin, as on every other path. A key with allowed
// addresses cannot be used from an unknown one.
func (k *LiveKey) Judge(limiter limit.Limiter, q VerifyRequest, now time.Time) (j Judgement) {
	switch {
	case k.Workspace.Suspended():
		return Judgement{Code: KeyDisabled}
	case !k.Principal.Scopes.Allows(q.Scopes), q.Scopes&auth.Admin != 0 && k.Principal.Bound():
		return Judgement{Code: InsufficientScope}
	case !k.AllowedFrom(q.From):
		return Judgement{Code: IPNotAllowed}
	}
	if q.Consume {
		j.Verdict, j.Receipt = limiter.Charge(now, q.Cost, k.Workspace.Account(), k.Account)
		j.Charged = j.Verdict.Allowed
	} else {
		j.Verdict = limiter.Peek(now, q.Cost, k.Workspace.Account(), k.Account)
	}
	switch {
	case j.Verdict.Allowed:
		j.Code = Valid
	case j.Verdict.Unknown: // no quota is known to be used up
		j.Code = RateLimited
	case j.Verdict.Policy == limit.PolicyDailyQuota, j.Verdict.Policy == limit.PolicyMonthlyQuota:
		j.Code = QuotaExceeded
	default:
		j.Code = RateLimited
	}
	return j
}
