package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"keepsake/internal/app"
	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
)

func serveCommand(st *stage) *cobra.Command {
	var demo bool
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the API", Args: noArguments,
		Long: "Serves the API. Without arguments it uses the folder ./keepsake-data, creates what is missing and prints the first API key.\n" +
			"`keepsake help settings` lists all settings; each can come from --config, the environment or a flag.",
		Example: "  keepsake serve\n" +
			"  keepsake serve --demo --listen :9000\n" +
			"  keepsake serve --database-url postgres://keepsake@db/keepsake --redis-url redis://redis:6379",
	}
	s := settingFlags(st, cmd)
	cmd.Flags().BoolVar(&demo, "demo", false, "load sample documents at the first start")
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
	if err := st.detach(cfg.Log); err != nil {
		return err
	}
	defer st.flush()
	if problem := kernelProblem(kernelRelease()); problem != "" {
		st.log.Warn("the system is too old", "problem", problem)
	}
	hangups, release := catchHangups() // from here on, so that one during a long start does not end the process
	defer release()
	deps := app.Deps{Log: st.log, DroppedLogLines: st.lostLines, Version: thisBuild().Version, Demo: demo, Listeners: listeners}
	a, err := app.New(ctx, cfg, deps)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if err := welcome(ctx, st, cfg, a, demo); err != nil {
		return err
	}
	debug.FreeOSMemory() // hashing the first password took 19 MiB, which nothing needs again
	leavePages()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go reloadOn(ctx, hangups, a)
	return a.Run(ctx)
}

// catchHangups keeps SIGHUP from ending the process, until release.
func catchHangups() (hangups <-chan os.Signal, release func()) {
	c := make(chan os.Signal, 1) // one is enough for any number of signals
	signal.Notify(c, syscall.SIGHUP)
	return c, func() { signal.Stop(c) }
}

// reloadOn reads the certificate again at each SIGHUP, until ctx ends.
func reloadOn(ctx context.Context, hangups <-chan os.Signal, a *app.App) {
	for {
		select {
		case <-hangups:
			a.Reload()
		case <-ctx.Done():
			return
		}
	}
}

// welcome prints where the API is, how to begin at the first start, and how to create another API key. It prints secrets
// only on a terminal; otherwise they stay in a file that only its owner can read, so that they reach no log.
func welcome(ctx context.Context, st *stage, cfg config.Config, a *app.App, demo bool) error {
	fmt.Fprintf(st.out, "Keepsake is ready at %s\n", a.PrimaryAddress())
	if a.AIURL() != a.PrimaryURL() {
		fmt.Fprintf(st.out, "The AI services are at %s\n", a.AIURL())
	}
	path := instance.FirstStartPath(cfg.Data)
	first, ok := a.First()
	switch {
	case ok && st.tty:
		link, err := a.SetupLink(ctx)
		if err != nil {
			return fmt.Errorf("create the setup link: %w", err)
		}
		if link != "" {
			fmt.Fprintf(st.out, setupText, link)
		}
		fmt.Fprintf(st.out, welcomeText, first.Email, first.Password, first.APIKey, a.PrimaryURL())
		if !st.flush() {
			st.log.Warn("keeping the file with the first API key and password, because the terminal did not show them", "file", path)
			break
		}
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("remove the secrets that were just shown: %w", err)
		}
	case exists(path): // of this start or an earlier one
		fmt.Fprintf(st.out, "The first API key and password are in %s; read and delete the file.\n", path)
	}
	if demo && !ok {
		fmt.Fprintln(st.out, "--demo loaded nothing, because this is not the first start; the samples need a new instance, such as --data DIR of a new folder.")
	}
	fmt.Fprintf(st.out, "To create another API key: keepsake keys create --name NAME --scopes read,write --data %s\n", cfg.Data)
	st.flush() // so that it stands before the log
	return nil
}

const setupText = `
Open this link in a browser within an hour to choose your password. It works once, and your password replaces the one below.

  %s
`

const welcomeText = `
  user      %[1]s
  password  %[2]s
  API key   %[3]s

The password and the key are shown only once. Store a document and find it again:

  curl -X PUT %[4]s/api/v1/documents/hello -H 'X-API-Key: %[3]s' \
    -H 'Content-Type: application/json' -d '{"title":"Hello","text":"A keepsake is kept to remember."}'

  curl '%[4]s/api/v1/search?q=remember' -H 'X-API-Key: %[3]s'

Remember something about a person, and recall it:

  curl %[4]s/api/v1/memories -H 'X-API-Key: %[3]s' \
    -H 'Content-Type: application/json' -d '{"subjectId":"p-4711","text":"Prefers tea to coffee."}'

  curl %[4]s/api/v1/memories/recall -H 'X-API-Key: %[3]s' \
    -H 'Content-Type: application/json' -d '{"subjectId":"p-4711","query":"Which drink does she prefer?"}'

`
