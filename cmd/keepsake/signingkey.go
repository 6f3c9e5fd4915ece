package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"keepsake/client"
)

func keysRotateSigningCommand(st *stage) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "rotate-signing", Short: "Rotate the key that signs access tokens", Args: noArguments,
		Long:    "Signs new access tokens with a new key. Tokens that were issued before stay valid until they expire.",
		Example: "  keepsake keys rotate-signing",
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
			fmt.Fprintf(st.out, "New access tokens are signed with key %s.\n", made.ID)
			return nil
		})
	}
	return cmd
}
