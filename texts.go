// Package keepsake contains the texts of the program that people read: the guides and the changelog.
package keepsake

import "embed"

// Texts contains docs/*.md for people who use an instance, and CHANGELOG.md. Pages for people who change the program are not
// in it.
//
//go:embed CHANGELOG.md
//go:embed docs/agents.md docs/analytics.md docs/api.md docs/backups.md docs/client.md docs/console.md docs/forward-auth.md
//go:embed docs/glossary.md docs/http.md docs/instances.md docs/memory.md docs/metrics.md docs/recipes.md docs/search.md
//go:embed docs/security.md docs/settings.md docs/versioning.md docs/webhooks.md
var Texts embed.FS
