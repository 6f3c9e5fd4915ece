package app_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"keepsake/internal/app"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
)

// abouts are what the exposures of a configuration are about, each once, in order.
func abouts(cfg *config.Config) []string {
	var list []string
	for _, e := range app.Exposures(cfg) {
		list = append(list, e.About)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func TestSettingsThatSendPlainTextAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		change func(*config.Config)
		want   string // empty: nothing
	}{
		{func(c *config.Config) {}, "tls"}, // :8080
		{func(c *config.Config) { c.Listen = "0.0.0.0:80" }, "tls"},
		{func(c *config.Config) { c.Listen = "[::]:80" }, "tls"},
		{func(c *config.Config) { c.Listen = "192.0.2.1:80" }, "tls"},
		{func(c *config.Config) { c.Listen = "search.example.org:80" }, "tls"},
		{func(c *config.Config) { c.Listen = "127.0.0.1:80" }, ""},
		{func(c *config.Config) { c.Listen = "[::1]:80" }, ""},
		{func(c *config.Config) { c.Listen = "localhost:80" }, ""},
		{func(c *config.Config) { c.Listen, c.AIListen = "127.0.0.1:80", ":82" }, "tls"},
		{func(c *config.Config) { c.Listen, c.AIListen = "127.0.0.1:80", "127.0.0.1:82" }, ""},
		{func(c *config.Config) { c.TLS = config.TLS{Cert: "cert.pem", Key: "key.pem"} }, ""},
		{func(c *config.Config) { c.PublicURL = "https://search.example.org" }, ""}, // a proxy in front
		{func(c *config.Config) { c.PublicURL = "http://search.example.org" }, "tls"},
		{func(c *config.Config) { c.Listen, c.PublicURL = "127.0.0.1:80", "http://search.example.org" }, "tls"},
		{func(c *config.Config) { c.PublicURL = "http://localhost:8080" }, ""},
		{func(c *config.Config) { *c = database("postgres://keepsake:secret@db.example.org/keepsake") }, "database"},
		{func(c *config.Config) {
			*c = database("postgres://keepsake:secret@db.example.org/keepsake?sslmode=prefer")
		}, "database"},
		{func(c *config.Config) {
			*c = database("postgres://keepsake:secret@db.example.org/keepsake?sslmode=allow")
		}, "database"},
		{func(c *config.Config) {
			*c = database("postgres://keepsake:secret@db.example.org/keepsake?sslmode=disable")
		}, "database"},
		{func(c *config.Config) {
			*c = database("postgres://keepsake:secret@db.example.org/keepsake?sslmode=require")
		}, ""},
		{func(c *config.Config) {
			*c = database("postgres://keepsake:secret@db.example.org/keepsake?sslmode=verify-full")
		}, ""},
		{func(c *config.Config) { *c = database("postgres://keepsake@127.0.0.1/keepsake") }, "database"},
		{func(c *config.Config) { *c = database("postgres://keepsake@127.0.0.1/keepsake?sslmode=disable") }, ""},
		{func(c *config.Config) { *c = database("postgres://keepsake@/keepsake?host=/run/postgresql") }, ""},
		{func(c *config.Config) {
			*c = database("postgres://keepsake@/keepsake?host=/run/postgresql")
			c.KeysURL = "postgres://keepsake@keys.example.org/keys"
		}, "database"},
		{func(c *config.Config) { c.Listen, c.RedisURL = "127.0.0.1:80", "redis://cache.example.org:6379" }, "redis"},
		{func(c *config.Config) { c.Listen, c.RedisURL = "127.0.0.1:80", "rediss://keepsake@127.0.0.1:6379" }, "redis"},
		{func(c *config.Config) {
			c.Listen, c.RedisURL = "127.0.0.1:80", "redis://:secret@cache.example.org:6379"
		}, ""},
		{func(c *config.Config) { c.Listen, c.RedisURL = "127.0.0.1:80", "unix:///run/redis.sock" }, ""},
		{func(c *config.Config) { c.Listen, c.BackendListen = "127.0.0.1:80", "192.0.2.1:81" }, "backend"},
		{func(c *config.Config) { c.Listen, c.BackendListen = "127.0.0.1:80", "10.0.0.1:81" }, ""},
		{func(c *config.Config) { c.Listen, c.BackendListen = "127.0.0.1:80", ":81" }, ""},
	} {
		cfg := config.Default()
		cfg.Data = filepath.Join(t.TempDir(), "absent")
		c.change(&cfg)
		if got := strings.Join(abouts(&cfg), " "); got != c.want {
			t.Errorf("listen %s, public %s, databases %s %s, redis %s: got %q, want %q",
				cfg.Listen, cfg.PublicURL, cfg.DatabaseURL, cfg.KeysURL, cfg.RedisURL, got, c.want)
		}
		for _, e := range app.Exposures(&cfg) {
			if strings.Contains(e.Text, "secret") {
				t.Errorf("a password is in %q", e.Text)
			}
		}
	}
}

func database(url string) config.Config {
	cfg := config.Default()
	cfg.Data, cfg.Listen, cfg.DatabaseURL = "absent", "127.0.0.1:80", url
	return cfg
}

func TestFilesThatOthersCanReadAreNamed(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes of files say nothing about access there")
	}
	cfg := apptest.Local(t, filepath.Join(t.TempDir(), "d"))
	a, err := app.New(t.Context(), cfg, silent())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	elsewhere := filepath.Join(t.TempDir(), "master")
	if err := os.WriteFile(elsewhere, []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg.SecretFiles = map[string]string{"masterKey": elsewhere}
	if got := abouts(&cfg); len(got) != 0 {
		t.Errorf("a folder as it is made: %v", got)
	}
	for path, about := range map[string]string{
		cfg.Data:                             "data",
		instance.MasterKeyPath(cfg.Data):     "master key",
		instance.BackendSecretPath(cfg.Data): "backend secret",
		instance.JournalPath(cfg.Data):       "journal",
		instance.FirstStartPath(cfg.Data):    "file",
		filepath.Join(cfg.Data, "keys.db"):   "database",
		filepath.Join(cfg.Data, "usage.db"):  "database",
		elsewhere:                            "master key",
	} {
		info, err := os.Stat(path)
		if os.IsNotExist(err) && apptest.OnPostgres(t) {
			continue // the databases are not in the folder
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, more := range []os.FileMode{0o040, 0o004} {
			if err := os.Chmod(path, info.Mode().Perm()|more); err != nil {
				t.Fatal(err)
			}
			got := app.Exposures(&cfg)
			if len(got) != 1 || got[0].About != about || !strings.HasPrefix(got[0].Text, path+" can be ") {
				t.Errorf("%s with mode +%o: got %+v, want one about %s", path, more, got, about)
			}
		}
		if err := os.Chmod(path, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStartLogsExposures(t *testing.T) {
	t.Parallel()
	var log apptest.Buffer
	cfg := apptest.Local(t, filepath.Join(t.TempDir(), "d"))
	cfg.PublicURL = "http://search.example.org"
	a, err := app.New(t.Context(), cfg, app.Deps{Out: &log, MinTimeout: silent().MinTimeout, PasswordCost: silent().PasswordCost})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := a.Run(ctx); err != nil {
		t.Fatal(err)
	}
	serving, warned, _ := strings.Cut(log.String(), `"level":"WARN","msg":"found an exposure","about":"tls"`)
	if !strings.Contains(serving, `"msg":"serving"`) || warned == "" {
		t.Errorf("logged %s", log.String())
	}
}
