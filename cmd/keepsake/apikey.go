package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"keepsake/client"
)

func keysCommand(st *stage) *cobra.Command {
	return group("keys", "Create, list, change, rotate and revoke API keys; rotate the master and signing keys",
		keysCreateCommand(st), keysListCommand(st), keysGetCommand(st), keysChangeCommand(st), keysDisableCommand(st),
		keysEnableCommand(st), keysRotateCommand(st), keysCompleteCommand(st), keysRevokeCommand(st), keysRotateMasterCommand(st), keysRotateSigningCommand(st))
}

const scopesHelp = "read, write, developer:manage, analytics:read, memory:read, memory:write, admin"

func keysCreateCommand(st *stage) *cobra.Command {
	var (
		k                   client.NewAPIKey
		perMinute           int64
		daily, monthly      int64
		expiresAt, expires  string
		asJSON              bool
		subject, agent, ips = &k.SubjectID, &k.AgentID, &k.AllowedIPs
	)
	cmd := &cobra.Command{
		Use: "create", Short: "Create an API key", Args: noArguments,
		Long: "Creates an API key and prints it on standard output. It is shown only once; everything else goes to standard error.",
		Example: "  keepsake keys create --name website --scopes read,memory:read --expires-in 90d\n" +
			"  KEEPSAKE_KEY=$(keepsake keys create --name ci --scopes read,write)",
	}
	t := targetFlags(st, cmd)
	flags := cmd.Flags()
	flags.StringVar(&k.Name, "name", "", "name of the key")
	flags.StringSliceVar(&k.Scopes, "scopes", nil, "comma-separated scopes: "+scopesHelp)
	flags.StringVar(&expiresAt, "expires-at", "", "expiry `TIME`, such as 2027-01-31T00:00:00Z")
	flags.StringVar(&expires, "expires-in", "", "`DURATION` until it expires, such as 90d or 12h")
	flags.Int64Var(&perMinute, "requests-per-minute", 0, "minute limit of the key (default: the tier's)")
	flags.Int64Var(&daily, "daily", 0, "daily quota of the key (default: only the workspace's)")
	flags.Int64Var(&monthly, "monthly", 0, "monthly quota of the key (default: only the workspace's)")
	flags.StringVar(subject, "subject", "", "bind the key to the subject with this `ID`")
	flags.StringVar(agent, "agent", "", "bind the key to the agent with this `ID`")
	flags.StringSliceVar(ips, "allowed-ips", nil, "comma-separated `NETWORKS` it can be used from, such as 10.0.0.0/8 (default: any)")
	flags.StringVar(&k.WorkspaceID, "workspace", "", "`ID` or name of the workspace (default: the caller's)")
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
			var err error
			if k.WorkspaceID, err = workspaceID(cmd.Context(), c, k.WorkspaceID); err != nil {
				return err
			}
			made, err := c.CreateAPIKey(cmd.Context(), k)
			if err != nil {
				return fmt.Errorf("create key: %w", err)
			}
			if asJSON {
				return st.printJSON(made)
			}
			fmt.Fprintln(st.out, made.Key)
			fmt.Fprintf(st.err, "Created API key %s with the scopes %s. It is shown only once; store it now.\n",
				made.ID, strings.Join(made.Scopes, ", "))
			return nil
		})
	}
	return cmd
}

// given returns n for a flag that was set, and nil otherwise.
func given(set bool, n int64) *int64 {
	if !set {
		return nil
	}
	return &n
}

// expiry reads --expires-at or --expires-in. It returns nil if neither was given.
func expiry(at, in string, now time.Time) (*time.Time, error) {
	switch {
	case at != "":
		t, err := time.Parse(time.RFC3339, at)
		if err != nil {
			return nil, usageError("--expires-at must be a time such as 2027-01-31T00:00:00Z")
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
			return nil, usageError("--expires-in must be a duration such as 90d or 12h")
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
	cmd := &cobra.Command{
		Use: "list", Short: "List API keys, newest first", Args: noArguments,
		Example: "  keepsake keys list --state active",
	}
	t := targetFlags(st, cmd)
	cmd.Flags().StringVar(&q.State, "state", "", "only keys in this `STATE`: active, rotating, expired, disabled or revoked")
	cmd.Flags().StringVar(&q.CreatedBy, "created-by", "", "only keys created by the user or key with this `ID`, email address or name")
	wideFlag(st, cmd)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			var err error
			if q.CreatedBy, err = actorID(cmd.Context(), c, q.CreatedBy); err != nil {
				return err
			}
			keys := []client.APIKey{}
			for k, err := range c.EachAPIKey(cmd.Context(), q) {
				if err != nil {
					return fmt.Errorf("list keys: %w", err)
				}
				keys = append(keys, k)
			}
			if asJSON {
				return st.printJSON(items[client.APIKey]{keys})
			}
			st.printKeys(keys)
			return nil
		})
	}
	return cmd
}

// aboutKey returns a command whose argument is the ID or the name of an API key. do gets the ID.
func aboutKey(st *stage, cmd *cobra.Command, do func(ctx context.Context, c *client.Client, id string) error) *cobra.Command {
	cmd.Args = oneArgument
	t := targetFlags(st, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			id, err := keyID(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			return do(cmd.Context(), c, id)
		})
	}
	return cmd
}

func keysGetCommand(st *stage) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "get KEY", Short: "Show an API key",
		Long:    "Shows an API key, without its secret. KEY is an ID or a name.",
		Example: "  keepsake keys get website\n  keepsake keys get key_01m7zq3v8ye2sbg5n6wkt9rdfc --json",
	}
	jsonFlag(cmd, &asJSON)
	return aboutKey(st, cmd, func(ctx context.Context, c *client.Client, id string) error {
		k, err := c.APIKey(ctx, id)
		if err != nil {
			return fmt.Errorf("get key %s: %w", id, err)
		}
		return st.printKey(k, asJSON)
	})
}

func keysRevokeCommand(st *stage) *cobra.Command {
	var (
		reason string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use: "revoke KEY", Short: "Revoke an API key",
		Long:    "Revokes an API key at once. A revoked key never works again. KEY is an ID or a name.",
		Example: "  keepsake keys revoke website --reason 'found in a log'",
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason for the audit log")
	jsonFlag(cmd, &asJSON)
	return aboutKey(st, cmd, func(ctx context.Context, c *client.Client, id string) error {
		k, err := c.RevokeAPIKey(ctx, id, reason)
		if err != nil {
			return fmt.Errorf("revoke key %s: %w", id, err)
		}
		if asJSON {
			return st.printJSON(k)
		}
		fmt.Fprintf(st.out, "%s (%s) is %s.\n", k.ID, plain(k.Name), k.State)
		return nil
	})
}
