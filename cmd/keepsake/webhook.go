package main

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"keepsake/client"
)

func webhooksCommand(st *stage) *cobra.Command {
	return group("webhooks", "Create, list, rotate and delete webhooks; show, replay and receive their deliveries",
		webhooksCreateCommand(st), webhooksListCommand(st), webhooksRotateCommand(st), webhooksDeleteCommand(st), webhooksPingCommand(st),
		webhooksDeliveriesCommand(st), webhooksReplayCommand(st), webhooksListenCommand(st))
}

func webhooksCreateCommand(st *stage) *cobra.Command {
	var (
		w      client.NewWebhook
		asJSON bool
	)
	cmd := &cobra.Command{
		Use: "create URL", Short: "Create a webhook", Args: oneArgument,
		Long: "Creates a webhook and prints the secret that signs its deliveries on standard output. The secret is shown only once;\n" +
			"everything else goes to standard error.",
		Example: "  keepsake webhooks create https://example.org/hooks --events api_key.expiring,version.deprecated\n" +
			"  keepsake webhooks create https://example.org/hooks > secret",
	}
	t := targetFlags(st, cmd)
	cmd.Flags().StringSliceVar(&w.Events, "events", nil, "comma-separated `EVENTS` to deliver, such as memory.created (default: all)")
	cmd.Flags().StringVar(&w.Description, "description", "", "description for people")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		w.URL = args[0]
		return t.with(cmd.Context(), func(c *client.Client) error {
			made, err := c.CreateWebhook(cmd.Context(), w)
			if err != nil {
				return fmt.Errorf("create webhook: %w", err)
			}
			if asJSON {
				return st.printJSON(made)
			}
			fmt.Fprintln(st.out, made.Secret)
			fmt.Fprintf(st.err, "Created webhook %s. Its secret is shown only once; store it now.\n", made.ID)
			return nil
		})
	}
	return cmd
}

func webhooksListCommand(st *stage) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List webhooks, newest first", Args: noArguments,
		Example: "  keepsake webhooks list",
	}
	t := targetFlags(st, cmd)
	wideFlag(st, cmd)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			list := []client.Webhook{}
			for w, err := range c.EachWebhook(cmd.Context(), client.WebhookQuery{}) {
				if err != nil {
					return fmt.Errorf("list webhooks: %w", err)
				}
				list = append(list, w)
			}
			if asJSON {
				return st.printJSON(struct {
					Items []client.Webhook `json:"items"`
				}{list})
			}
			rows := make([]table.Row, 0, len(list))
			for _, w := range list {
				rows = append(rows, table.Row{w.ID, w.URL, webhookState(&w), eventsText(w.Events), whenCell(w.LastSuccessAt), whenCell(w.FailingSince)})
			}
			st.printTable([]column{
				{title: "id"},
				{title: "url", free: true},
				{title: "state", free: true},
				{title: "events", extra: true},
				{title: "last success (UTC)"},
				{title: "failing since (UTC)", extra: true},
			}, rows)
			return nil
		})
	}
	return cmd
}

func webhookState(w *client.Webhook) string {
	switch {
	case w.DisabledReason != nil:
		return "disabled: " + *w.DisabledReason
	case w.Disabled:
		return "disabled"
	default:
		return "enabled"
	}
}

// eventsText shortens a long list.
func eventsText(events []string) string {
	const shown = 3
	if len(events) <= shown {
		return strings.Join(events, ",")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(events[:shown], ","), len(events)-shown)
}

func webhooksRotateCommand(st *stage) *cobra.Command {
	var (
		grace         string
		force, asJSON bool
	)
	cmd := &cobra.Command{
		Use: "rotate WEBHOOK", Short: "Rotate the secret of a webhook, by its ID or URL", Args: oneArgument,
		Long: "Gives a webhook a new secret and prints it on standard output. Deliveries are signed with both secrets for the grace\n" +
			"period, so that receivers can change over.",
		Example: "  keepsake webhooks rotate whk_01m7zq3v8ye2sbg5n6wkt9rdfc --grace 7d",
	}
	t := targetFlags(st, cmd)
	cmd.Flags().StringVar(&grace, "grace", "24h", "`DURATION` for which the old secret also signs, from 0 to 30d")
	cmd.Flags().BoolVar(&force, "force", false, "rotate although there are two secrets; the older one signs no more")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		seconds, err := graceSeconds(grace)
		if err != nil {
			return err
		}
		return t.with(cmd.Context(), func(c *client.Client) error {
			hook, err := webhookID(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			w, err := c.RotateWebhookSecret(cmd.Context(), hook, client.Rotation{GraceSeconds: &seconds, Force: force}, nil)
			if err != nil {
				return fmt.Errorf("rotate the secret of webhook %s: %w", hook, err)
			}
			if asJSON {
				return st.printJSON(w)
			}
			fmt.Fprintln(st.out, w.Secret)
			fmt.Fprintf(st.err, "This is the new secret of %s. It is shown only once; store it now.\n", w.ID)
			if len(w.Secrets) > 1 {
				fmt.Fprintf(st.err, "The old secret also signs until %s.\n", when(w.Secrets[1].ValidUntil))
			}
			return nil
		})
	}
	return cmd
}

