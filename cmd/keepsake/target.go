package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"keepsake/client"
	"keepsake/internal/app"
	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/base/secretfile"
	"keepsake/internal/web/api/mcp"
)

// placeSettings are the settings that locate an instance.
var placeSettings = []string{"data", "databaseUrl", "keysUrl", "masterKey"}

// target is the instance that a command works on: a server, or a data folder on this machine with its database.
type target struct {
	st       *stage
	here     bool // only a data folder on this machine
	url, key string
	settings *settings
}

// targetFlags adds --url, --key, --config, and the flags of placeSettings and of more settings.
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

// localFlags is targetFlags without --url and --key, for commands of the operator of the machine.
func localFlags(st *stage, cmd *cobra.Command) *target {
	t := &target{st: st, here: true, settings: settingFlags(st, cmd, placeSettings...)}
	markConnectionFlags(cmd)
	return t
}

// localURL is the default address of a server.
const localURL = "http://localhost:8080"

// remote returns the address of a server and the key for it. The address is "" for a data folder, which is the default and
// which --data and --database-url select.
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
	return serverAddress(address), key, err
}

// serverAddress returns the address of a server, which can be given as that of its tools for agents.
func serverAddress(address string) string {
	return strings.TrimRight(strings.TrimSuffix(strings.TrimRight(address, "/"), mcp.Path), "/")
}

// open returns a client for the target. For a data folder, it uses the socket of the server that serves the folder. If none
// does, open starts the program in this process without network listeners, and done stops it.
func (t *target) open(ctx context.Context) (c *client.Client, done func() error, err error) {
	address, key, err := t.remote()
	if err != nil {
		return nil, nil, err
	}
	agent, follow := client.UserAgent(thisBuild().agent()), client.FollowVersions()
	if address != "" {
		if key != "" && inTheClear(address) {
			fmt.Fprintln(t.st.err, "warning: the API key and all texts are sent to another machine unencrypted; use an https:// address")
		}
		c, err := client.New(address, key, agent, follow)
		return c, func() error { return nil }, err
	}
	cfg, err := t.settings.load()
	if err != nil {
		return nil, nil, err
	}
	socket := instance.SocketPath(cfg.Data)
	for range 50 { // a starting server locks the folder before it answers; wait up to 5 s
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
	if errors.Is(err, instance.ErrNotInitialised) && !t.settings.cmd.Flags().Changed("data") {
		err = fmt.Errorf("%w; for a running server, add --url %s or set KEEPSAKE_URL", err, localURL)
	}
	if err != nil {
		return nil, nil, err
	}
	return client.OverSocket(socket, agent, follow), done, nil
}

// inTheClear reports whether what is sent to an address can be read on its way to another machine.
func inTheClear(address string) bool {
	u, err := url.Parse(address)
	if err != nil || !strings.EqualFold(u.Scheme, "http") {
		return false
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if ip, err := netip.ParseAddr(host); err == nil {
		return !ip.Unmap().IsLoopback()
	}
	return host != "localhost" && !strings.HasSuffix(host, ".localhost")
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

// getenv reads an environment variable that is not a setting.
func (st *stage) getenv(name string) string {
	for _, pair := range st.env {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// apiKey returns the key for a server: from the flag, from KEEPSAKE_KEY, or from the file in KEEPSAKE_KEY_FILE; else "".
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
	key, err := secretfile.ReadToken(path)
	if err != nil {
		return "", fmt.Errorf("read the API key: %w", err)
	}
	return key, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// with runs fn with a client for the target, and closes what it opened.
func (t *target) with(ctx context.Context, fn func(c *client.Client) error) error {
	c, done, err := t.open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(fn(c), done())
}
