//go:build !noconsole

package app

import (
	"slices"
	"strings"

	"keepsake"
	"keepsake/internal/api"
	"keepsake/internal/console"
	"keepsake/internal/reference"
)

// consolePages returns the pages of the console and of the documentation. A build with the tag noconsole has none.
func (a *App) consolePages() ([]api.WebPage, error) {
	agents := ""
	if a.agents != nil {
		agents = a.AIURL()
	}
	c, err := console.New(console.Options{
		Release: a.deps.Version, PublicURL: strings.TrimSuffix(a.cfg.PublicURL, "/"), AgentsURL: agents, Log: a.deps.Log,
		Operator: func() string {
			if operator, ok := a.services.accounts.Operator(); ok {
				return operator.ID()
			}
			return ""
		},
	})
	if err != nil {
		return nil, err
	}
	r, err := reference.New(reference.Options{
		Texts: keepsake.Texts, Release: a.deps.Version, Document: a.describe, Versions: a.services.versions.Snapshot,
		Style: c.AssetURL("console.css"), Icon: c.AssetURL("icon.svg"), Agents: agents,
	})
	if err != nil {
		return nil, err
	}
	return slices.Concat(c.Pages(), r.Pages()), nil
}
