package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"

	"keepsake/internal/auth"
	"keepsake/internal/endpoint"
	"keepsake/internal/problem"
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
