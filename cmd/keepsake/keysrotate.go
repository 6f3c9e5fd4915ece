package main

import (
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
		Use: "rotate ID", Short: "Give an API key a new secret; its text is shown this once", Args: cobra.ExactArgs(1),
		Long: "Gives an API key a new secret under the same id and the same budgets. The old one works for the grace besides, so\n" +
			"that whoever uses the key can change over; `keys complete` ends it earlier.",
	}
	t := targetFlags(st, cmd)
	cmd.Flags().StringVar(&grace, "grace", "24h", "`TIME` for which the old secret still works, up to 30d: 7d, 12h, 0")
	cmd.Flags().BoolVar(&force, "force", false, "also while the key is being rotated: the older of its secrets ends at once")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		seconds, err := graceSeconds(grace)
		if err != nil {
			return err
		}
		return t.with(cmd.Context(), func(c *client.Client) error {
			k, err := c.RotateAPIKey(cmd.Context(), args[0], client.Rotation{GraceSeconds: &seconds, Force: force}, nil)
			if err != nil {
				return fmt.Errorf("rotate key %s: %w", args[0], err)
			}
			if asJSON {
				return st.printJSON(k)
			}
			fmt.Fprintf(st.out, "%s\n\nThis is the new secret of %s (%s). It is shown this once; keep it safe.\n", k.Key, k.ID, plain(k.Name))
			if len(k.Secrets) > 1 {
				fmt.Fprintf(st.out, "The old one works until %s.\n", when(k.Secrets[1].ValidUntil))
			} else {
				fmt.Fprintln(st.out, "The old one is dead.")
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
		return 0, usageError("--grace must look like 7d, 12h or 0")
	}
	return int64(d / time.Second), nil
}

func keysCompleteCommand(st *stage) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "complete ID", Short: "End the older secret of an API key that is being rotated", Args: cobra.ExactArgs(1)}
	t := targetFlags(st, cmd)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			k, err := c.CompleteAPIKeyRotation(cmd.Context(), args[0])
			if err != nil {
				return fmt.Errorf("complete the rotation of key %s: %w", args[0], err)
			}
			if asJSON {
				return st.printJSON(k)
			}
			fmt.Fprintf(st.out, "%s (%s) has one secret: %s….\n", k.ID, plain(k.Name), k.Hint)
			return nil
		})
	}
	return cmd
}
