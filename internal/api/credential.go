package api

import (
	"net/http"
	"time"

	"keepsake/internal/apikey"
	"keepsake/internal/auth"
	"keepsake/internal/limit"
	"keepsake/internal/problem"
)

// caller is who sent the request, once its credential was found valid.
type caller struct {
	live      apikey.Live // the key; for a local caller what corresponds to it
	workspace limit.Account
}

var (
	errMissingCredentials = problem.New(problem.Unauthenticated, problem.CodeMissingCredentials,
		"Send an API key in the header X-API-Key.")
	errAmbiguousKey = problem.New(problem.Unauthenticated, problem.CodeInvalidAPIKey,
		"More than one X-API-Key was sent.")
	errAddressNotAllowed = problem.New(problem.Forbidden, problem.CodeIPNotAllowed,
		"This API key may not be used from this address.")
	errSuspended = problem.New(problem.Forbidden, problem.CodeSuspended,
		"The workspace of this credential is suspended.")
)

// identify finds out who calls. It is nil where that is known, also from before.
func (x *exchange) identify() error {
	if x.known {
		return nil
	}
	c := &x.caller
	switch sent := x.r.Header["X-Api-Key"]; {
	case x.api.o.Keys == nil:
		return errMissingCredentials
	case len(sent) > 1:
		return errAmbiguousKey
	case len(sent) == 1 && sent[0] != "":
		var err error
		if c.live, err = x.api.o.Keys.Recognise(x.call, sent[0], x.at); err != nil {
			return err
		}
		c.live.Touch(x.at)
		x.principal = c.live.Principal
	case x.api.o.Operator != nil && isLocal(x.parent):
		entry, ok := x.api.o.Operator()
		if !ok {
			return errMissingCredentials
		}
		c.live.Workspace, c.live.Usage = entry, entry.Usage()
		x.principal = auth.Principal{Kind: auth.Local, WorkspaceID: entry.ID(), Operator: true, Scopes: auth.All}
	default:
		return errMissingCredentials
	}
	x.known, c.workspace = true, c.live.Workspace.Account()
	return nil
}

// admit says whether a valid credential may be used at all, here and now.
func (x *exchange) admit() error {
	switch c := &x.caller; {
	case !c.live.Anywhere() && !c.live.AllowedFrom(x.Client()):
		return errAddressNotAllowed
	case c.live.Workspace.Suspended():
		return errSuspended
	default:
		return nil
	}
}

// recognise identifies the caller where that is only for the headers: whoever cannot be recognised is nobody.
func (x *exchange) recognise() {
	if x.identify() != nil {
		x.forget()
	}
}

// forget makes the caller nobody.
func (x *exchange) forget() { x.known, x.principal, x.caller = false, auth.Principal{}, caller{} }

// warnings are the headers that tell a key's owner what will end: the secret after a rotation, the key itself.
func (c *caller) warnings(now time.Time, h http.Header) {
	if at := c.live.RotateBy; at != 0 {
		h["X-API-Key-Rotate-By"] = []string{httpDate(at)}
	}
	if at := c.live.ExpiresAt; at != 0 && at-now.Unix() <= int64(expiryWarning/time.Second) {
		h["X-API-Key-Expires"] = []string{httpDate(at)}
	}
}

// expiryWarning is how long before its end a key's answers tell of it (decisions.md, D).
const expiryWarning = 14 * 24 * time.Hour

func httpDate(unix int64) string { return time.Unix(unix, 0).UTC().Format(http.TimeFormat) }
