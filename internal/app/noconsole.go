//go:build noconsole

package app

import "keepsake/internal/api"

// consolePages returns no pages.
func (a *App) consolePages() ([]api.WebPage, error) { return nil, nil }
