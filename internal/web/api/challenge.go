package api

import (
	"cmp"
	"net/http"
	"strings"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/usage"
	"keepsake/internal/web/endpoint"
)

// challenges say how to authenticate, as a 401 must. API keys and the backend secret have no registered scheme.
var (
	keyChallenge     = `ApiKey realm="keepsake", header="X-API-Key"`
	backendChallenge = `BackendSecret realm="keepsake", header="X-Keepsake-Backend"`
	bearerChallenge  = `Bearer realm="keepsake"`
	tokenChallenge   = `Bearer realm="keepsake", error="invalid_token"`
)

// challenge returns how to authenticate for the operation of the request, after a problem with its credential.
func (x *charged) challenge(h http.Header, p *problem.Problem) {
	bearer := bearerChallenge
	switch {
	case p.Code == problem.CodeInvalidToken, p.Code == problem.CodeTokenExpired,
		x.identified.keyAsBearer() && p.Code != problem.CodeMissingCredentials: // an API key can be a bearer's token there
		bearer = tokenChallenge
	}
	if op := x.identified.routed.route.op; op != nil && op.Metadata != "" {
		bearer += `, resource_metadata="` + x.metadata(op) + `"`
	}
	takes := takesOf(x.identified.routed.route.op)
	if p == errMissingBackendSecret || p == errWrongBackendSecret {
		takes = endpoint.Backend
	}
	var list []string
	if takes&endpoint.Key != 0 {
		list = append(list, keyChallenge)
	}
	if takes&endpoint.Backend != 0 {
		list = append(list, backendChallenge)
	}
	if takes&endpoint.Bearer != 0 {
		list = append(list, bearer)
	}
	h["WWW-Authenticate"] = list
}

// metadata returns the absolute address of the metadata of an operation. They are at the root of the host, also if publicUrl
// has a path (RFC 9728, 3.1).
func (x *received) metadata(op *endpoint.Operation) string {
	base := cmp.Or(x.api.o.PublicURL, x.api.o.Address)
	return strings.TrimSuffix(base, string(x.api.base)) + op.Metadata
}

// challengeScope says which scope a credential lacks, for clients that look for one (RFC 6750).
func (x *charged) challengeScope(h http.Header, p *problem.Problem) {
	if op := x.identified.routed.route.op; op != nil && op.Metadata != "" && p.Details.RequiredScope != "" {
		h["WWW-Authenticate"] = []string{`Bearer realm="keepsake", error="insufficient_scope", scope="` + p.Details.RequiredScope +
			`", resource_metadata="` + x.metadata(op) + `"`}
	}
}

// keyAsBearer reports whether an API key can be sent in the header for access tokens: on the AI surface, because clients of
// the Model Context Protocol do so (docs/spec/surfaces.md), and to other services, whose clients can be the same.
func (x *identified) keyAsBearer() bool {
	return x.api.o.Surface == usage.AI || x.kind == judging
}

// takesOf returns the credentials that an operation accepts or judges. For sign-in, it is the token that it returns.
func takesOf(op *endpoint.Operation) endpoint.Credentials {
	if op != nil && op.Judging {
		return endpoint.Key | endpoint.Bearer
	}
	if op == nil || op.Credentials == endpoint.NoCredential {
		return endpoint.Bearer
	}
	return op.Credentials
}
