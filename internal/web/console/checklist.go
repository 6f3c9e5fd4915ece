package console

import (
	"regexp"
	"slices"
	"time"

	"keepsake/client"
	"keepsake/internal/web/api/mcp"
)

// step is a part of the checklist for those who are new to an instance.
type step struct {
	Title, Text, Path string
	Done              bool // as far as the server knows
}

// newFor is how long a user is new. Steps that were done before it do not count as done, because usage is read for this time only.
const newFor = 30 * 24 * time.Hour

// checklistCookie contains the workspace whose checklist the visitor has dismissed in this browser.
const checklistCookie = "keepsake-checklist"

// checklist returns the steps to begin with. It returns none for visitors who are not new, who have dismissed it, who cannot do
// the steps, or for whom all is done.
func (v *visit) checklist() ([]step, error) {
	if !v.can("developer:manage") || !v.can("analytics:read") || v.At().Sub(v.user.CreatedAt) > newFor || v.cookie(checklistCookie) == v.user.Workspace.ID {
		return nil, nil
	}
	steps, err := v.steps()
	if err != nil || !slices.ContainsFunc(steps, func(s step) bool { return !s.Done }) {
		return nil, err
	}
	return steps, nil
}

// steps reads which steps are done.
func (v *visit) steps() ([]step, error) {
	api, ctx := v.api(), v.Context()
	keys, err := api.ListAPIKeys(ctx, client.APIKeyQuery{Limit: 200})
	if err != nil {
		return nil, err
	}
	used, err := api.TopUsage(ctx, client.UsageQuery{Window: "30d", GroupBy: []string{"method", "route"}, Filter: []string{"statusClass:2xx"}, Limit: 200})
	if err != nil {
		return nil, err
	}
	agents, err := api.UsageSummary(ctx, client.UsageQuery{Window: "30d", Filter: []string{"statusClass:2xx", "route:" + mcp.Path}})
	if err != nil {
		return nil, err
	}
	connected := agents.Requests > 0 || slices.ContainsFunc(keys.Items, func(k client.APIKey) bool { return k.AgentID != nil && k.LastUsedAt != nil })
	did := func(what *regexp.Regexp) bool {
		return slices.ContainsFunc(used, func(r client.RankedUsage) bool { return what.MatchString(operation(r.Group)) })
	}
	steps := []step{
		{"Create an API key", "Programs call Keepsake with a key.", "/console/keys/new", len(keys.Items) > 0},
		{"Store something", "A document that search finds, or a memory about a person.", newDocumentPath, did(stores)},
		{"Search or recall", "Look for it, here or with a program.", "/console/documents", did(finds)},
		{"Connect an agent", "It remembers and recalls with tools.", "/console/connect", connected},
	}
	if !v.operates() {
		return steps, nil
	}
	backups, err := api.ListAuditLog(ctx, client.AuditQuery{Action: "backup.made", Limit: 1})
	if err != nil {
		return nil, err
	}
	return append(steps, step{"Make a backup", "Two files: the data, and the keys that decrypt it.", "/docs/guides/backups", len(backups.Items) > 0}), nil
}

// The operations that store and that find something.
var (
	stores = regexp.MustCompile(`^(POST|PUT) /(api/v\d+/(documents(/\{id\}|/import)?|memories(/batch|/import)?)|ai/remember)$`)
	finds  = regexp.MustCompile(`^(GET|POST) /(api/v\d+/(search(/multi)?|memories/(recall|context))|ai/(recall|context))$`)
)

func showChecklist(v *visit) response {
	steps, err := v.checklist()
	if err != nil {
		return v.fail(err)
	}
	return show(checklistSteps(steps))
}

// dismissChecklist hides the checklist in this browser while the user is new.
func dismissChecklist(v *visit) response {
	v.keepCookie(checklistCookie, v.user.Workspace.ID, newFor)
	return redirect("/")
}
