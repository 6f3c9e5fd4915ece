// Package keepsake contains the texts of the program that people read: the guides and the changelog.
package keepsake

import "embed"

// Texts contains docs/*.md for people who use an instance, and CHANGELOG.md. Pages for people who change the program are not
// in it.
//
//go:embed CHANGELOG.md
//go:embed docs/agents.md docs/analytics.md docs/api.md docs/backups.md docs/browser.md docs/client.md docs/clients.md docs/concepts.md
//go:embed docs/console.md docs/forward-auth.md docs/glossary.md docs/http.md docs/import.md docs/instances.md docs/kubernetes.md
//go:embed docs/memory.md docs/metrics.md docs/privacy.md docs/recipes.md docs/roles.md docs/scaling.md docs/search.md docs/security.md
//go:embed docs/settings.md docs/tenants.md docs/tutorial.md docs/versioning.md docs/webhooks.md
var Texts embed.FS
