package api

import (
	"errors"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
)

// SignedIn implements endpoint.Request.
func (c *operationContext) SignedIn(userID, workspaceID string) error {
	if c.running == nil || c.running.identified.kind != signingIn {
		return errors.New("sign " + userID + " in: the operation does not say that it does")
	}
	return c.running.charged.signedIn(userID, workspaceID)
}

// signedIn moves the charge of the request from the client's address to the user's workspace.
func (x *charged) signedIn(userID, workspaceID string) error {
	workspace, ok := x.api.o.Workspaces(workspaceID)
	if !ok {
		return errors.New("sign " + userID + " in: workspace " + workspaceID + " is not known")
	}
	if workspace.Suspended() {
		return errSuspended
	}
	verdict, receipt := x.api.o.Limiter.Charge(x.at, 1, workspace.Account(), limit.Account{})
	x.receipt.Refund()
	x.verdict, x.receipt = verdict, receipt
	p := auth.Principal{Kind: auth.User, UserID: userID, WorkspaceID: workspaceID, Operator: workspace.Operator()}
	x.identified.setCaller(x.callerOf(&apikey.LiveKey{Principal: p, Workspace: workspace, Usage: workspace.Usage()}))
	if !verdict.Allowed {
		return spent(&verdict, x.at)
	}
	return nil
}

// whatIsSpent names the limit of a policy for users.
var whatIsSpent = map[limit.Policy]string{
	limit.PolicyTierMinute:   "The workspace has no requests left in this minute",
	limit.PolicyKeyMinute:    "This API key has no requests left in its minute",
	limit.PolicyDailyQuota:   "The daily quota is used up",
	limit.PolicyMonthlyQuota: "The monthly quota is used up",
	limit.PolicyAnonymous:    "This address has no requests left without a valid credential",
}

// unknownRest is the reason of a refusal without an exhausted limit.
const unknownRest = "This server has given out its share of the requests, and it does not know right now what is left"

// spent returns a charge that was denied at a time as a problem.
func spent(v *limit.Verdict, at time.Time) *problem.Problem {
	reason := whatIsSpent[v.Policy]
	if v.Unknown {
		reason = unknownRest
	}
	return &problem.Problem{
		Kind: problem.RateLimited, Code: problem.CodeRateLimited, Details: problem.Details{Policy: string(v.Policy)},
		Message:    reason + "; try again " + problem.Wait(v.RetryAfterSeconds(), at) + ".",
		RetryAfter: time.Duration(v.ResetTimeMs()) * time.Millisecond,
	}
}

// maxRefused is the longest body that is read for a refused request: enough for an email and a password.
const maxRefused = 4 << 10

// refuseSignIn is refuse for a sign-in operation. If its caller has also failed too often, the response names the limit that
// lasts longer.
func (x *charged) refuseSignIn() {
	p, op := spent(&x.verdict, x.at), x.identified.routed.route.op
	if x.r.ContentLength > 0 && x.r.ContentLength <= maxRefused {
		if in, err := op.Bind(x.r, nil); err == nil {
			if other, ok := problem.As(op.Refused(x.ctx, in)); ok && other.RetryAfter > p.RetryAfter {
				p = other
			}
		}
	}
	x.sendProblem(p, x.bodyOf(p))
}
