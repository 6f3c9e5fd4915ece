package console

import (
	"errors"
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
	page, err := v.api().ListAuditLog(v.Context(), client.AuditQuery{
		Actor: data.Actor, Action: data.Action, Target: data.Target, Changes: !data.Reads, Cursor: query.Get("cursor"), Limit: 50,
	})
	if e, ok := errors.AsType[*client.Error](err); ok && e.Status == http.StatusBadRequest {
		data.Message = e.Error()
		return response{status: e.Status, page: auditPage(data)}
	}
	if err != nil {
		return v.fail(err)
	}
	data.Entries = page.Items
	if data.Names, err = v.actorNames(); err != nil {
		return v.fail(err)
	}
	workspaces, err := v.workspaceNames()
	if err != nil {
		return v.fail(err)
	}
	maps.Copy(data.Names, workspaces)
	webhooks, err := v.api().ListWebhooks(v.Context(), client.WebhookQuery{Limit: 200})
	if err != nil {
		return v.fail(err)
	}
	for _, w := range webhooks.Items {
		data.Names[w.ID] = w.URL
	}
	filter := url.Values{"actor": {data.Actor}, "action": {data.Action}, "target": {data.Target}, "reads": {query.Get("reads")}}
	data.Pages = v.pages("/console/audit", filter, page.NextCursor)
	return show(auditPage(data))
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

// detail writes a value of an entry, a number with separators.
func detail(value any) string {
	text := fmt.Sprint(value)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return count(n)
	}
	return text
}
