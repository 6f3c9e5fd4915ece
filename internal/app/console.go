//go:build !noconsole

package app

import (
	"strings"

	"keepsake/internal/api"
	"keepsake/internal/console"
)

// consolePages returns the pages of the console. A build with the tag noconsole has none.
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
	return c.Pages(), nil
}
