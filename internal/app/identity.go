package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"

	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/event"
	"keepsake/internal/govern/limit"
	"keepsake/internal/memory/seal"
)

// defaultIssuer is the iss of access tokens if publicUrl is not set.
const defaultIssuer = "keepsake"

// assembleIdentity creates what knows who calls: users and their sessions, API keys, and addresses. changed is called with the
// workspace whose tier or settings changed.
func assembleIdentity(
	ctx context.Context, i *instance.Instance, cfg *config.Config, deps *Deps, kept records, outbox *event.Outbox, limiter limit.Limiter,
	changed func(workspaceID string),
) (d identity, err error) {
	tiers := cfg.TierList()
	d.setupLink = setupLinks(cfg.PublicURL)
	d.addresses = limit.NewAddresses(tiers[0].Allowance(), cfg.Limits.Addresses) // anonymous comes first
	d.accounts = account.NewDirectory(i.Store.Accounts, tiers, kept.usage, deps.Now)
	hasher := apikey.NewHasher(i.Secrets.Get(seal.Pepper))
	d.keys = apikey.NewDirectory(i.Store.APIKeys, hasher, d.accounts, kept.usage, deps.Now)
	if err := d.assembleLogin(ctx, i, cfg, deps, kept.audit); err != nil {
		return d, err
	}
	d.people = account.NewService(account.Options{
		Store: i.Store.Accounts, Units: i.Store, Directory: d.accounts, Audit: kept.audit, Sessions: d.logins, Hashing: d.logins,
		Anonymous: d.addresses.Allow, Changed: changed, Cost: deps.PasswordCost, Random: rand.Reader, Now: deps.Now,
	})
	pending, err := instance.OpenPendingRevocations(cfg.Data, i.Binding)
	if err != nil {
		deps.Log.Warn("preallocating room for pending revocations failed", "error", err)
	}
	d.apiKeys = apikey.NewService(apikey.Options{
		Store: i.Store.APIKeys, Units: i.Store, Directory: d.keys, Accounts: d.accounts, Hasher: hasher, Uses: i.Store.Usage.Counters,
		Reports: i.Store.Usage.Counters, Audit: kept.audit, Events: outbox, Limiter: limiter, PendingStore: pending, Random: rand.Reader,
		Now: deps.Now, Log: deps.Log,
	})
	return d, nil
}

// assembleLogin creates the services for sign-in.
func (d *identity) assembleLogin(ctx context.Context, i *instance.Instance, cfg *config.Config, deps *Deps, log *audit.Log) error {
	// If this secret is lost, users must sign in again.
	secret, err := i.Secrets.Ensure(ctx, seal.Refresh)
	if err != nil {
		return err
	}
	if d.signing, err = auth.OpenSigningKeys(ctx, i.Secrets, deps.Now); err != nil {
		return err
	}
	issuer := cmp.Or(strings.TrimSuffix(cfg.PublicURL, "/"), defaultIssuer)
	tokens := auth.NewTokens(d.signing, issuer, deps.Now)
	d.bearers = account.NewBearers(i.Store.Sessions, d.accounts, tokens)
	o := account.LoginOptions{
		Store: i.Store.Accounts, Sessions: i.Store.Sessions, Units: i.Store, Directory: d.accounts, Tokens: tokens, Bearers: d.bearers,
		Audit: log, Guesses: i.Store.Guesses, Secret: secret, Cost: deps.PasswordCost, Random: rand.Reader, Now: deps.Now, Log: deps.Log,
	}
	if i.Engine.Shared() {
		o.Clock = i.Store.Guesses.Clock
	}
	d.logins = account.NewLoginService(o)
	return nil
}

// maxDocuments returns the limit of the workspace's tier; nil means no limit.
func (d identity) maxDocuments(workspaceID string) *int64 {
	if w, ok := d.accounts.Entry(workspaceID); ok {
		return w.Tier().Documents
	}
	return nil
}

// maxMemories returns the limit of the workspace's tier; nil means no limit.
func (d identity) maxMemories(workspaceID string) *int64 {
	if w, ok := d.accounts.Entry(workspaceID); ok {
		return w.Tier().Memories
	}
	return nil
}

// maxStorage returns the limit of the workspace's tier in bytes; nil means no limit.
func (d identity) maxStorage(workspaceID string) *int64 {
	if w, ok := d.accounts.Entry(workspaceID); ok {
		return w.Tier().Storage
	}
	return nil
}
