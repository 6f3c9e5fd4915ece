package main

import (
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"keepsake/internal/app"
)

func initCommand(st *stage) *cobra.Command {
	var (
		email, passwordFile string
		asJSON              bool
	)
	cmd := &cobra.Command{
		Use: "init", Short: "Make an instance without serving it", Args: cobra.NoArgs,
		Long: "Makes the data folder with its workspace, its admin and a key with all scopes, and prints the secrets this once.\n" +
			"With --database-url the instance is made in that database, and the folder beside it keeps its master key.\n" +
			"What is initialised already is left as it is; the exit code is 3 then.",
	}
	s := settingFlags(st, cmd, placeSettings...)
	cmd.Flags().StringVar(&email, "admin-email", "", "email of the first admin (admin@localhost)")
	cmd.Flags().StringVar(&passwordFile, "admin-password-file", "", "`FILE` with the admin's password, 12 to 128 characters; left out, one is made")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := s.load()
		if err != nil {
			return err
		}
		admin := app.Admin{Email: email}
		if passwordFile != "" {
			text, err := os.ReadFile(passwordFile)
			if err != nil {
				return fmt.Errorf("read the admin's password: %w", err)
			}
			admin.Password = strings.TrimRight(string(text), "\r\n")
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
			return fmt.Errorf("print the secrets, which are still in %s: %w", app.FirstStartPath(cfg.Data), err)
		}
		return os.Remove(app.FirstStartPath(cfg.Data))
	}
	return cmd
}

func (st *stage) printFirst(first app.First) {
	fmt.Fprintf(st.out, "user      %s\n", first.Email)
	if first.Password != "" {
		fmt.Fprintf(st.out, "password  %s\n", first.Password)
	}
	fmt.Fprintf(st.out, "API key   %s\n\nSecrets are shown this once.\n", first.APIKey)
}
