package apikey

import "keepsake/internal/limit"

// Payer implements limit.Payer: the key and its workspace.
func (l *Live) Payer() limit.Subject {
	return limit.Subject{Workspace: l.Principal.WorkspaceID, Key: l.Principal.KeyID()}
}

// keyAlone is a key that is looked at without its workspace.
type keyAlone struct{ workspaceID, keyID string }

// Payer implements limit.Payer.
func (k keyAlone) Payer() limit.Subject {
	return limit.Subject{Workspace: k.workspaceID, Key: k.keyID, KeyAlone: true}
}
