package apitest

import (
	"context"
	"net/netip"
	"time"

	"keepsake/internal/govern/account"
	"keepsake/internal/govern/auth"
)

// bearers maps tokens to users.
type bearers map[string]account.Bearer

// Authenticate implements api.Bearers.
func (b bearers) Authenticate(_ context.Context, text string, _ netip.Addr, _ time.Time) (account.Bearer, error) {
	if known, ok := b[text]; ok {
		return known, nil
	}
	return account.Bearer{}, auth.ErrInvalidToken
}

// Token adds an access token of a user with these scopes in a workspace, and returns its text.
func (p *Place) Token(workspace string, scopes auth.Scopes) string {
	entry, ok := p.Accounts.Entry(workspace)
	if !ok {
		panic("apitest: no workspace " + workspace)
	}
	text := "token-" + workspace + "-" + scopes.String()
	p.bearers[text] = account.Bearer{Workspace: entry, Principal: auth.Principal{
		Kind: auth.User, WorkspaceID: workspace, Operator: entry.Operator(), Scopes: scopes, UserID: "usr_test", SessionID: "ses_test",
	}}
	return text
}
