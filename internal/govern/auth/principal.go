package auth

import (
	"context"

	"keepsake/internal/base/id"
)

// Kind is how a caller showed who it is.
type Kind uint8

// The kinds of principal.
const (
	Anonymous Kind = iota
	APIKey
	User    // a person, by the bearer token of a session
	Local   // a process that can open the data folder's socket: the operator of the machine
	Backend // a service that has the backend secret; it can use API keys of all workspaces
)

// Principal is the caller of a request. It is made once per request and only read afterwards.
type Principal struct {
	Kind        Kind
	WorkspaceID string
	Operator    bool    // the workspace is the operator workspace
	Key         id.UUID // for APIKey: formatted by KeyID, so that making a principal allocates nothing
	Scopes      Scopes
	SubjectID   string // a key bound to one subject or agent; empty when it is not
	AgentID     string
	UserID      string // usr_…, for User
	SessionID   string // ses_…, for User
}

// KeyID is the id of the caller's API key, key_…; empty for other kinds.
func (p *Principal) KeyID() string {
	if p.Kind != APIKey {
		return ""
	}
	return id.Format(id.APIKey, p.Key)
}

// Bound reports whether the caller's key is bound to one subject or agent.
func (p *Principal) Bound() bool { return p.SubjectID != "" || p.AgentID != "" }

// Actor names the principal in records such as createdBy: a key's or a user's id, "local" for the folder's socket, or "backend"
// for the backend secret.
func (p *Principal) Actor() string {
	switch p.Kind {
	case APIKey:
		return p.KeyID()
	case User:
		return p.UserID
	case Local:
		return "local"
	case Backend:
		return "backend"
	default:
		return ""
	}
}

type principalKey struct{}

// PrincipalKey is the context key under which the pipeline's own context answers with the *Principal.
var PrincipalKey any = principalKey{}

// With returns ctx carrying p.
func With(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, PrincipalKey, p)
}

// From gives the principal of the request. It panics where there is none: an operation that needs a caller was
// declared without a credential, which is a defect and must not grant access to every caller.
func From(ctx context.Context) *Principal {
	p, ok := ctx.Value(PrincipalKey).(*Principal)
	if !ok || p == nil {
		panic("auth: an operation without a declared credential asked who calls")
	}
	return p
}
