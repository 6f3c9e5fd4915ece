//go:build noconsole

package app

import (
	"context"

	"keepsake/internal/web/api"
)

// consolePages adds no pages.
func (a *App) consolePages(*api.Options) error { return nil }

// setupLinks returns nothing that makes links.
func setupLinks(string) func(token string) string { return nil }

// SetupLink returns no link, because there is no page for it.
func (a *App) SetupLink(context.Context) (string, error) { return "", nil }
