package api

import "keepsake/internal/limit"

// Payer implements limit.Payer: who is charged where the caller is known.
func (x *requestState) Payer() limit.Subject {
	return limit.Subject{Workspace: x.principal.WorkspaceID, Key: x.principal.KeyID()}
}

// atAddress is a request that is charged to its client address.
type atAddress struct{ *operationContext }

// Payer implements limit.Payer.
func (c atAddress) Payer() limit.Subject {
	return limit.Subject{Address: c.Client(), SignIn: c.signingIn()}
}