func webhooksDeleteCommand(st *stage) *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete WEBHOOK", Short: "Delete a webhook, by its ID or URL, and its deliveries", Args: oneArgument,
		Example: "  keepsake webhooks delete whk_01m7zq3v8ye2sbg5n6wkt9rdfc",
	}
	t := targetFlags(st, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			hook, err := webhookID(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			if err := c.DeleteWebhook(cmd.Context(), hook, nil); err != nil {
				return fmt.Errorf("delete webhook %s: %w", hook, err)
			}
			fmt.Fprintf(st.out, "Deleted webhook %s.\n", hook)
			return nil
		})
	}
	return cmd
}

func webhooksPingCommand(st *stage) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "ping WEBHOOK", Short: "Send a test event to a webhook, by its ID or URL", Args: oneArgument,
		Example: "  keepsake webhooks ping whk_01m7zq3v8ye2sbg5n6wkt9rdfc",
	}
	t := targetFlags(st, cmd)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			hook, err := webhookID(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			d, err := c.PingWebhook(cmd.Context(), hook)
			if err != nil {
				return fmt.Errorf("ping webhook %s: %w", hook, err)
			}
			if asJSON {
				return st.printJSON(d)
			}
			fmt.Fprintf(st.out, "Added delivery %s. `keepsake webhooks deliveries %s` shows the result.\n", d.ID, hook)
			return nil
		})
	}
	return cmd
}

func webhooksDeliveriesCommand(st *stage) *cobra.Command {
	var (
		q      client.DeliveryQuery
		asJSON bool
	)
	cmd := &cobra.Command{
		Use: "deliveries WEBHOOK", Short: "List the deliveries of a webhook, by its ID or URL, newest first", Args: oneArgument,
		Example: "  keepsake webhooks deliveries whk_01m7zq3v8ye2sbg5n6wkt9rdfc --state failed",
	}
	t := targetFlags(st, cmd)
	cmd.Flags().StringVar(&q.State, "state", "", "only deliveries in this `STATE`: pending, delivered or failed")
	cmd.Flags().StringVar(&q.Event, "event", "", "only deliveries of this `EVENT`, such as memory.created")
	cmd.Flags().IntVar(&q.Limit, "limit", 50, "most deliveries to show, up to 200")
	wideFlag(st, cmd)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			hook, err := webhookID(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			page, err := c.ListDeliveries(cmd.Context(), hook, q)
			if err != nil {
				return fmt.Errorf("list the deliveries of webhook %s: %w", hook, err)
			}
			if asJSON {
				return st.printJSON(page)
			}
			st.printDeliveries(page.Items)
			return nil
		})
	}
	return cmd
}

func (st *stage) printDeliveries(list []client.Delivery) {
	rows := make([]table.Row, 0, len(list))
	for _, d := range list {
		last := "-"
		if n := len(d.Attempts); n > 0 {
			last = attemptText(&d.Attempts[n-1])
		}
		rows = append(rows, table.Row{d.ID, d.Event, d.State, len(d.Attempts), last, whenCell(&d.CreatedAt), whenCell(d.NextAttemptAt)})
	}
	st.printTable([]column{
		{title: "id"},
		{title: "event", free: true},
		{title: "state"},
		{title: "attempts"},
		{title: "last", free: true},
		{title: "created (UTC)"},
		{title: "next attempt (UTC)", extra: true},
	}, rows)
}

func attemptText(a *client.DeliveryAttempt) string {
	switch {
	case a.Error != nil && a.Status != nil:
		return fmt.Sprintf("%s %d", *a.Error, *a.Status)
	case a.Error != nil:
		return *a.Error
	case a.Status != nil:
		return fmt.Sprint(*a.Status)
	default:
		return "-"
	}
}

func webhooksReplayCommand(st *stage) *cobra.Command {
	var failed bool
	cmd := &cobra.Command{
		Use: "replay WEBHOOK [DELIVERY]", Short: "Send deliveries of a webhook, by its ID or URL, again", Args: cobra.RangeArgs(1, 2),
		Long: "Sends a delivery of a webhook again, or with --failed all that have failed. Events keep their IDs, so that receivers\n" +
			"recognize those that they already have.",
		Example: "  keepsake webhooks replay whk_01m7zq3v8ye2sbg5n6wkt9rdfc dlv_01m7zq3v8ye2sbg5n6wkt9rdfc\n" +
			"  keepsake webhooks replay whk_01m7zq3v8ye2sbg5n6wkt9rdfc --failed",
	}
	t := targetFlags(st, cmd)
	cmd.Flags().BoolVar(&failed, "failed", false, "send all failed deliveries")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if failed == (len(args) == 2) {
			return usageError("give the ID of a delivery, or --failed")
		}
		return t.with(cmd.Context(), func(c *client.Client) error {
			hook, err := webhookID(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			ids := args[1:]
			if failed {
				for d, err := range c.EachDelivery(cmd.Context(), hook, client.DeliveryQuery{State: "failed"}) {
					if err != nil {
						return fmt.Errorf("list the deliveries of webhook %s: %w", hook, err)
					}
					ids = append(ids, d.ID)
				}
			}
			for _, id := range ids {
				if _, err := c.ReplayDelivery(cmd.Context(), hook, id); err != nil {
					return fmt.Errorf("replay delivery %s: %w", id, err)
				}
			}
			fmt.Fprintf(st.out, "Replayed %d deliveries.\n", len(ids))
			return nil
		})
	}
	return cmd
}
