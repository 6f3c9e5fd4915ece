package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"

	"keepsake/internal/app/config"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/auth"
	"keepsake/internal/memory/seal"
)

// defaultIssuer is the iss of access tokens if publicUrl is not set.
const defaultIssuer = "keepsake"

// assembleLogin creates the services for sign-in.
func (s *services) assembleLogin(ctx context.Context, cfg *config.Config, deps *Deps) (err error) {
	i := s.instance
	// If this secret is lost, users must sign in again.
	secret, err := i.Secrets.Ensure(ctx, seal.Refresh)
	if err != nil {
		return err
	}
	if s.signing, err = auth.OpenSigningKeys(ctx, i.Secrets, deps.Now); err != nil {
		return err
	}
	issuer := cmp.Or(strings.TrimSuffix(cfg.PublicURL, "/"), defaultIssuer)
	tokens := auth.NewTokens(s.signing, issuer, deps.Now)
	s.bearers = account.NewBearers(i.Store.Sessions, s.accounts, tokens)
	o := account.LoginOptions{
		Store: i.Store.Accounts, Sessions: i.Store.Sessions, Units: i.Store, Directory: s.accounts, Tokens: tokens, Bearers: s.bearers,
		Audit: s.audit, Guesses: i.Store.Guesses, Secret: secret, Cost: deps.PasswordCost, Random: rand.Reader, Now: deps.Now, Log: deps.Log,
	}
	if i.Engine.Shared() {
		o.Clock = i.Store.Guesses.Clock
	}
	s.logins = account.NewLoginService(o)
	return nil
}
