package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"keepsake/client"
)

func keysCommand(st *stage) *cobra.Command {
	return group("keys", "Make, list, rotate and revoke API keys, and change the master and the signing key",
		keysCreateCommand(st), keysListCommand(st), keysGetCommand(st), keysRotateCommand(st), keysCompleteCommand(st),
		keysRevokeCommand(st), keysRotateMasterCommand(st), keysRotateSigningCommand(st))
}

func keysCreateCommand(st *stage) *cobra.Command {
	var (
		k                   client.NewAPIKey
		perMinute           int64
		daily, monthly      int64
		expiresAt, expires  string
		asJSON              bool
		subject, agent, ips = &k.SubjectID, &k.AgentID, &k.AllowedIPs
	)
	cmd := &cobra.Command{Use: "create", Short: "Make an API key; its text is shown this once", Args: cobra.NoArgs}
	t := targetFlags(st, cmd)
	flags := cmd.Flags()
	flags.StringVar(&k.Name, "name", "", "what the key is for")
	flags.StringSliceVar(&k.Scopes, "scopes", nil, "what it may do: read,write,developer:manage,analytics:read,memory:read,memory:write,admin")
	flags.StringVar(&expiresAt, "expires-at", "", "`TIME` at which it expires, as 2027-01-31T00:00:00Z")
	flags.StringVar(&expires, "expires-in", "", "`DAYS` or time until it expires: 90d, 12h")
	flags.Int64Var(&perMinute, "requests-per-minute", 0, "its own minute limit; left out, the tier's")
	flags.Int64Var(&daily, "daily", 0, "its own daily quota")
	flags.Int64Var(&monthly, "monthly", 0, "its own monthly quota")
	flags.StringVar(subject, "subject", "", "bind it to one subject")
	flags.StringVar(agent, "agent", "", "bind it to one agent")
	flags.StringSliceVar(ips, "allowed-ips", nil, "networks it may be used from: 10.0.0.0/8")
	flags.StringVar(&k.WorkspaceID, "workspace", "", "`ID` of the workspace it is for; left out, the caller's")
	cmd.MarkFlagsMutuallyExclusive("expires-at", "expires-in")
	for _, name := range []string{"name", "scopes"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // a flag of this command
		}
	}
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if k.ExpiresAt, err = expiry(expiresAt, expires, st.now()); err != nil {
			return err
		}
		if flags.Changed("requests-per-minute") {
			k.RateLimit = &client.NewRateLimit{RequestsPerMinute: perMinute}
		}
		if flags.Changed("daily") || flags.Changed("monthly") {
			k.Quota = &client.Quota{Daily: given(flags.Changed("daily"), daily), Monthly: given(flags.Changed("monthly"), monthly)}
		}
		return t.with(cmd.Context(), func(c *client.Client) error {
			made, err := c.CreateAPIKey(cmd.Context(), k)
			if err != nil {
				return fmt.Errorf("create key: %w", err)
			}
			if asJSON {
				return st.printJSON(made)
			}
			fmt.Fprintf(st.out, "%s\n\nThis is %s (%s). It is shown this once; keep it safe.\n",
				made.Key, made.ID, strings.Join(made.Scopes, ", "))
			return nil
		})
	}
	return cmd
}

// given makes an optional member of a flag that was set.
func given(set bool, n int64) *int64 {
	if !set {
		return nil
	}
	return &n
}

// expiry reads --expires-at or --expires-in; nil when neither was given.
func expiry(at, in string, now time.Time) (*time.Time, error) {
	switch {
	case at != "":
		t, err := time.Parse(time.RFC3339, at)
		if err != nil {
			return nil, usageError("--expires-at must look like 2027-01-31T00:00:00Z")
		}
		return &t, nil
	case in != "":
		d, err := time.ParseDuration(in)
		if text, ok := strings.CutSuffix(in, "d"); ok {
			var days int
			days, err = strconv.Atoi(text)
			d = time.Duration(days) * 24 * time.Hour
		}
		if err != nil || d <= 0 {
			return nil, usageError("--expires-in must look like 90d or 12h")
		}
		t := now.Add(d).UTC().Truncate(time.Millisecond)
		return &t, nil
	default:
		return nil, nil
	}
}

func keysListCommand(st *stage) *cobra.Command {
	var (
		q      client.APIKeyQuery
		asJSON bool
	)
	cmd := &cobra.Command{Use: "list", Short: "List API keys, newest first", Args: cobra.NoArgs}
	t := targetFlags(st, cmd)
	cmd.Flags().StringVar(&q.State, "state", "", "only active, rotating, expired, disabled or revoked ones")
	cmd.Flags().StringVar(&q.CreatedBy, "created-by", "", "only those made by this user or key")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			keys := []client.APIKey{}
			for k, err := range c.EachAPIKey(cmd.Context(), q) {
				if err != nil {
					return fmt.Errorf("list keys: %w", err)
				}
				keys = append(keys, k)
			}
			if asJSON {
				return st.printJSON(struct {
					Items []client.APIKey `json:"items"`
				}{keys})
			}
			st.printKeys(keys)
			return nil
		})
	}
	return cmd
}

func (st *stage) printKeys(keys []client.APIKey) {
	rows := make([]table.Row, 0, len(keys))
	for _, k := range keys {
		rows = append(rows, table.Row{
			k.ID, plain(k.Name), k.State, k.Hint + "…", strings.Join(k.Scopes, ","), k.RateLimit.RequestsPerMinute,
			when(k.ExpiresAt), when(k.LastUsedAt),
		})
	}
	st.printTable(table.Row{"id", "name", "state", "key", "scopes", "per minute", "expires", "last used"}, rows)
}

func keysGetCommand(st *stage) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "get ID", Short: "Show one API key", Args: cobra.ExactArgs(1)}
	t := targetFlags(st, cmd)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			k, err := c.APIKey(cmd.Context(), args[0])
			if err != nil {
				return fmt.Errorf("get key %s: %w", args[0], err)
			}
			if asJSON {
				return st.printJSON(k)
			}
			st.printKeys([]client.APIKey{*k})
			return nil
		})
	}
	return cmd
}

func keysRevokeCommand(st *stage) *cobra.Command {
	var (
		reason string
		asJSON bool
	)
	cmd := &cobra.Command{Use: "revoke ID", Short: "End an API key for good", Args: cobra.ExactArgs(1)}
	t := targetFlags(st, cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the record")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			k, err := c.RevokeAPIKey(cmd.Context(), args[0], reason)
			if err != nil {
				return fmt.Errorf("revoke key %s: %w", args[0], err)
			}
			if asJSON {
				return st.printJSON(k)
			}
			fmt.Fprintf(st.out, "%s (%s) is %s.\n", k.ID, plain(k.Name), k.State)
			return nil
		})
	}
	return cmd
}
