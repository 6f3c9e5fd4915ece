package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"keepsake/internal/app"
	"keepsake/internal/config"
)

func serveCommand(st *stage) *cobra.Command {
	var demo bool
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the API", Args: cobra.NoArgs,
		Long: "Serves the API. Without any argument it uses ./keepsake-data, makes what is missing, and on the first start\n" +
			"says which key to begin with. Every setting is also read from --config and from the environment.",
	}
	s := settingFlags(st, cmd)
	cmd.Flags().BoolVar(&demo, "demo", false, "load a small sample of documents at first start")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := s.load()
		if err != nil {
			return err
		}
		return serve(cmd.Context(), st, cfg, demo)
	}
	return cmd
}

// serve runs the program until ctx ends.
func serve(ctx context.Context, st *stage, cfg config.Config, demo bool) (err error) {
	limitMemory(st.getenv("GOMEMLIMIT"))
	listeners, err := st.inherited()
	if err != nil {
		return err
	}
	a, err := app.New(ctx, cfg, app.Deps{Out: st.err, Version: thisBuild().Version, Demo: demo, Listeners: listeners})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if err := welcome(st, cfg, a); err != nil {
		return err
	}
	debug.FreeOSMemory() // hashing the first password took 19 MiB, which nothing needs again
	leavePages()
	return a.Run(ctx)
}

// welcome says where the API is and, at the first start, how to begin. Secrets are printed for a person alone; otherwise
// they stay in a file that only the owner can read, so that they end up in no log.
func welcome(st *stage, cfg config.Config, a *app.App) error {
	fmt.Fprintf(st.out, "Keepsake is ready at %s\n", a.PrimaryURL())
	path := app.FirstStartPath(cfg.Data)
	first, ok := a.First()
	if !ok || !st.tty {
		if exists(path) { // of this start, or of one whose secrets nobody has read yet
			fmt.Fprintf(st.out, "The first API key and password are in %s; read them and delete it.\n", path)
		}
		return nil
	}
	fmt.Fprintf(st.out, welcomeText, first.Email, first.Password, first.APIKey, a.PrimaryURL())
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove the secrets that were just shown: %w", err)
	}
	return nil
}

const welcomeText = `
  user      %[1]s
  password  %[2]s
  API key   %[3]s

Both secrets are shown this once. Store a document and find it again:

  curl -X PUT %[4]s/api/v1/documents/hello -H 'X-API-Key: %[3]s' \
    -H 'Content-Type: application/json' -d '{"title":"Hello","text":"A keepsake is kept to remember."}'

  curl '%[4]s/api/v1/search?q=remember' -H 'X-API-Key: %[3]s'

`
