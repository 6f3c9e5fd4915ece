package console

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"keepsake/client"
)

// auditData is a page of the audit log.
type auditData struct {
	Actor, Action, Target string
	Reads                 bool // also list reads of memories
	Entries               []client.AuditEntry
	Names                 map[string]string // of actors, workspaces and webhooks, by ID
	Pages                 pages
	Unknown               []string              // what was typed and is no ID or name of anything that the page knows
	Verified              *client.AuditVerified // nil: not asked for
	Message               string
}

func listAudit(v *visit) response {
	query := v.URL.Query()
	data := auditData{
		Actor: strings.TrimSpace(query.Get("actor")), Action: strings.TrimSpace(query.Get("action")), Target: strings.TrimSpace(query.Get("target")),
		Reads: query.Get("reads") == "true",
	}
	return audit(v, data, query)
}

// verifyAudit checks the chains of the whole log.
func verifyAudit(v *visit) response {
	verified, err := v.api().VerifyAuditLog(v.Context())
	if err != nil {
		return v.fail(err)
	}
	return audit(v, auditData{Verified: verified}, url.Values{})
}

func audit(v *visit, data auditData, query url.Values) response {
	var err error
	if data.Names, err = auditNames(v); err != nil {
		return v.fail(err)
	}
	if data.Actor != "" || data.Target != "" {
		if err := addAllKeys(v, data.Names); err != nil {
			return v.fail(err)
		}
	}
	q := client.AuditQuery{Action: data.Action, Changes: !data.Reads, Cursor: query.Get("cursor"), Limit: 50}
	actor, actorKnown, err := idNamed("actor", data.Actor, data.Names)
	var page *client.Page[client.AuditEntry]
	if err == nil {
		var targetKnown bool
		q.Actor = actor
		q.Target, targetKnown, err = idNamed("target", data.Target, data.Names)
		data.Unknown = unknown(data, actorKnown, targetKnown)
	}
	if err == nil {
		page, err = v.api().ListAuditLog(v.Context(), q)
	}
	if message, ok := isBadRequest(err); ok {
		data.Message = message
		return response{status: http.StatusBadRequest, page: auditPage(data)}
	}
	if err != nil {
		return v.fail(err)
	}
	data.Entries = page.Items
	filter := url.Values{"actor": {data.Actor}, "action": {data.Action}, "target": {data.Target}, "reads": {query.Get("reads")}}
	data.Pages = v.pages("/console/audit", filter, page.NextCursor)
	return show(auditPage(data))
}

// unknown returns what was typed as the actor and the target and has no name.
func unknown(data auditData, actorKnown, targetKnown bool) []string {
	var list []string
	if data.Actor != "" && !actorKnown {
		list = append(list, data.Actor)
	}
	if data.Target != "" && !targetKnown {
		list = append(list, data.Target)
	}
	return list
}

// auditNames returns the names of what entries of the audit log are by and about, by ID.
func auditNames(v *visit) (map[string]string, error) {
	names, err := v.actorNames()
	if err != nil {
		return nil, err
	}
	workspaces, err := v.workspaceNames()
	if err != nil {
		return nil, err
	}
	maps.Copy(names, workspaces)
	webhooks, err := v.api().ListWebhooks(v.Context(), client.WebhookQuery{Limit: 200})
	if err != nil {
		return nil, err
	}
	for _, w := range webhooks.Items {
		names[w.ID] = w.URL
	}
	return names, nil
}

// details writes what an entry says was set, a line per value, with what was there before: quota.daily: 500 → 2,000.
func details(e client.AuditEntry) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(e.Details)) {
		value := detail(e.Details[name])
		if of, is := strings.CutSuffix(name, ".before"); is {
			if _, known := e.Details[of]; known {
				continue
			}
		}
		if before, known := e.Details[name+".before"]; known {
			value = detail(before) + " → " + value
		}
		lines = append(lines, strings.TrimSuffix(name+": "+value, ": "))
	}
	return lines
}

// maxDetail is how many characters of a value are shown. Only lists of the memories that were read are longer.
const maxDetail = 120

// detail writes a value of an entry, a number with separators.
func detail(value any) string {
	text := fmt.Sprint(value)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return count(n)
	}
	if shown := []rune(text); len(shown) > maxDetail {
		return string(shown[:maxDetail]) + "…"
	}
	return text
}
