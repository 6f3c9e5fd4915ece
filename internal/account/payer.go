package account

import "keepsake/internal/limit"

// Payer implements limit.Payer: the workspace without a key.
func (e *Entry) Payer() limit.Subject { return limit.Subject{Workspace: e.id} }
