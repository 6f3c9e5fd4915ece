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

func keysRotateCommand(st *stage) *cobra.Command {
	var (
		grace         string
		force, asJSON bool
	)
	cmd := &cobra.Command{
		Use: "rotate KEY", Short: "Rotate an API key", Args: oneArgument,
		Long: "Gives an API key a new secret and prints it on standard output. ID, limits and quotas stay the same. The old secret\n" +
			"keeps working for the grace period, so that clients can change over; `keepsake keys complete` ends it earlier.\n" +
			"KEY is an ID or a name.",
		Example: "  keepsake keys rotate website --grace 7d",
	}
	t := targetFlags(st, cmd)
	cmd.Flags().StringVar(&grace, "grace", "24h", "`DURATION` for which the old secret keeps working, from 0 to 30d")
	cmd.Flags().BoolVar(&force, "force", false, "rotate although the last rotation is not complete; the oldest secret stops working at once")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		seconds, err := graceSeconds(grace)
		if err != nil {
			return err
		}
		return t.with(cmd.Context(), func(c *client.Client) error {
			id, err := keyID(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			k, err := c.RotateAPIKey(cmd.Context(), id, client.Rotation{GraceSeconds: &seconds, Force: force}, nil)
			if err != nil {
				return fmt.Errorf("rotate key %s: %w", id, err)
			}
			if asJSON {
				return st.printJSON(k)
			}
			fmt.Fprintln(st.out, k.Key)
			fmt.Fprintf(st.err, "This is the new secret of %s (%s). It is shown only once; store it now.\n", k.ID, plain(k.Name))
			if len(k.Secrets) > 1 {
				fmt.Fprintf(st.err, "The old secret works until %s.\n", when(k.Secrets[1].ValidUntil))
			} else {
				fmt.Fprintln(st.err, "The old secret no longer works.")
			}
			return nil
		})
	}
	return cmd
}

// graceSeconds reads --grace: a Go duration, or days.
func graceSeconds(text string) (int64, error) {
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		d = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || d < 0 || d%time.Second != 0 {
		return 0, usageError("--grace must be a duration such as 7d, 12h or 0")
	}
	return int64(d / time.Second), nil
}

func keysCompleteCommand(st *stage) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "complete KEY", Short: "Complete the rotation of an API key",
		Long:    "Ends the grace period of a rotation: the old secret stops working at once. KEY is an ID or a name.",
		Example: "  keepsake keys complete website",
	}
	jsonFlag(cmd, &asJSON)
	return aboutKey(st, cmd, func(ctx context.Context, c *client.Client, id string) error {
		k, err := c.CompleteAPIKeyRotation(ctx, id)
		if err != nil {
			return fmt.Errorf("complete the rotation of key %s: %w", id, err)
		}
		if asJSON {
			return st.printJSON(k)
		}
		fmt.Fprintf(st.out, "API key %s (%s) has one secret, %s….\n", k.ID, plain(k.Name), k.Hint)
		return nil
	})
}
