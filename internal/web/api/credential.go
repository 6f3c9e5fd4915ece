package api

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/usage"
	"keepsake/internal/web/endpoint"
)

// caller is the authenticated sender of the request.
type caller struct {
	live      apikey.LiveKey // the key, or its equivalent for other callers
	workspace limit.Account
}

var (
	errMissingKey = problem.New(problem.Unauthenticated, problem.CodeMissingCredentials,
		"Send an API key in the header X-API-Key.")
	errMissingToken = problem.New(problem.Unauthenticated, problem.CodeMissingCredentials,
		"Send an access token in the header Authorization: Bearer ….")
	errMissingCredentials = problem.New(problem.Unauthenticated, problem.CodeMissingCredentials,
		"Send an API key in the header X-API-Key, or an access token in the header Authorization: Bearer ….")
	errMissingOfAgent = problem.New(problem.Unauthenticated, problem.CodeMissingCredentials,
		"Send an API key in the header X-API-Key or Authorization: Bearer kpsk_…, or an access token in the header Authorization: Bearer ….")
	errMissingKeyOrSecret = problem.New(problem.Unauthenticated, problem.CodeMissingCredentials,
		"Send an API key in the header X-API-Key, or the backend secret in the header X-Keepsake-Backend.")
	errKeyAsToken = problem.New(problem.Unauthenticated, problem.CodeInvalidToken,
		"This is an API key, not an access token. API keys go in the header X-API-Key.")
	errKeyInAuthorization = problem.New(problem.Unauthenticated, problem.CodeMissingCredentials,
		"An API key was sent in the header Authorization. API keys go in the header X-API-Key.")
	errAmbiguousKey = problem.New(problem.Unauthenticated, problem.CodeInvalidAPIKey,
		"More than one X-API-Key was sent.")
	errAddressNotAllowed = problem.New(problem.Forbidden, problem.CodeIPNotAllowed,
		"This API key cannot be used from this address.")
	errCutOff    = problem.NotAvailable("Credentials cannot be verified right now; try again.", time.Second)
	errSuspended = problem.New(problem.Forbidden, problem.CodeSuspended,
		"The workspace of this credential is suspended.")
)

// missing returns the problem of a missing credential.
func missing(takes endpoint.Credentials) *problem.Problem {
	switch takes {
	case endpoint.Key:
		return errMissingKey
	case endpoint.Bearer:
		return errMissingToken
	case endpoint.Key | endpoint.Backend:
		return errMissingKeyOrSecret
	default:
		return errMissingCredentials
	}
}

// identify authenticates the caller with the kinds of credentials that are accepted here.
func (x *routed) identify(takes endpoint.Credentials) (*caller, error) {
	return x.authenticate(takes, x.api.o.Surface == usage.AI)
}

// authenticate authenticates a caller with the kinds of credentials in takes. If a key and a token or the backend secret are
// sent, the key is used; a kind that is not in takes is ignored. keyAsBearer accepts a key in the header for access tokens too.
func (x *routed) authenticate(takes endpoint.Credentials, keyAsBearer bool) (*caller, error) {
	if takes&endpoint.Key != 0 && x.api.o.Keys != nil {
		switch sent := x.r.Header["X-Api-Key"]; {
		case len(sent) > 1:
			return nil, errAmbiguousKey
		case len(sent) == 1 && sent[0] != "":
			return x.identifyKey(sent[0])
		}
		if keyAsBearer {
			if text, ok := x.keyInAuthorization(); ok {
				return x.identifyKey(text)
			}
		}
	}
	if takes&endpoint.Bearer != 0 && x.api.o.Bearers != nil {
		switch sent := x.r.Header["Authorization"]; {
		case len(sent) > 1:
			return nil, auth.ErrInvalidToken
		case len(sent) == 1:
			if token, ok := bearerToken(sent[0]); ok {
				if apikey.WellFormed(token) {
					return nil, errKeyAsToken
				}
				return x.identifyBearer(token)
			}
		}
	}
	if takes&endpoint.Backend != 0 && x.trusted {
		return x.identifyOperator(takes, auth.Backend, auth.DeveloperManage)
	}
	if takes&endpoint.Key != 0 && x.api.o.Operator != nil && isLocal(x.ctx.parent) {
		return x.identifyOperator(takes, auth.Local, auth.All)
	}
	if takes == endpoint.Key {
		if text, ok := x.keyInAuthorization(); ok && apikey.WellFormed(text) {
			return nil, errKeyInAuthorization
		}
	}
	if keyAsBearer {
		return nil, errMissingOfAgent
	}
	return nil, missing(takes)
}

