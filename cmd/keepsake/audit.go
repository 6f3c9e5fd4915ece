package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"keepsake/client"
	"keepsake/internal/app/instance"
	"keepsake/internal/govern/audit"
)

func auditCommand(st *stage) *cobra.Command {
	return group("audit", "Read and verify the audit log",
		auditVerifyCommand(st), auditListCommand(st), auditExportCommand(st))
}

func auditVerifyCommand(st *stage) *cobra.Command {
	var (
		checkpoints string
		asJSON      bool
	)
	cmd := &cobra.Command{
		Use: "verify", Short: "Verify that the audit log is unchanged", Args: noArguments,
		Example: "  keepsake audit verify",
		Long: "Reads the whole log and its checkpoints and names the first entry of each chain that was changed, removed or\n" +
			"cut off; the exit code is 1 then. Reads that audit.readRetentionDays removed are on record and not missing. A data\n" +
			"folder is read directly, also while a server holds it, and nothing in it is changed.",
	}
	t := targetFlags(st, cmd)
	cmd.Flags().StringVar(&checkpoints, "checkpoints", "", "`FILE` of checkpoints that was copied elsewhere (default: audit.checkpoints of the data folder)")
	cmd.MarkFlagsMutuallyExclusive("url", "checkpoints")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		v, err := t.verifyAudit(cmd, checkpoints)
		if err != nil {
			return fmt.Errorf("verify the audit log: %w", err)
		}
		if asJSON {
			err = st.printJSON(v)
		} else {
			st.printVerified(v)
		}
		if err == nil && !v.OK {
			return errors.New("the audit log does not verify")
		}
		return err
	}
	return cmd
}

// verifyAudit asks a remote server, and reads a local data folder directly, because a person who distrusts the log can
// distrust the server, too.
func (t *target) verifyAudit(cmd *cobra.Command, checkpoints string) (*client.AuditVerified, error) {
	address, _, err := t.remote()
	if err != nil {
		return nil, err
	}
	if address != "" {
		var v *client.AuditVerified
		err := t.with(cmd.Context(), func(c *client.Client) (err error) {
			v, err = c.VerifyAuditLog(cmd.Context())
			return err
		})
		return v, err
	}
	cfg, err := t.settings.load()
	if err != nil {
		return nil, err
	}
	found, err := instance.VerifyAudit(cmd.Context(), cfg, checkpoints)
	if err != nil {
		return nil, err
	}
	return verifiedHere(found), nil
}

// verifiedHere converts a local result to what a server returns.
func verifiedHere(found *audit.Verified) *client.AuditVerified {
	v := &client.AuditVerified{
		OK: len(found.Breaks) == 0, Rows: found.Rows, Chains: []client.AuditChain{}, Breaks: []client.AuditBreak{},
		Checkpoints: found.Checkpoints, NewestCheckpointAt: found.Newest,
	}
	for _, h := range found.Heads {
		v.Chains = append(v.Chains, client.AuditChain{Chain: h.Chain, Rows: h.Sequence, Hash: h.Hash.String()})
	}
	for _, bad := range found.Breaks {
		b := client.AuditBreak{Chain: bad.Chain, Sequence: bad.Sequence, Reason: string(bad.Reason), Message: bad.Reason.Message()}
		if bad.ID != "" {
			b.ID = &bad.ID
		}
		v.Breaks = append(v.Breaks, b)
	}
	if len(v.Breaks) > 0 {
		v.Break = &v.Breaks[0]
	}
	return v
}

func (st *stage) printVerified(v *client.AuditVerified) {
	for _, bad := range v.Breaks {
		if bad.Sequence > 0 { // otherwise the break is not at an entry
			fmt.Fprintf(st.out, "chain %s, entry %d", bad.Chain, bad.Sequence)
			if bad.ID != nil {
				fmt.Fprintf(st.out, " (%s)", *bad.ID)
			}
			fmt.Fprint(st.out, ": ")
		}
		fmt.Fprintf(st.out, "%s\n%s\n", bad.Reason, bad.Message)
	}
	if len(v.Breaks) > 0 {
		return
	}
	fmt.Fprintf(st.out, "%d entries are as they were written.\n", v.Rows)
	removed := -v.Rows
	for _, c := range v.Chains {
		removed += c.Rows
	}
	if removed > 0 {
		fmt.Fprintf(st.out, "%d reads were removed by audit.readRetentionDays.\n", removed)
	}
	for _, c := range v.Chains {
		fmt.Fprintf(st.out, "chain %s ends with entry %d, %s\n", c.Chain, c.Rows, c.Hash)
	}
	if v.NewestCheckpointAt == nil {
		fmt.Fprintln(st.out, "There is no checkpoint yet, so entries could be missing at the end.")
		return
	}
	fmt.Fprintf(st.out, "%d checkpoints agree, the newest of %s\n", v.Checkpoints, when(v.NewestCheckpointAt))
}

