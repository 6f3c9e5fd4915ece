package main

import (
	"context"
	"fmt"
	"strconv"

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
	count := func(n *int64) any {
		if n == nil {
			return "no limit"
		}
		return *n
	}
	rows := make([]table.Row, 0, len(tiers))
	for _, t := range tiers {
		storage := "no limit"
		if t.Storage != nil {
			storage = sizeText(*t.Storage)
		}
		rows = append(rows, table.Row{
			t.Name, t.RequestsPerMinute, t.Daily, t.Monthly, count(t.Keys), count(t.Users), count(t.Documents), count(t.Memories), storage,
		})
	}
	st.printTable(fixed("name", "per minute", "daily", "monthly", "keys", "users", "documents", "memories", "storage"), rows)
	return nil
}

func tiersChangeCommand(st *stage) *cobra.Command {
	var (
		n      client.TierNumbers
		asJSON bool
	)
	cmd := &cobra.Command{
		Use: "change NAME", Short: "Change the limits of a tier", Args: oneArgument,
		Long: "Changes the given limits and leaves the others unchanged. They apply from the next request on and override the\n" +
			"configuration. Usage is not reset.",
		Example: "  keepsake tiers change free --requests-per-minute 120 --daily 10000",
	}
	t := targetFlags(st, cmd)
	flags := cmd.Flags()
	rates := []struct {
		flag, help string
		of         func(*client.TierNumbers) *int64
	}{
		{"requests-per-minute", "requests per minute", func(n *client.TierNumbers) *int64 { return &n.RequestsPerMinute }},
		{"daily", "requests per UTC day", func(n *client.TierNumbers) *int64 { return &n.Daily }},
		{"monthly", "requests per UTC month", func(n *client.TierNumbers) *int64 { return &n.Monthly }},
	}
	counts := []struct {
		flag, help string
		of         func(*client.TierNumbers) **int64
	}{
		{"keys", "API keys", func(n *client.TierNumbers) **int64 { return &n.Keys }},
		{"users", "users", func(n *client.TierNumbers) **int64 { return &n.Users }},
		{"documents", "documents", func(n *client.TierNumbers) **int64 { return &n.Documents }},
		{"memories", "memories", func(n *client.TierNumbers) **int64 { return &n.Memories }},
		{"storage", "stored bytes, or a size such as 100GiB", func(n *client.TierNumbers) **int64 { return &n.Storage }},
	}
	var names []string
	for _, rate := range rates {
		flags.Int64Var(rate.of(&n), rate.flag, 0, rate.help)
		names = append(names, rate.flag)
	}
	for _, count := range counts {
		flags.Var(countFlag{count.of(&n), count.flag == "storage"}, count.flag, count.help+"; none for no limit, 0 for none at all")
		names = append(names, count.flag)
	}
	cmd.MarkFlagsOneRequired(names...)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			stored, err := tierNamed(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			wanted := stored.TierNumbers
			for _, rate := range rates {
				if flags.Changed(rate.flag) {
					*rate.of(&wanted) = *rate.of(&n)
				}
			}
			for _, count := range counts {
				if flags.Changed(count.flag) {
					*count.of(&wanted) = *count.of(&n)
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

// countFlag is a flag for a count of a tier: a number, or none for no limit. A count of bytes can have a unit.
type countFlag struct {
	count **int64
	bytes bool
}

const noLimit = "none"

func (f countFlag) Type() string { return "NUMBER|" + noLimit }

func (f countFlag) String() string { return "" }

func (f countFlag) Set(text string) error {
	if *f.count = nil; text == noLimit {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if f.bytes {
		size, ok := parseSize(text)
		if !ok {
			return fmt.Errorf("must be a number of bytes such as 100GiB, or %s for no limit", noLimit)
		}
		n, err = size, nil
	}
	if err != nil || n < 0 {
		return fmt.Errorf("must be a whole number from 0, or %s for no limit", noLimit)
	}
	*f.count = &n
	return nil
}
