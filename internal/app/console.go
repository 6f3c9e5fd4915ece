//go:build !noconsole

package app

import (
	"cmp"
	"context"
	"math"
	"net/netip"
	"slices"
	"strings"

	"keepsake"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/api"
	"keepsake/internal/web/console"
	"keepsake/internal/web/reference"
)

// consolePages adds the pages of the console and of the documentation. A build with the tag noconsole has none.
func (a *App) consolePages(o *api.Options) error {
	agents := ""
	if a.agents != nil {
		agents = a.AIURL()
	}
	c, err := console.New(console.Options{
		Release: a.deps.Version, PublicURL: strings.TrimSuffix(a.cfg.PublicURL, "/"), AgentsURL: agents, Log: a.deps.Log,
		SetUp: func(ctx context.Context, token, password string, from netip.Addr) (string, error) {
			u, err := a.services.identity.logins.SetUp(ctx, token, password, from)
			if err != nil {
				return "", err
			}
			return u.Email, nil
		},
		Sessions: ownSessions{&a.services.identity},
		Preview:  previewer(a.services.search.service),
		Newest:   a.newestRelease(),
		Settings: EffectiveSettings(&a.cfg, a.deps.Version),
		Operator: func() string {
			if operator, ok := a.services.identity.accounts.Operator(); ok {
				return operator.ID()
			}
			return ""
		},
	})
	if err != nil {
		return err
	}
	r, err := reference.New(reference.Options{
		Texts: keepsake.Texts, Release: a.deps.Version, Document: a.describe, Versions: a.services.versions.registry.Snapshot,
		BasePath: api.BasePathOf(strings.TrimSuffix(a.cfg.PublicURL, "/")), Style: c.AssetURL("console.css"), Icon: c.AssetURL("icon.svg"), Agents: agents,
	})
	if err != nil {
		return err
	}
	o.Pages, o.Missing = slices.Concat(c.Pages(), r.Pages()), r.NotFound
	return nil
}

// ownSessions lets the console list and end the sessions of its visitors.
type ownSessions struct{ *identity }

func (s ownSessions) user(ctx context.Context, v console.Visitor) (*auth.Principal, error) {
	bearer, err := s.bearers.Authenticate(ctx, v.Token, v.From, v.At)
	return &bearer.Principal, err
}

// List implements console.OwnSessions.
func (s ownSessions) List(ctx context.Context, v console.Visitor) ([]console.OwnSession, error) {
	p, err := s.user(ctx, v)
	if err != nil {
		return nil, err
	}
	sessions, err := s.logins.OwnSessions(ctx, p)
	list := make([]console.OwnSession, len(sessions))
	for i, o := range sessions {
		list[i] = console.OwnSession{ID: o.ID, BeganAt: o.CreatedAt, LastUsedAt: o.LastUsedAt, Address: o.Address, Current: o.ID == p.SessionID}
	}
	return list, err
}

// End implements console.OwnSessions.
func (s ownSessions) End(ctx context.Context, v console.Visitor, id string) error {
	p, err := s.user(ctx, v)
	if err != nil {
		return err
	}
	return s.logins.EndOwnSession(ctx, p, id)
}

// EndOthers implements console.OwnSessions.
func (s ownSessions) EndOthers(ctx context.Context, v console.Visitor) error {
	p, err := s.user(ctx, v)
	if err != nil {
		return err
	}
	return s.logins.EndOtherSessions(ctx, p)
}

// SetupLink returns a link with which the first user can choose a password in the console: once, within
// account.SetupLifetime, and until the user signs in. It is empty if New did no first start.
func (a *App) SetupLink(ctx context.Context) (string, error) {
	if a.first == nil {
		return "", nil
	}
	token, _, err := a.services.identity.logins.SetupToken(ctx, a.first.UserID)
	if err != nil {
		return "", err
	}
	return setupLinks(cmp.Or(a.cfg.PublicURL, a.PrimaryURL()))(token), nil
}

// setupLinks returns the link of a setup token below an address, or without a host if the address is empty. Browsers do not send
// what follows the #, so the token is in no log of a proxy.
func setupLinks(address string) func(token string) string {
	return func(token string) string { return strings.TrimSuffix(address, "/") + console.SetupPath + "#" + token }
}

// newestRelease returns the newest version of the API that can be released: one that the build declares, unless the setting
// lifecycle.allowUndeclared permits any.
func (a *App) newestRelease() int {
	if a.cfg.Lifecycle.AllowUndeclared {
		return math.MaxInt
	}
	return a.deps.newest()
}
