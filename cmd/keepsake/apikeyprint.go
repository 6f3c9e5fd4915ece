package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"keepsake/client"
)

func (st *stage) printKeys(keys []client.APIKey) {
	rows := make([]table.Row, 0, len(keys))
	for _, k := range keys {
		rows = append(rows, table.Row{
			k.ID, k.Name, k.State, k.Hint + "…", k.RateLimit.RequestsPerMinute, whenCell(k.ExpiresAt), whenCell(k.LastUsedAt), strings.Join(k.Scopes, ","),
		})
	}
	st.printTable([]column{
		{title: "id"},
		{title: "name", free: true},
		{title: "state"},
		{title: "key", extra: true},
		{title: "per minute", extra: true},
		{title: "expires (UTC)"},
		{title: "last used (UTC)"},
		{title: "scopes", extra: true},
	}, rows)
}

// printKey prints all of an API key, or JSON.
func (st *stage) printKey(k *client.APIKey, asJSON bool) error {
	if asJSON {
		return st.printJSON(k)
	}
	perMinute := strconv.FormatInt(k.RateLimit.RequestsPerMinute, 10)
	if k.RateLimit.Inherited {
		perMinute += " (of the tier)"
	}
	quota := client.Quota{}
	if k.Quota != nil {
		quota = *k.Quota
	}
	fields := []field{
		{"id", k.ID},
		{"name", k.Name},
		{"state", k.State},
		{"key", k.Hint + "…"},
		{"scopes", listText(k.Scopes)},
		{"per minute", perMinute},
		{"daily", quotaLimit(quota.Daily)},
		{"monthly", quotaLimit(quota.Monthly)},
		{"networks", orAny(k.AllowedIPs)},
		{"subject", orNone(k.SubjectID)},
		{"agent", orNone(k.AgentID)},
		{"expires", when(k.ExpiresAt)},
		{"last used", when(k.LastUsedAt)},
		{"created", when(&k.CreatedAt) + " by " + k.CreatedBy},
	}
	if len(k.Secrets) > 1 {
		fields = append(fields, field{"old secret", k.Secrets[1].Hint + "… until " + when(k.Secrets[1].ValidUntil)})
	}
	if k.RevokedAt != nil {
		fields = append(fields, field{"revoked", when(k.RevokedAt)}, field{"reason", orNone(k.RevokeReason)})
	}
	st.printRecord(fields...)
	return nil
}

// quotaLimit formats a quota of a key. nil means that only the workspace's applies.
func quotaLimit(n *int64) string {
	if n == nil {
		return "only the workspace's"
	}
	return fmt.Sprint(*n)
}

func orAny(networks []string) string {
	if len(networks) == 0 {
		return "any"
	}
	return listText(networks)
}
