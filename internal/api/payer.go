package api

import "keepsake/internal/limit"

// Payer implements limit.Payer: who is charged where the caller is known.
func (x *exchange) Payer() limit.Subject {
	return limit.Subject{Workspace: x.principal.WorkspaceID, Key: x.principal.KeyID()}
}

// atAddress is a call that its address pays for.
type atAddress struct{ *call }

// Payer implements limit.Payer.
func (c atAddress) Payer() limit.Subject {
	return limit.Subject{Address: c.Client(), SignIn: c.signingIn()}
}
