//go:build !noconsole

package app

import (
	"cmp"
	"net/url"
	"runtime"
	"strconv"
	"strings"

	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/web/console"
)

// EffectiveSettings lists what this process was started with, as far as operators ask for it. It contains no secret: of an address with a
// password, only the host is listed.
func EffectiveSettings(cfg *config.Config, release string) []console.Setting {
	return []console.Setting{
		{Name: "Program", Value: programOf(release)},
		{Name: "Data folder", Value: cfg.Data, Path: "data"},
		{Name: "Database", Value: databaseOf(cfg), Path: "databaseUrl"},
		{Name: "Keys of people", Value: keysOf(cfg), Path: "keysUrl"},
		{Name: "Master key", Value: masterKeyOf(cfg), Path: "masterKey"},
		{Name: "Shared limits", Value: cmp.Or(hostOf(cfg.RedisURL), "without Redis"), Path: "redisUrl"},
		{Name: "Public address", Value: cmp.Or(cfg.PublicURL, "not set: links have the address of the request"), Path: "publicUrl"},
		{Name: "TLS", Value: tlsOf(cfg), Path: "tls.cert"},
		{Name: "Pages of other origins", Value: cmp.Or(strings.Join(cfg.CORS.Origins, ", "), "none can call the API"), Path: "cors.origins"},
		{Name: "Reads of memories are logged", Value: readsOf(cfg), Path: "audit.reads"},
		{Name: "Log of reads of memories", Value: daysKept(cfg.Audit.ReadRetentionDays, "kept for ever"), Path: "audit.readRetentionDays"},
		{Name: "Log of changes", Value: "kept for ever"},
		{Name: "Log of requests", Value: daysKept(cfg.Analytics.RequestLogDays, "off"), Path: "analytics.requestLogDays"},
		{Name: "Deliveries of webhooks", Value: daysKept(cfg.Webhooks.LogDays, ""), Path: "webhooks.logDays"},
		{Name: "OpenSearch", Value: cmp.Or(hostOf(cfg.Search.OpenSearch.URL), "none"), Path: "search.opensearch.url"},
		{Name: "Word vectors of recall", Value: cfg.Recall.Vectors, Path: "recall.vectors"},
		{Name: "Embeddings endpoint", Value: cmp.Or(hostOf(cfg.Embeddings.URL), "none"), Path: "embeddings.url"},
		{Name: "Traces", Value: cmp.Or(hostOf(cfg.Tracing.Endpoint), "none"), Path: "tracing.endpoint"},
	}
}

func programOf(release string) string {
	if release == "" || release == "(devel)" {
		return "an unreleased build, " + runtime.Version()
	}
	return release + ", " + runtime.Version()
}

// hostOf returns the host and the path of an address, without a user, a password and parameters; "" without an address.
func hostOf(address string) string {
	if address == "" {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "set"
	}
	return strings.TrimSuffix(u.Host+u.Path, "/")
}

func databaseOf(cfg *config.Config) string {
	if cfg.DatabaseURL == "" {
		return "SQLite files in the data folder"
	}
	return "PostgreSQL at " + hostOf(cfg.DatabaseURL)
}

func keysOf(cfg *config.Config) string {
	switch {
	case cfg.KeysURL != "":
		return "PostgreSQL at " + hostOf(cfg.KeysURL)
	case cfg.DatabaseURL != "":
		return "a schema of their own in the database"
	default:
		return "an SQLite file of their own in the data folder"
	}
}

func masterKeyOf(cfg *config.Config) string {
	switch path := cfg.SecretFiles["masterKey"]; {
	case path != "":
		return "from the file " + path
	case cfg.MasterKey != "":
		return "from the settings"
	default:
		return "from the file " + instance.MasterKeyPath(cfg.Data)
	}
}

func tlsOf(cfg *config.Config) string {
	if cfg.TLS.Cert == "" {
		return "no certificate: a proxy in front has one, or connections are not encrypted"
	}
	return "the certificate " + cfg.TLS.Cert
}

func readsOf(cfg *config.Config) string {
	if cfg.Audit.Reads == config.ReadsRelaxed {
		return "within a second after the response; a power failure can lose that second"
	}
	return "before the response is sent"
}

// daysKept says how long something is kept. none is the meaning of 0.
func daysKept(days int, none string) string {
	switch days {
	case 0:
		return none
	case 1:
		return "kept for 1 day"
	default:
		return "kept for " + strconv.Itoa(days) + " days"
	}
}
