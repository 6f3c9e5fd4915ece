package main

import (
	"github.com/spf13/cobra"

	"keepsake/internal/app"
)

func openapiCommand(st *stage) *cobra.Command {
	var version int
	cmd := &cobra.Command{
		Use: "openapi", Short: "Print the OpenAPI 3.1 document", Args: noArguments,
		Example: "  keepsake openapi > keepsake.json",
		RunE: func(*cobra.Command, []string) error {
			document, err := app.OpenAPI(version)
			if err != nil {
				return err
			}
			_, err = st.out.Write(document)
			return err
		},
	}
	cmd.Flags().IntVar(&version, "api-version", 1, "`NUMBER` of the API version")
	return cmd
}
