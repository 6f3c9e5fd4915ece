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
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/endpoint"
)

// BackendAccess decides who can use the backend listener. Callers show that they belong to the operator with a shared secret in
// the header X-Keepsake-Backend.
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
		"Send the backend secret in the header X-Keepsake-Backend.")
	errWrongBackendSecret = problem.New(problem.Unauthenticated, problem.CodeInvalidCredentials,
		"The backend secret in the header X-Keepsake-Backend is wrong.")
)

// checkBackendSecret checks the secret of a request on the backend listener. A wrong one is refused even if the operation needs
// none.
func (x *requestState) checkBackendSecret(op *endpoint.Operation) *problem.Problem {
	access := x.api.o.Backend
	if access == nil || op.Probe {
		return nil
	}
	switch sent := x.r.Header[backendHeader]; {
	case len(sent) == 0 || len(sent) == 1 && sent[0] == "":
		if access.required {
			return errMissingBackendSecret
		}
	case len(sent) > 1 || !access.matches(sent[0]):
		access.refused(x.operationContext)
		return errWrongBackendSecret
	default:
		x.trusted = true
	}
	return nil
}

var errBackendHost = problem.New(problem.Forbidden, problem.CodeOriginNotAllowed,
	"This listener answers under localhost or an IP address, and not to pages of other origins. Send the backend secret to use another name.")

// checkBackendHost refuses what a web page can send to a listener that needs no secret: a request under a name that was made to lead
// to this machine, or from another origin. Proxies send the host and the origin of the request that /forward-auth judges, so these
// are not checked there.
func (x *requestState) checkBackendHost(op *endpoint.Operation) *problem.Problem {
	access := x.api.o.Backend
	if access == nil || access.required || x.trusted || op.Judging {
		return nil
	}
	if !localHost(x.r.Host) || !ownOrigin(x.r.Header["Origin"], x.r.Host) {
		return errBackendHost
	}
	return nil
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

// identifyBackend makes the holder of the backend secret the caller. What it is charged is charged to the operator workspace.
func (x *requestState) identifyBackend(takes endpoint.Credentials) error {
	entry, ok := x.api.o.Operator()
	if !ok {
		return missing(takes)
	}
	x.caller.live.Workspace, x.caller.live.Usage = entry, entry.Usage()
	x.is(&auth.Principal{Kind: auth.Backend, WorkspaceID: entry.ID(), Operator: true, Scopes: auth.DeveloperManage}, entry)
	return nil
}
