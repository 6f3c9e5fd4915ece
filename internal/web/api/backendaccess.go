package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/web/endpoint"
)

// BackendAccess decides who can use the backend listener. Callers show that they belong to the operator with a shared secret in
// the header X-Keepsake-Backend or, for programs that send no header of their own choice, as a bearer token.
type BackendAccess struct {
	hash     [sha256.Size]byte // of the secret
	required bool
	refused  func(ctx context.Context)
}

// NewBackendAccess returns the access by a secret. If required is set, every operation but the probes needs the secret: other
// machines can reach the listener. refused is called for each request with a wrong secret.
func NewBackendAccess(secret string, required bool, refused func(ctx context.Context)) *BackendAccess {
	return &BackendAccess{sha256.Sum256([]byte(secret)), required, refused}
}

// matches compares hashes, so that the time it takes says nothing about the secret.
func (b *BackendAccess) matches(sent string) bool {
	hash := sha256.Sum256([]byte(sent))
	return subtle.ConstantTimeCompare(hash[:], b.hash[:]) == 1
}

const backendHeader = "X-Keepsake-Backend"

var (
	errMissingBackendSecret = problem.New(problem.Unauthenticated, problem.CodeMissingCredentials,
		"Send the backend secret in the header X-Keepsake-Backend, or as a bearer token.")
	errWrongBackendSecret = problem.New(problem.Unauthenticated, problem.CodeInvalidCredentials,
		"The backend secret is wrong.")
)

// checkBackend returns why the backend listener refuses a request, or nil. A wrong secret is refused even if the operation needs
// none.
func (x *routed) checkBackend(op *endpoint.Operation) *problem.Problem {
	access := x.api.o.Backend
	if access == nil {
		return nil
	}
	if !op.Probe {
		sent := x.r.Header[backendHeader]
		if token, ok := x.secretAsBearer(op); ok && len(sent) == 0 {
			sent = []string{token}
		}
		switch {
		case len(sent) == 0 || len(sent) == 1 && sent[0] == "":
			if access.required {
				return errMissingBackendSecret
			}
		case len(sent) > 1 || !access.matches(sent[0]):
			access.refused(x.ctx)
			return errWrongBackendSecret
		default:
			x.trusted = true
		}
	}
	if !access.required && !x.trusted && !op.Judging && !x.fromHere() {
		return errBackendHost
	}
	return nil
}

// secretAsBearer returns a bearer token that stands for the backend secret. It does so only for an operation that takes no bearer
// token itself, and only if the request has no API key; what looks like an API key is one that was sent in the wrong header.
func (x *routed) secretAsBearer(op *endpoint.Operation) (string, bool) {
	if sent := x.r.Header["Authorization"]; !op.Judging && op.Credentials&endpoint.Bearer == 0 && len(sent) == 1 && len(x.r.Header["X-Api-Key"]) == 0 {
		token, ok := bearerToken(sent[0])
		return token, ok && !apikey.LooksLike(token)
	}
	return "", false
}

var errBackendHost = problem.New(problem.Forbidden, problem.CodeOriginNotAllowed,
	"This listener answers under localhost or an IP address, and not to pages of other origins. Send the backend secret to use another name.")

// fromHere reports whether a request can be no trick of a web page: it is for this machine, not under a name that was made to lead
// here, and from no other origin. A listener that needs no secret serves nothing else. It does not ask this about the requests that
// /forward-auth judges, because proxies send the host and the origin of those.
func (x *received) fromHere() bool {
	return localHost(x.r.Host) && ownOrigin(x.r.Header["Origin"], x.r.Host)
}

// localHost reports whether a Host header names no domain: it is absent, localhost or an IP address.
func localHost(host string) bool {
	name := host
	if h, port, err := net.SplitHostPort(host); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return false
		}
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	_, err := netip.ParseAddr(name)
	return name == "" || strings.EqualFold(name, "localhost") || err == nil
}

// ownOrigin reports whether an Origin header is absent or names the host of the request.
func ownOrigin(sent []string, host string) bool {
	if len(sent) == 0 {
		return true
	}
	return len(sent) == 1 && (strings.EqualFold(sent[0], "http://"+host) || strings.EqualFold(sent[0], "https://"+host))
}
