package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"keepsake/client"
)

func keysRotateSigningCommand(st *stage) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "rotate-signing", Short: "Sign access tokens with a new key; those that are out stay valid", Args: cobra.NoArgs,
	}
	t := targetFlags(st, cmd)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			made, err := c.RotateSigningKey(cmd.Context())
			if err != nil {
				return fmt.Errorf("rotate the signing key: %w", err)
			}
			if asJSON {
				return st.printJSON(made)
			}
			fmt.Fprintf(st.out, "Access tokens are signed with %s from now on.\n", made.ID)
			return nil
		})
	}
	return cmd
}
