package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"keepsake/internal/app"
	"keepsake/internal/app/instance"
)

func initCommand(st *stage) *cobra.Command {
	var (
		email, passwordFile string
		asJSON              bool
	)
	cmd := &cobra.Command{
		Use: "init", Short: "Create an instance without serving it", Args: noArguments,
		Long: "Creates the data folder with a workspace, its first admin and an API key with all scopes, and prints the secrets. They\n" +
			"are shown only once. With --database-url the instance is created in that database, and the folder keeps its master key.\n" +
			"An existing instance is left unchanged (exit code 3).",
		Example: "  keepsake init --data /var/lib/keepsake --admin-email ada@example.com",
	}
	s := settingFlags(st, cmd, placeSettings...)
	cmd.Flags().StringVar(&email, "admin-email", "", "email address of the first admin (default admin@localhost)")
	cmd.Flags().StringVar(&passwordFile, "admin-password-file", "", "`FILE` with the admin's password, 12 to 128 characters (default: a generated password)")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := s.load()
		if err != nil {
			return err
		}
		admin := app.Admin{Email: email}
		if passwordFile != "" {
			if admin.Password, err = readPassword(passwordFile); err != nil {
				return err
			}
		}
		log := slog.New(slog.NewTextHandler(st.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
		first, err := app.Init(cmd.Context(), cfg, app.Deps{Log: log}, admin)
		if err != nil {
			return err
		}
		if asJSON {
			err = st.printJSON(first)
		} else {
			st.printFirst(first)
		}
		if err != nil {
			return fmt.Errorf("print the secrets, which are still in %s: %w", instance.FirstStartPath(cfg.Data), err)
		}
		return os.Remove(instance.FirstStartPath(cfg.Data))
	}
	return cmd
}

func (st *stage) printFirst(first instance.First) {
	fmt.Fprintf(st.out, "user      %s\n", first.Email)
	if first.Password != "" {
		fmt.Fprintf(st.out, "password  %s\n", first.Password)
	}
	fmt.Fprintf(st.out, "API key   %s\n\nThese secrets are shown only once; store them now.\n", first.APIKey)
}
