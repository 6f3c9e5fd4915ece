package main

import (
	"context"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"keepsake/client"
)

func tiersCommand(st *stage) *cobra.Command {
	return group("tiers", "List tiers and change their limits", tiersListCommand(st), tiersChangeCommand(st))
}

func tiersListCommand(st *stage) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the tiers", Args: noArguments,
		Example: "  keepsake tiers list",
	}
	t := targetFlags(st, cmd)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			tiers, err := allTiers(cmd.Context(), c)
			if err != nil {
				return err
			}
			return st.printTiers(tiers, asJSON, struct {
				Items []client.Tier `json:"items"`
			}{tiers})
		})
	}
	return cmd
}

func allTiers(ctx context.Context, c *client.Client) ([]client.Tier, error) {
	tiers := []client.Tier{}
	for t, err := range c.EachTier(ctx, client.TierQuery{}) {
		if err != nil {
			return nil, fmt.Errorf("list tiers: %w", err)
		}
		tiers = append(tiers, t)
	}
	return tiers, nil
}

// printTiers prints tiers as a table, or object as JSON.
func (st *stage) printTiers(tiers []client.Tier, asJSON bool, object any) error {
	if asJSON {
		return st.printJSON(object)
	}
	count := func(n int64) any {
		if n == 0 {
			return "no limit"
		}
		return n
	}
	storage := func(bytes *int64) any {
		if bytes == nil {
			return "no limit"
		}
		return *bytes
	}
	rows := make([]table.Row, 0, len(tiers))
	for _, t := range tiers {
		rows = append(rows, table.Row{
			t.Name, t.RequestsPerMinute, t.Daily, t.Monthly, count(t.Keys), count(t.Users), count(t.Documents), count(t.Memories), storage(t.Storage),
		})
	}
	st.printTable(table.Row{"name", "per minute", "daily", "monthly", "keys", "users", "documents", "memories", "storage"}, rows)
	return nil
}

func tiersChangeCommand(st *stage) *cobra.Command {
	var (
		n       client.TierNumbers
		storage int64
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use: "change NAME", Short: "Change the limits of a tier", Args: cobra.ExactArgs(1),
		Long: "Changes the given limits and leaves the others unchanged. They apply from the next request on and override the\n" +
			"configuration. Usage is not reset.",
		Example: "  keepsake tiers change free --requests-per-minute 120 --daily 10000",
	}
	t := targetFlags(st, cmd)
	flags := cmd.Flags()
	numbers := []struct {
		flag, help string
		of         func(*client.TierNumbers) *int64
	}{
		{"requests-per-minute", "requests per minute", func(n *client.TierNumbers) *int64 { return &n.RequestsPerMinute }},
		{"daily", "requests per UTC day", func(n *client.TierNumbers) *int64 { return &n.Daily }},
		{"monthly", "requests per UTC month", func(n *client.TierNumbers) *int64 { return &n.Monthly }},
		{"keys", "API keys; 0 for no limit", func(n *client.TierNumbers) *int64 { return &n.Keys }},
		{"users", "users; 0 for no limit", func(n *client.TierNumbers) *int64 { return &n.Users }},
		{"documents", "documents; 0 for no limit", func(n *client.TierNumbers) *int64 { return &n.Documents }},
		{"memories", "memories; 0 for no limit", func(n *client.TierNumbers) *int64 { return &n.Memories }},
	}
	var names []string
	for _, number := range numbers {
		flags.Int64Var(number.of(&n), number.flag, 0, number.help)
		names = append(names, number.flag)
	}
	const storageFlag = "storage"
	flags.Int64Var(&storage, storageFlag, 0, "stored bytes; -1 for no limit")
	names = append(names, storageFlag)
	cmd.MarkFlagsOneRequired(names...)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			stored, err := tierNamed(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			wanted := stored.TierNumbers
			for _, number := range numbers {
				if flags.Changed(number.flag) {
					*number.of(&wanted) = *number.of(&n)
				}
			}
			if flags.Changed(storageFlag) {
				if wanted.Storage = &storage; storage == -1 {
					wanted.Storage = nil
				}
			}
			changed, err := c.ChangeTier(cmd.Context(), args[0], wanted, &stored.Revision)
			if err != nil {
				return fmt.Errorf("change tier %s: %w", args[0], err)
			}
			return st.printTiers([]client.Tier{*changed}, asJSON, changed)
		})
	}
	return cmd
}

func tierNamed(ctx context.Context, c *client.Client, name string) (*client.Tier, error) {
	tiers, err := allTiers(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, t := range tiers {
		if t.Name == name {
			return &t, nil
		}
	}
	return nil, fmt.Errorf("change tier %s: there is no tier of this name", name)
}
