package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"

	"keepsake/internal/account"
	"keepsake/internal/auth"
	"keepsake/internal/config"
	"keepsake/internal/seal"
)

// defaultIssuer is the iss of access tokens where the instance does not know its address.
const defaultIssuer = "keepsake"

// assembleLogin makes what people sign in with.
func (p *parts) assembleLogin(ctx context.Context, cfg *config.Config, deps *Deps) (err error) {
	i := p.instance
	// Sessions hang on this secret alone: where it was lost, people sign in again.
	secret, err := i.Secrets.Ensure(ctx, seal.Refresh)
	if err != nil {
		return err
	}
	if p.signing, err = auth.OpenSigningKeys(ctx, i.Secrets, deps.Now); err != nil {
		return err
	}
	issuer := cmp.Or(strings.TrimSuffix(cfg.PublicURL, "/"), defaultIssuer)
	tokens := auth.NewTokens(p.signing, issuer, deps.Now)
	p.bearers = account.NewBearers(i.Store, p.accounts, tokens)
	o := account.LoginOptions{
		Store: i.Store, Sessions: i.Store, Units: i.Store, Directory: p.accounts, Tokens: tokens, Bearers: p.bearers,
		Audit: p.audit, Guesses: i.Store, Secret: secret, Cost: deps.PasswordCost, Random: rand.Reader, Now: deps.Now, Log: deps.Log,
	}
	if i.Engine.Shared() {
		o.Clock = i.Store.Clock
	}
	p.logins = account.NewLoginService(o)
	return nil
}
