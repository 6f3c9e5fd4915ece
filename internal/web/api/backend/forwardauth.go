package backend

import (
	"context"
	"net/http"
	"strings"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/endpoint"
)

const forwardAuthPath = "/forward-auth"

// AddForwardAuth declares /forward-auth, with which a proxy asks whether a request to another service can pass.
func AddForwardAuth(r *endpoint.Registry) {
	endpoint.Add(r, endpoint.Operation{
		ID: "forwardAuth", Method: "GET", Path: forwardAuthPath, Tag: "forward authentication",
		Summary: "Judge the credential of a request to another service",
		Description: "The credential is an API key in X-API-Key or Authorization: Bearer, or an access token in Authorization: Bearer. If it is valid, " +
			"has the scopes and has enough requests left, it is charged cost, and headers of the response say whose it is.",
		Status: 200, Uncharged: true, Judging: true,
		Errors: []string{problem.CodeRateLimited, problem.CodeInsufficientScope, problem.CodeIPNotAllowed, problem.CodeSuspended},
	}, forwardAuth)
}

type forwardAuthRequest struct {
	Scope    string `query:"scope" maxLength:"200" doc:"The scopes that the credential must have, separated by spaces or commas."`
	Cost     int64  `query:"cost" default:"1" minimum:"1" maximum:"1000000" doc:"The number of requests to charge."`
	Carry429 bool   `query:"carry429" doc:"Whether a 429 is sent as 403 with the header X-Keepsake-Status: 429, for proxies that pass on no other refusal."`
}

// forwardAuthAnswer has no body. The pipeline adds the headers.
type forwardAuthAnswer struct {
	Raw []byte
}

// passed is the response to every request that can pass.
var passed = &forwardAuthAnswer{}

func forwardAuth(ctx context.Context, in *forwardAuthRequest) (*forwardAuthAnswer, error) {
	scopes, err := in.scopes()
	if err != nil {
		return nil, err
	}
	if err := endpoint.RequestOf(ctx).Judge(endpoint.Demand{Scopes: scopes, Cost: in.Cost, Carry429: in.Carry429}); err != nil {
		return nil, err
	}
	return passed, nil
}

// scopes parses the list of scopes.
func (in *forwardAuthRequest) scopes() (all auth.Scopes, err error) {
	for name := range strings.FieldsFuncSeq(in.Scope, func(r rune) bool { return r == ' ' || r == ',' }) {
		scope, ok := auth.ParseScope(name)
		if !ok {
			return 0, problem.Validation("scope", problem.NotAllowed, "There is no such scope.")
		}
		all |= scope
	}
	if all == auth.None && in.Scope != "" {
		return 0, problem.Validation("scope", problem.Required, "scope must name a scope; leave it out if none is needed.")
	}
	return all, nil
}

// ForwardAuthPaths serves the form of /forward-auth for proxies that send their request's own method, path and query, such as
// Envoy. The segment after /forward-auth/ holds the parameters, and all that follows it is ignored:
//
//	POST /forward-auth/scope=write&cost=2/orders/7?q=x  is  GET /forward-auth?scope=write&cost=2
func ForwardAuthPaths(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rest, ok := strings.CutPrefix(r.URL.EscapedPath(), forwardAuthPath+"/"); ok {
			parameters, _, _ := strings.Cut(rest, "/")
			r = r.WithContext(r.Context()) // a copy
			target := *r.URL
			target.Path, target.RawPath, target.RawQuery = forwardAuthPath, "", parameters
			r.URL = &target
			if r.Method != http.MethodHead {
				r.Method = http.MethodGet
			}
		}
		h.ServeHTTP(w, r)
	})
}