// keyInAuthorization returns what was sent as an API key in the header for access tokens.
func (x *routed) keyInAuthorization() (string, bool) {
	sent := x.r.Header["Authorization"]
	if len(sent) != 1 {
		return "", false
	}
	token, ok := bearerToken(sent[0])
	return token, ok && apikey.LooksLike(token)
}

func (x *routed) identifyKey(text string) (*caller, error) {
	if x.api.o.News != nil && !x.api.o.News.Current() {
		return nil, errCutOff
	}
	key, err := x.api.o.Keys.Lookup(text, x.at)
	if errors.Is(err, apikey.ErrNotInMemory) {
		key, err = x.lookupStoredKey(text)
	}
	if err != nil {
		return nil, err
	}
	key.Touch(x.at)
	return x.callerOf(&key), nil
}

// lookupStoredKey looks for a key in the database. Most unknown keys are invalid, so the client's address is charged first,
// and refunded for a valid key, also on the backend listener, whose requests are free otherwise. There is no read if the address
// cannot be charged or has no requests left.
func (x *routed) lookupStoredKey(text string) (apikey.LiveKey, error) {
	if !x.chargeable() && x.api.o.Surface != usage.Backend || x.address.taken {
		return apikey.LiveKey{}, apikey.ErrInvalid
	}
	if verdict, _ := x.address.charge(); !verdict.Allowed {
		return apikey.LiveKey{}, apikey.ErrInvalid
	}
	key, err := x.api.o.Keys.LookupStored(x.ctx, text, x.at)
	if p, ok := problem.As(err); !ok || p.Kind != problem.Unauthenticated {
		x.address.refund()
	}
	return key, err
}

func (x *routed) identifyBearer(token string) (*caller, error) {
	if x.api.o.News != nil && !x.api.o.News.Current() {
		return nil, errCutOff
	}
	b, err := x.api.o.Bearers.Authenticate(x.ctx, token, x.ctx.Client(), x.at)
	if err != nil {
		return nil, err
	}
	return x.callerOf(&apikey.LiveKey{Principal: b.Principal, Workspace: b.Workspace, Usage: b.Workspace.Usage()}), nil
}

// identifyOperator makes the operator workspace the caller: for the data folder's socket, which only the operator can open, and
// for the holder of the backend secret.
func (x *routed) identifyOperator(takes endpoint.Credentials, k auth.Kind, scopes auth.Scopes) (*caller, error) {
	entry, ok := x.api.o.Operator()
	if !ok {
		return nil, missing(takes)
	}
	p := auth.Principal{Kind: k, WorkspaceID: entry.ID(), Operator: true, Scopes: scopes}
	return x.callerOf(&apikey.LiveKey{Principal: p, Workspace: entry, Usage: entry.Usage()}), nil
}

// callerOf returns the owner of a valid credential as the caller.
func (x *received) callerOf(live *apikey.LiveKey) *caller {
	c := &x.exchange.caller
	c.live, c.workspace = *live, live.Workspace.Account()
	x.recordSpan()
	return c
}

// bearerToken returns the token of an Authorization header; false for another scheme. The scheme ignores case (RFC 9110).
func bearerToken(header string) (string, bool) {
	const scheme = "bearer "
	if len(header) <= len(scheme) || !strings.EqualFold(header[:len(scheme)], scheme) {
		return "", false
	}
	token := strings.Trim(header[len(scheme):], " ")
	return token, token != ""
}

// usable returns why a valid credential cannot be used from here or now.
func (x *received) usable(c *caller) error {
	switch {
	case !c.live.Anywhere() && !c.live.AllowedFrom(x.ctx.Client()):
		return errAddressNotAllowed
	case c.live.Workspace.Suspended():
		return errSuspended
	default:
		return nil
	}
}

// recognise returns the owner of a valid credential that the operation does not require; nil if there is none.
func (x *routed) recognise() *caller {
	c, err := x.identify(endpoint.Key | endpoint.Bearer)
	if err != nil {
		return nil
	}
	return c
}

// warnings appends headers about what will expire: the old secret after a rotation, or the key.
func (c *caller) warnings(now time.Time, h http.Header) {
	if at := c.live.RotateBy; at != 0 {
		h["X-API-Key-Rotate-By"] = []string{httpDate(at)}
	}
	if at := c.live.ExpiresAt; at != 0 && at-now.Unix() <= int64(expiryWarning/time.Second) {
		h["X-API-Key-Expires"] = []string{httpDate(at)}
	}
}

// expiryWarning is how long before its expiry a key's responses announce it (docs/spec/apikeys.md).
const expiryWarning = 14 * 24 * time.Hour

func httpDate(unix int64) string { return time.Unix(unix, 0).UTC().Format(http.TimeFormat) }
