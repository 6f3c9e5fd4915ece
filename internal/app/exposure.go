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

	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/base/folder"
	"keepsake/internal/store/cluster/redis"
	"keepsake/internal/store/postgres"
	"keepsake/internal/web/api/local"
)

// Exposure is a file or a setting that reveals secrets or stored data to others than the operator.
type Exposure struct {
	About string // data, master key, backend secret, journal, database, file, tls, backend or redis
	Text  string // the problem, and what would be safe
}

// Exposures checks the settings and the files that they name. It ignores missing files.
func Exposures(cfg *config.Config) []Exposure {
	list := exposedFiles(cfg)
	if text := plainHTTP(cfg); text != "" {
		list = append(list, Exposure{"tls", text})
	}
	if host, _, err := net.SplitHostPort(cfg.BackendListen); err == nil && isPublic(host) {
		list = append(list, Exposure{"backend", fmt.Sprintf(
			"other machines on the internet reach the backend listener at %s, which has no TLS; choose an address of a private network as backendListen", cfg.BackendListen)})
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
		list = append(list, Exposure{"redis", "redisUrl has no password: anyone who reaches the server can change rate-limit counters"})
	}
	return list
}

// exposedFiles returns the data folder, the files in it and the files of settings, if others can open them.
func exposedFiles(cfg *config.Config) []Exposure {
	var list []Exposure
	if info, err := os.Stat(cfg.Data); err == nil && folder.Shared(info) {
		list = append(list, Exposure{"data", fmt.Sprintf("%s can be entered by others (mode %04o); 0700 is enough", cfg.Data, info.Mode().Perm())})
	}
	entries, _ := os.ReadDir(cfg.Data) // an unreadable folder prevents the start anyway
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

// aboutSecret maps a setting to Exposure.About.
var aboutSecret = map[string]string{
	"masterKey": "master key", "databaseUrl": "database", "keysUrl": "database", "redisUrl": "redis", "backend.secret": "backend secret",
}

// aboutFile returns Exposure.About of a file in the data folder.
func aboutFile(name string) string {
	switch {
	case strings.HasPrefix(name, filepath.Base(instance.MasterKeyPath(""))):
		return "master key"
	case name == filepath.Base(instance.BackendSecretPath("")):
		return "backend secret"
	case name == filepath.Base(instance.JournalPath("")):
		return "journal"
	case strings.Contains(name, ".db"):
		return "database"
	default:
		return "file"
	}
}

// plainHTTP returns why clients would send keys and passwords in plain text, or "". An https publicUrl or trustedProxies
// indicates a proxy that terminates TLS.
func plainHTTP(cfg *config.Config) string {
	const remedy = "clients send keys and passwords in plain text; give tls.cert and tls.key, or the https address of a proxy as publicUrl"
	if cfg.TLS.Cert != "" {
		return ""
	}
	public, err := url.Parse(cfg.PublicURL)
	if err == nil && public.Scheme == "http" && !isLoopback(public.Hostname()) {
		return fmt.Sprintf("publicUrl %s is not https: %s", cfg.PublicURL, remedy)
	}
	if cfg.PublicURL != "" || len(cfg.TrustedProxies) > 0 {
		return ""
	}
	for _, address := range []string{cfg.Listen, cfg.AIListen} {
		if _, socket := config.SocketPath(address); socket {
			continue
		}
		if host, _, err := net.SplitHostPort(address); err == nil && !isLoopback(host) {
			return fmt.Sprintf("other machines reach %s without TLS: %s", address, remedy)
		}
	}
	return ""
}

// isLoopback reports whether a host is only reachable from this machine. An empty host means every address.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// isPublic reports whether a host is an address on the public internet.
func isPublic(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsGlobalUnicast() && !ip.Unmap().IsPrivate()
}

// warn logs exposures.
func (a *App) warn() {
	for _, e := range a.exposures() {
		a.deps.Log.Warn("found an exposure", "about", e.About, "problem", e.Text)
	}
}

// exposures returns the exposures of the running program. They use the bound addresses, because an inherited socket can differ
// from the setting.
func (a *App) exposures() []Exposure {
	if a.deps.Local {
		return nil
	}
	cfg := a.cfg
	cfg.Listen = a.primary.setting()
	if a.agents != nil {
		cfg.AIListen = a.agents.setting()
	}
	return Exposures(&cfg)
}

// exposed returns the exposures as warnings: only this process knows all of its settings.
func (a *App) exposed() []local.Warning {
	var list []local.Warning
	if a.services.instance.JournalLost {
		list = append(list, local.Warning{About: "journal", Text: instance.JournalLost, At: a.deps.Now()})
	}
	for _, e := range a.exposures() {
		list = append(list, local.Warning{About: e.About, Text: e.Text, At: a.deps.Now()})
	}
	return list
}

// listening returns the network listeners.
func (a *App) listening() []local.Listener {
	var list []local.Listener
	for _, l := range []*listener{a.primary, a.backend, a.agents} {
		if l != nil {
			list = append(list, local.Listener{Name: l.name, URL: l.address()})
		}
	}
	return list
}
