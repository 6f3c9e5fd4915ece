package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"keepsake/client"
	"keepsake/internal/app"
	"keepsake/internal/config"
	"keepsake/internal/instance"
)

// placeSettings are the settings that say where an instance lies.
var placeSettings = []string{"data", "databaseUrl", "keysUrl"}

// target is what a command works on: a server somewhere, or a data folder on this machine, perhaps beside a database.
type target struct {
	st       *stage
	here     bool // only a data folder on this machine
	url, key string
	settings *settings
}

// targetFlags adds --url and --key, the flags of where an instance lies and of more settings, and --config.
func targetFlags(st *stage, cmd *cobra.Command, more ...string) *target {
	t := &target{st: st}
	t.settings = settingFlags(st, cmd, append(more, placeSettings...)...)
	cmd.Flags().StringVar(&t.url, "url", "", "`URL` of a running server (KEEPSAKE_URL; with only --key: "+localURL+")")
	cmd.Flags().StringVar(&t.key, "key", "", "API `KEY` for the server; prefer KEEPSAKE_KEY or KEEPSAKE_KEY_FILE")
	for _, place := range []string{"data", "database-url", "keys-url"} {
		cmd.MarkFlagsMutuallyExclusive("url", place)
		cmd.MarkFlagsMutuallyExclusive("key", place)
	}
	if len(more) == 0 {
		markConnectionFlags(cmd)
	}
	return t
}

// localFlags is targetFlags for what only the operator of the machine may do: without --url and --key.
func localFlags(st *stage, cmd *cobra.Command) *target {
	t := &target{st: st, here: true, settings: settingFlags(st, cmd, placeSettings...)}
	markConnectionFlags(cmd)
	return t
}

// localURL is where a server listens that was given no address.
const localURL = "http://localhost:8080"

// remote reports the address of a server and the key for it, or "" when a data folder is meant: --data or --database-url
// says so, and it is what is meant when nothing is said.
func (t *target) remote() (address, key string, err error) {
	if flags := t.settings.cmd.Flags(); t.here || flags.Changed("data") || flags.Changed("database-url") {
		return "", "", nil
	}
	address = t.url
	if address == "" {
		address = t.st.getenv("KEEPSAKE_URL")
	}
	if address == "" && t.key != "" {
		address = localURL
	}
	if address == "" {
		return "", "", nil
	}
	key, err = t.st.apiKey(t.key)
	return address, key, err
}

// open gives a client for the target. For a data folder it goes through the socket of the server that holds it; where
// no server does, the same program is started in this process without network listeners, and done stops it.
func (t *target) open(ctx context.Context) (c *client.Client, done func() error, err error) {
	address, key, err := t.remote()
	if err != nil {
		return nil, nil, err
	}
	agent, follow := client.UserAgent("keepsake/"+thisBuild().Version), client.FollowVersions()
	if address != "" {
		c, err := client.New(address, key, agent, follow)
		return c, func() error { return nil }, err
	}
	cfg, err := t.settings.load()
	if err != nil {
		return nil, nil, err
	}
	socket := instance.SocketPath(cfg.Data)
	for range 50 { // a server that is just starting holds the folder before it answers: up to 5 s
		if client.SocketAnswers(ctx, socket) {
			return client.OverSocket(socket, agent, follow), func() error { return nil }, nil
		}
		done, err = t.startLocal(ctx, cfg)
		if !errors.Is(err, instance.ErrInUse) {
			break
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return nil, nil, err
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return client.OverSocket(socket, agent, follow), done, nil
}

// startLocal starts the program on a data folder without network listeners.
func (t *target) startLocal(ctx context.Context, cfg config.Config) (done func() error, err error) {
	log := slog.New(slog.NewTextHandler(t.st.err, &slog.HandlerOptions{Level: slog.LevelError}))
	a, err := app.New(ctx, cfg, app.Deps{Log: log, Local: true})
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- a.Run(running) }()
	return func() error {
		stop()
		return errors.Join(<-ended, a.Close())
	}, nil
}

// getenv reads one of the variables that are not settings.
func (st *stage) getenv(name string) string {
	for _, pair := range st.env {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// apiKey finds the key for a server: the flag, else KEEPSAKE_KEY, else the file KEEPSAKE_KEY_FILE names, else none.
func (st *stage) apiKey(flag string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	if key := st.getenv("KEEPSAKE_KEY"); key != "" {
		return key, nil
	}
	path := st.getenv("KEEPSAKE_KEY_FILE")
	if path == "" {
		return "", nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the API key: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// with runs fn on a client for the target and closes what was opened for it.
func (t *target) with(ctx context.Context, fn func(c *client.Client) error) error {
	c, done, err := t.open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(fn(c), done())
}
