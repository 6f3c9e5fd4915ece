package api

import (
	"fmt"
	"html"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/usage"
	"keepsake/internal/web/endpoint"
)

// A client address can send this many requests a minute that no limit counts: for pages, descriptions of the API and keys
// that verify tokens. A person who clicks every second, with every file of each page, stays far below it.
const visitsPerMinute = 600

// rememberedVisitors bounds the memory for these counts, to about 4 MiB.
const rememberedVisitors = 16_384

func newVisitors() *limit.Addresses {
	return limit.NewAddresses(limit.Allowance{PerMinute: visitsPerMinute}, rememberedVisitors)
}

// isFree reports whether a route is free for callers without a credential, and costs more to serve than to refuse.
func isFree(rt *route) bool {
	return rt.page != nil || rt.op.Uncharged && rt.op.Credentials == endpoint.NoCredential
}

// flooded counts a free request, and reports whether its client address has sent too many in its minute. Trusted proxies and
// the data folder's socket are not counted, and neither is the backend listener, which probes and gateways call.
func (x *routed) flooded() (visits limit.Verdict, over bool) {
	if x.api.o.Surface == usage.Backend {
		return visits, false
	}
	client := x.ctx.Client()
	if !client.IsValid() || within(client, x.api.o.TrustedProxies) {
		return visits, false
	}
	visits, _ = limit.Local{}.Charge(x.at, 1, x.api.visitors.Account(client), limit.Account{})
	return visits, !visits.Allowed
}

// refuseFlood responds to a free request that is one too many: a browser gets a page. The rate-limit headers are those of a
// caller without a credential, as on every free response.
func (x *routed) refuseFlood(visits *limit.Verdict) {
	c := x.as(noOperation, nil).peek()
	p := spent(visits, x.at)
	p.Message = "This address sends too many requests; try again " + problem.Wait(visits.RetryAfterSeconds(), x.at) + "."
	if x.route.page == nil || !prefersHTML(x.r.Header["Accept"]) {
		c.sendProblem(p, c.bodyOf(p))
		return
	}
	x.w.Header().Add("Vary", "Accept")
	c.sendProblemAs(p, mediaHTML, fmt.Appendf(nil, `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Too many requests</title>
<h1>Too many requests</h1>
<p>%s
</html>
`, html.EscapeString(p.Message)))
}