// auditFlags adds the flags that select entries. read returns the query once they are parsed.
func auditFlags(cmd *cobra.Command) (read func() (client.AuditQuery, error)) {
	var q client.AuditQuery
	var from, to string
	flags := cmd.Flags()
	flags.StringVar(&q.Workspace, "workspace", "", "only entries of the workspace with this `ID` or name")
	flags.StringVar(&q.Actor, "actor", "", "only entries of the key or user with this `ID`, name or email address, or local")
	flags.StringVar(&q.Action, "action", "", "only entries of this `ACTION`, such as api_key.revoked")
	flags.StringVar(&q.Target, "target", "", "only entries about this `ID`")
	flags.StringVar(&from, "from", "", "only entries from this `TIME` on, such as 2026-11-30T00:00:00Z")
	flags.StringVar(&to, "to", "", "only entries before this `TIME`")
	return func() (client.AuditQuery, error) {
		for flag, text := range map[string]string{"from": from, "to": to} {
			if text == "" {
				continue
			}
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				return q, usageError("--" + flag + " must look like 2026-11-30T00:00:00Z")
			}
			if flag == "from" {
				q.From = at
			} else {
				q.To = at
			}
		}
		return q, nil
	}
}

// auditIDs replaces the names in a query by IDs.
func auditIDs(ctx context.Context, c *client.Client, q *client.AuditQuery) (err error) {
	if q.Workspace, err = workspaceID(ctx, c, q.Workspace); err != nil {
		return err
	}
	q.Actor, err = actorID(ctx, c, q.Actor)
	return err
}

func auditListCommand(st *stage) *cobra.Command {
	var (
		limit  int
		reads  bool
		asJSON bool
	)
	cmd := &cobra.Command{
		Use: "list", Short: "List the newest entries", Args: noArguments,
		Example: "  keepsake audit list --action api_key.revoked",
		Long:    "Lists the newest entries of the audit log. Reads of memories are left out unless --reads or --action asks for them.",
	}
	t := targetFlags(st, cmd)
	query := auditFlags(cmd)
	cmd.Flags().IntVar(&limit, "limit", 50, "number of entries")
	cmd.Flags().BoolVar(&reads, "reads", false, "list reads of memories, too")
	wideFlag(st, cmd)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		q, err := query()
		if err != nil {
			return err
		}
		q.Limit = max(1, min(limit, 200))
		q.Changes = !reads && q.Action == ""
		return t.with(cmd.Context(), func(c *client.Client) error {
			if err := auditIDs(cmd.Context(), c, &q); err != nil {
				return err
			}
			entries := []client.AuditEntry{}
			for e, err := range c.EachAuditEntry(cmd.Context(), q) {
				if err != nil {
					return fmt.Errorf("list the audit log: %w", err)
				}
				if len(entries) >= limit {
					break
				}
				entries = append(entries, e)
			}
			if asJSON {
				return st.printJSON(items[client.AuditEntry]{entries})
			}
			st.printAudit(entries)
			return nil
		})
	}
	return cmd
}

func (st *stage) printAudit(entries []client.AuditEntry) {
	rows := make([]table.Row, 0, len(entries))
	for _, e := range entries {
		action := e.Action
		if e.Outcome != "done" {
			action = e.Outcome + ": " + action
		}
		rows = append(rows, table.Row{whenCell(&e.At), action, e.Outcome, e.Count, orNone(e.Actor), orNone(e.Target), orNone(e.Address)})
	}
	st.printTable([]column{
		{title: "at (UTC)"},
		{title: "action", free: true},
		{title: "outcome", extra: true},
		{title: "times", extra: true},
		{title: "actor"},
		{title: "target"},
		{title: "address", extra: true},
	}, rows)
}

func auditExportCommand(st *stage) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "export", Short: "Export all entries, reads included, as NDJSON, newest first", Args: noArguments,
		Example: "  keepsake audit export --from 2026-11-01T00:00:00Z --out audit.ndjson",
	}
	t := targetFlags(st, cmd)
	cmd.Flags().StringVar(&out, "out", "", "`FILE` to write, which appears when it is complete (default: standard output)")
	query := auditFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		q, err := query()
		if err != nil {
			return err
		}
		return t.with(cmd.Context(), func(c *client.Client) error {
			if err := auditIDs(cmd.Context(), c, &q); err != nil {
				return err
			}
			return st.export("entries", out, false, func(w *lineCounter) error { return c.ExportAuditLog(cmd.Context(), q, w) })
		})
	}
	return cmd
}
