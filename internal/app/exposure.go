package app

import (
	"cmp"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"keepsake/internal/cluster/redis"
	"keepsake/internal/config"
	"keepsake/internal/folder"
	"keepsake/internal/instance"
	"keepsake/internal/store/postgres"
)

// Exposure is a file or a setting that shows secrets, or what clients store, to others than the operator.
type Exposure struct {
	About string // data, master key, journal, database, file, tls or redis
	Text  string // what is wrong, and what is enough
}

// Exposures looks at the settings and at the files they name. What does not exist is not exposed.
func Exposures(cfg *config.Config) []Exposure {
	list := exposedFiles(cfg)
	if text := plainHTTP(cfg); text != "" {
		list = append(list, Exposure{"tls", text})
	}
	for _, database := range []struct{ setting, url string }{{"databaseUrl", cfg.DatabaseURL}, {"keysUrl", cfg.KeysURL}} {
		if database.url == "" {
			continue
		}
		if text := postgres.PlainText(database.url); text != "" {
			list = append(list, Exposure{"database", database.setting + ": " + text})
		}
	}
	if cfg.RedisURL != "" && redis.WithoutPassword(cfg.RedisURL) {
		list = append(list, Exposure{"redis", "redisUrl has no password: whoever reaches the server can change what was counted of limits"})
	}
	return list
}

// exposedFiles finds the folder, the files in it and the files named by settings that others can open.
func exposedFiles(cfg *config.Config) []Exposure {
	var list []Exposure
	if info, err := os.Stat(cfg.Data); err == nil && folder.Shared(info) {
		list = append(list, Exposure{"data", fmt.Sprintf("%s can be entered by others (mode %04o); 0700 is enough", cfg.Data, info.Mode().Perm())})
	}
	entries, _ := os.ReadDir(cfg.Data) // a folder that cannot be read stops the start
	for _, e := range entries {
		list = append(list, exposedFile(aboutFile(e.Name()), filepath.Join(cfg.Data, e.Name()))...)
	}
	for _, setting := range config.Settings() {
		if path := cfg.SecretFiles[setting.Path]; path != "" {
			list = append(list, exposedFile(cmp.Or(aboutSecret[setting.Path], "file"), path)...)
		}
	}
	if cfg.TLS.Key != "" {
		list = append(list, exposedFile("tls", cfg.TLS.Key)...)
	}
	return list
}

func exposedFile(about, path string) []Exposure {
	info, err := os.Stat(path)
	if err != nil || !folder.Shared(info) {
		return nil
	}
	enough := fs.FileMode(0o600)
	if info.IsDir() {
		enough = 0o700
	}
	return []Exposure{{about, fmt.Sprintf("%s can be read by others (mode %04o); %04o is enough", path, info.Mode().Perm(), enough)}}
}

// aboutSecret says what a secret's file is about.
var aboutSecret = map[string]string{"masterKey": "master key", "databaseUrl": "database", "keysUrl": "database", "redisUrl": "redis"}

// aboutFile says what a file of the data folder is about.
func aboutFile(name string) string {
	switch {
	case strings.HasPrefix(name, filepath.Base(instance.MasterKeyPath(""))):
		return "master key"
	case name == filepath.Base(instance.JournalPath("")):
		return "journal"
	case strings.Contains(name, ".db"):
		return "database"
	default:
		return "file"
	}
}

// plainHTTP says why clients may send keys and passwords in plain text; empty if they do not. A proxy that ends TLS is
// known by an https publicUrl or by trustedProxies.
func plainHTTP(cfg *config.Config) string {
	const remedy = "clients send keys and passwords in plain text; give tls.cert and tls.key, or the https address of a proxy as publicUrl"
	if cfg.TLS.Cert != "" {
		return ""
	}
	public, err := url.Parse(cfg.PublicURL)
	if err == nil && public.Scheme == "http" && !isLoopback(public.Hostname()) {
		return fmt.Sprintf("publicUrl %s is not https: %s", cfg.PublicURL, remedy)
	}
	host, _, err := net.SplitHostPort(cfg.Listen)
	if err != nil || isLoopback(host) || cfg.PublicURL != "" || len(cfg.TrustedProxies) > 0 {
		return ""
	}
	return fmt.Sprintf("other machines reach %s without TLS: %s", cfg.Listen, remedy)
}

// isLoopback reports whether only this machine reaches a host. An empty one is every address.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// warn logs what is exposed. The address is the one that was bound: an inherited socket has another than the setting.
func (a *App) warn() {
	if a.deps.Local {
		return
	}
	cfg := a.cfg
	cfg.Listen = a.primary.listener.Addr().String()
	for _, e := range Exposures(&cfg) {
		a.deps.Log.Warn("found an exposure", "about", e.About, "problem", e.Text)
	}
}
