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

func keysChangeCommand(st *stage) *cobra.Command {
	var (
		f      keyChangeFlags
		asJSON bool
	)
	cmd := &cobra.Command{
		Use: "change KEY", Short: "Change the name, scopes, expiry or limits of an API key", Args: oneArgument,
		Long: "Changes the given fields of an API key and leaves the others unchanged. KEY is an ID or a name. Requests with the key\n" +
			"have the new scopes and limits at once. --scopes and --allowed-ips replace the whole old list.",
		Example: "  keepsake keys change website --scopes read --requests-per-minute 60\n" +
			"  keepsake keys change website --expires-in never --daily none",
	}
	t := targetFlags(st, cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "new name")
	flags.StringSliceVar(&f.scopes, "scopes", nil, "comma-separated scopes: "+scopesHelp)
	flags.StringVar(&f.expiresAt, "expires-at", "", "expiry `TIME`, such as 2027-01-31T00:00:00Z")
	flags.StringVar(&f.expiresIn, "expires-in", "", "`DURATION` until it expires, such as 90d or 12h, or never")
	flags.StringVar(&f.perMinute, "requests-per-minute", "", "minute limit `NUMBER` of the key, or tier for that of the tier")
	flags.StringVar(&f.daily, "daily", "", "daily quota `NUMBER` of the key, or none for only the workspace's")
	flags.StringVar(&f.monthly, "monthly", "", "monthly quota `NUMBER` of the key, or none for only the workspace's")
	flags.StringSliceVar(&f.networks, "allowed-ips", nil, "comma-separated `NETWORKS` it can be used from, such as 10.0.0.0/8, or any")
	cmd.MarkFlagsMutuallyExclusive("expires-at", "expires-in")
	cmd.MarkFlagsOneRequired("name", "scopes", "expires-at", "expires-in", "requests-per-minute", "daily", "monthly", "allowed-ips")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		change, quota, err := f.change(flags.Changed, st.now())
		if err != nil {
			return err
		}
		return t.with(cmd.Context(), func(c *client.Client) error {
			id, err := keyID(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			k, err := changeKey(cmd.Context(), c, id, change, quota)
			if err != nil {
				return fmt.Errorf("change key %s: %w", id, err)
			}
			return st.printKey(k, asJSON)
		})
	}
	return cmd
}

// changeKey changes a key. A quota is changed with the revision that it was read with, because it is sent whole.
func changeKey(ctx context.Context, c *client.Client, id string, change client.APIKeyChange, quota quotaChange) (*client.APIKey, error) {
	if quota.isNone() {
		return c.ChangeAPIKey(ctx, id, change, nil)
	}
	k, err := c.APIKey(ctx, id)
	if err != nil {
		return nil, err
	}
	change.Quota = quota.of(k.Quota)
	return c.ChangeAPIKey(ctx, id, change, &k.Revision)
}

// keyChangeFlags are the texts of the flags of `keys change`.
type keyChangeFlags struct {
	name                 string
	scopes, networks     []string
	expiresAt, expiresIn string
	perMinute            string
	daily, monthly       string
}

// change reads the flags that were given.
func (f *keyChangeFlags) change(given func(flag string) bool, now time.Time) (c client.APIKeyChange, q quotaChange, err error) {
	if given("name") {
		c.Name = client.To(f.name)
	}
	if given("scopes") {
		c.Scopes = client.To(f.scopes)
	}
	if given("allowed-ips") {
		c.AllowedIPs = client.To(f.networks)
		if len(f.networks) == 1 && f.networks[0] == "any" {
			c.AllowedIPs = client.To([]string{})
		}
	}
	if given("expires-at") || given("expires-in") {
		if f.expiresIn == "never" {
			c.ExpiresAt = client.Cleared[time.Time]()
		} else if at, err := expiry(f.expiresAt, f.expiresIn, now); err != nil {
			return c, q, err
		} else if at != nil {
			c.ExpiresAt = client.To(*at)
		}
	}
	if given("requests-per-minute") {
		n, err := numberOr("requests-per-minute", f.perMinute, "tier")
		if err != nil {
			return c, q, err
		}
		if c.RateLimit = client.Cleared[client.NewRateLimit](); n != nil {
			c.RateLimit = client.To(client.NewRateLimit{RequestsPerMinute: *n})
		}
	}
	if q.setsDaily = given("daily"); q.setsDaily {
		if q.daily, err = numberOr("daily", f.daily, noLimit); err != nil {
			return c, q, err
		}
	}
	if q.setsMonthly = given("monthly"); q.setsMonthly {
		q.monthly, err = numberOr("monthly", f.monthly, noLimit)
	}
	return c, q, err
}

// numberOr reads the number of a flag, or nil for a word that means none.
func numberOr(flag, text, word string) (*int64, error) {
	if text == word {
		return nil, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, usageError(fmt.Sprintf("--%s must be a whole number or %s", flag, word))
	}
	return &n, nil
}

// quotaChange changes the daily quota of a key, the monthly one, or both.
type quotaChange struct {
	setsDaily, setsMonthly bool
	daily, monthly         *int64 // nil: none
}

func (q quotaChange) isNone() bool { return !q.setsDaily && !q.setsMonthly }

// of returns the change of a key whose quota, which can be nil, is the present one.
func (q quotaChange) of(present *client.Quota) client.Change[client.Quota] {
	var wanted client.Quota
	if present != nil {
		wanted = *present
	}
	if q.setsDaily {
		wanted.Daily = q.daily
	}
	if q.setsMonthly {
		wanted.Monthly = q.monthly
	}
	if wanted.Daily == nil && wanted.Monthly == nil {
		return client.Cleared[client.Quota]()
	}
	return client.To(wanted)
}

func keysDisableCommand(st *stage) *cobra.Command {
	return disabling(st, true, &cobra.Command{
		Use: "disable KEY", Short: "Disable an API key until it is enabled again",
		Long:    "Disables an API key at once. KEY is an ID or a name. `keepsake keys enable` lets it work again.",
		Example: "  keepsake keys disable website",
	})
}

func keysEnableCommand(st *stage) *cobra.Command {
	return disabling(st, false, &cobra.Command{
		Use: "enable KEY", Short: "Enable a disabled API key",
		Long:    "Lets a disabled API key work again. KEY is an ID or a name. An expired or revoked key stays what it is.",
		Example: "  keepsake keys enable website",
	})
}

// disabling returns a command that disables or enables a key.
func disabling(st *stage, disabled bool, cmd *cobra.Command) *cobra.Command {
	var asJSON bool
	aboutKey(st, cmd, func(ctx context.Context, c *client.Client, id string) error {
		k, err := c.ChangeAPIKey(ctx, id, client.APIKeyChange{Disabled: client.To(disabled)}, nil)
		if err != nil {
			verb, _, _ := strings.Cut(cmd.Use, " ")
			return fmt.Errorf("%s key %s: %w", verb, id, err)
		}
		if asJSON {
			return st.printJSON(k)
		}
		fmt.Fprintf(st.out, "%s (%s) is %s.\n", k.ID, plain(k.Name), k.State)
		return nil
	})
	jsonFlag(cmd, &asJSON)
	return cmd
}
