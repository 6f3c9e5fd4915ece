package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/idna"

	"keepsake/internal/base/serverurl"
	"keepsake/internal/govern/limit"
)

// check writes addresses in their normal form, and refuses what would only fail later, or would not fail and not do what was
// meant. Each mistake names its setting.
func (c *Config) check() error {
	wrong := func(setting, reason string, args ...any) error {
		return &Error{Setting: setting, Reason: fmt.Sprintf(reason, args...)}
	}
	if c.Data == "" {
		return wrong("data", "must name a folder")
	}
	if strings.Contains(c.Data, "://") {
		return wrong("data", "must name a folder; databaseUrl is for the address of a database")
	}
	for _, a := range []struct{ setting, address string }{{"listen", c.Listen}, {"backendListen", c.BackendListen}, {"aiListen", c.AIListen}} {
		if a.setting == "aiListen" && a.address == "" {
			continue // the AI services are on the listener of the API
		}
		if path, ok := SocketPath(a.address); ok {
			if !filepath.IsAbs(path) {
				return wrong(a.setting, "%q is not the address of a socket such as unix:/run/keepsake/api.sock", a.address)
			}
			continue
		}
		if _, _, err := net.SplitHostPort(a.address); err != nil {
			return wrong(a.setting, "%q is not an address such as :8080, 127.0.0.1:8080 or unix:/run/keepsake/api.sock", a.address)
		}
	}
	if c.PublicURL != "" {
		public, ok := baseURL(c.PublicURL)
		if !ok {
			return wrong("publicUrl", "%s is not an address such as https://search.example.org or https://example.org/keepsake", shown(c.PublicURL, "it"))
		}
		c.PublicURL = public
	}
	if err := c.checkServers(); err != nil {
		return err
	}
	if strings.ContainsFunc(c.Backend.Secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return wrong("backend.secret", "must have only printable ASCII characters and no spaces: it is sent in a header")
	}
	if c.TLS.Cert == "" && c.TLS.Key != "" {
		return wrong("tls.cert", "is missing beside tls.key")
	}
	if c.TLS.Key == "" && c.TLS.Cert != "" {
		return wrong("tls.key", "is missing beside tls.cert")
	}
	for i, text := range c.CORS.Origins {
		origin, ok := baseURL(text)
		if !ok || strings.Count(origin, "/") > 2 {
			return wrong("cors.origins", "%s is not an origin such as https://app.example.org", shown(text, "an entry"))
		}
		c.CORS.Origins[i] = origin
	}
	if _, err := c.Log.SlogLevel(); err != nil {
		return err
	}
	for _, n := range []struct {
		setting string
		value   int
	}{
		{"limits.connections", c.Limits.Connections},
		{"limits.inFlight", c.Limits.InFlight},
		{"limits.addresses", c.Limits.Addresses},
		{"index.open", c.Index.Open},
		{"memory.cache", c.Memory.Cache},
	} {
		if n.value < 1 {
			return wrong(n.setting, "must be at least 1")
		}
	}
	if c.Search.DiskBudget < 0 {
		return wrong("search.diskBudget", "must not be negative")
	}
	if c.Limits.RedisWait < time.Millisecond || c.Limits.RedisWait > time.Minute {
		return wrong("limits.redisWait", "must be from 1ms to 1m")
	}
	if c.Shutdown.Grace < 0 {
		return wrong("shutdown.grace", "must not be negative")
	}
	if c.Shutdown.Delay < 0 {
		return wrong("shutdown.delay", "must not be negative")
	}
	if c.Cluster.NewsPatience < time.Second {
		return wrong("cluster.newsPatience", "must be at least 1s: others are asked for news four times a second")
	}
	if c.Cluster.StartTimeout <= 0 {
		return wrong("cluster.startTimeout", "must be more than 0")
	}
	if c.Recall.Vectors == "" {
		return wrong("recall.vectors", "must be on, off or the name of a file")
	}
	if c.Audit.Reads != "durable" && c.Audit.Reads != ReadsRelaxed {
		return wrong("audit.reads", "%q is not durable or relaxed", c.Audit.Reads)
	}
	if days := c.Audit.ReadRetentionDays; days < 0 || days > maxRetentionDays {
		return wrong("audit.readRetentionDays", "must be from 0 to %d, where 0 keeps reads for ever", maxRetentionDays)
	}
	if days := c.Analytics.RequestLogDays; days < 0 || days > maxRequestLogDays {
		return wrong("analytics.requestLogDays", "must be from 0 to %d, where 0 turns the log of requests off", maxRequestLogDays)
	}
	if days := c.Webhooks.LogDays; days < 4 || days > maxRetentionDays {
		return wrong("webhooks.logDays", "must be from 4 to %d: retries last three days", maxRetentionDays)
	}
	if err := c.checkSearch(); err != nil {
		return err
	}
	if err := c.checkEmbeddings(); err != nil {
		return err
	}
	if err := c.checkTracing(); err != nil {
		return err
	}
	if err := c.checkTraffic(); err != nil {
		return err
	}
	return c.checkTiers()
}

// maxModel is the length of the name of a model.
const maxModel = 200

// checkEmbeddings never quotes the URL, because it can contain a password, and never the key.
func (c *Config) checkEmbeddings() error {
	e := &c.Embeddings
	wrong := func(setting, reason string) error { return &Error{Setting: "embeddings." + setting, Reason: reason} }
	printable := func(text string) bool {
		return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
	}
	if e.DailyTexts < 1 || e.DailyTexts > maxDailyTexts {
		return wrong("dailyTexts", fmt.Sprintf("must be from 1 to %d", int64(maxDailyTexts)))
	}
	if e.Patience < 10*time.Millisecond || e.Patience > 2*time.Second {
		return wrong("patience", "must be from 10ms to 2s")
	}
	if e.URL == "" {
		if e.Model != "" || e.Key != "" {
			return wrong("url", "is missing beside embeddings.model or embeddings.key")
		}
		return nil
	}
	u, err := url.Parse(e.URL)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.User != nil, u.RawQuery != "", u.Fragment != "", !printable(e.URL):
		return wrong("url", "is not an address such as https://api.openai.com/v1, without a password or a query")
	case u.Scheme == "http" && !e.AllowPrivate:
		return wrong("url", "must begin with https:// unless embeddings.allowPrivate is set: texts of people must not cross the internet in the clear")
	case e.Model == "":
		return wrong("model", "is missing beside embeddings.url")
	case len(e.Model) > maxModel || !printable(e.Model):
		return wrong("model", fmt.Sprintf("must have at most %d printable ASCII characters and no spaces", maxModel))
	case !printable(e.Key):
		return wrong("key", "must have only printable ASCII characters and no spaces: it is sent in a header")
	}
	return nil
}

// maxDailyTexts keeps sums far from overflow.
const maxDailyTexts = 1 << 40

// checkTracing never quotes the endpoint, because it can contain a password.
func (c *Config) checkTracing() error {
	t := &c.Tracing
	if u, err := url.Parse(t.Endpoint); t.Endpoint != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return &Error{Setting: "tracing.endpoint", Reason: "is not an address such as http://localhost:4318"}
	}
	if t.Headers != "" && t.Endpoint == "" {
		return &Error{Setting: "tracing.headers", Reason: "is of use only together with tracing.endpoint"}
	}
	if !(t.Sample >= 0 && t.Sample <= 1) { // also refuses NaN
		return &Error{Setting: "tracing.sample", Reason: "must be from 0 to 1"}
	}
	return nil
}

const maxRequestLogDays = 366

// maxTrafficDays is lifecycle.MaxDays.
const maxTrafficDays = 60

// checkTraffic refuses thresholds that any traffic, or none, would reach.
func (c *Config) checkTraffic() error {
	t := &c.Lifecycle.Traffic
	for _, n := range []struct {
		setting         string
		value, min, max int64
	}{
		{"days", int64(t.Days), 1, maxTrafficDays},
		{"percent", t.Percent, 1, 100},
		{"keys", t.Keys, 1, 1_000_000},
		{"keysPercent", t.KeysPercent, 0, 100},
		{"keyRequests", t.KeyRequests, 1, 1_000_000_000},
		{"keyDays", int64(t.KeyDays), 1, int64(t.Days)},
	} {
		if n.value < n.min || n.value > n.max {
			return &Error{Setting: "lifecycle.traffic." + n.setting, Reason: fmt.Sprintf("must be from %d to %d", n.min, n.max)}
		}
	}
	return nil
}

const maxRetentionDays = 36_500

// checkServers refuses addresses that cannot be of what they should be. None of them is ever in an error: most hold a
// password, and the parser's own error quotes all of it.
func (c *Config) checkServers() error {
	for _, s := range []struct {
		setting, address, example string
		schemes                   []string
	}{
		{"databaseUrl", c.DatabaseURL, "postgres://db.example.org/keepsake", postgresSchemes},
		{"keysUrl", c.KeysURL, "postgres://keepsake@keys.example.org/keepsake", postgresSchemes},
		{"redisUrl", c.RedisURL, "redis://cache.example.org:6379", []string{"redis", "rediss", "unix"}},
	} {
		if s.address == "" {
			continue
		}
		switch err := serverurl.Check(s.address, s.schemes...); {
		case errors.Is(err, serverurl.ErrEncode):
			return &Error{Setting: s.setting, Reason: err.Error()}
		case err != nil:
			return &Error{Setting: s.setting, Reason: "is not an address such as " + s.example}
		}
		if c.DatabaseURL == "" {
			return &Error{Setting: s.setting, Reason: "is of use only together with databaseUrl"}
		}
	}
	return nil
}

var postgresSchemes = []string{"postgres", "postgresql"}

func (c *Config) checkTiers() error {
	for _, name := range c.tierNames() {
		t := c.Tiers[name]
		settings := tierSettings(name)
		for i, n := range []*int64{&t.RequestsPerMinute, &t.Daily, &t.Monthly, t.Keys, t.Users, t.Documents, t.Memories, t.Storage} {
			setting, most := settings[i].Path, int64(limit.MaxTierCount)
			if i == len(settings)-1 {
				most = limit.MaxStorage
			}
			switch {
			case i < 3 && *n < 1:
				return &Error{Setting: setting, Reason: "must be at least 1: rates are always limits"}
			case i < 3 && *n > most:
				return &Error{Setting: setting, Reason: fmt.Sprintf("must be at most %d", most)}
			case n != nil && (*n < 0 || *n > most):
				return &Error{Setting: setting, Reason: fmt.Sprintf("must be between 0 and %d, or %s for no limit", most, noLimit)}
			}
		}
	}
	return nil
}

// SlogLevel is the level as slog knows it.
func (l Log) SlogLevel() (slog.Level, error) {
	switch strings.ToLower(l.Level) {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, &Error{Setting: "log.level", Reason: fmt.Sprintf("%q is not debug, info, warn or error", l.Level)}
}

// baseURL returns an address in its normal form, as browsers send it: scheme and host in lower case, without the default port
// and without a slash at its end. It can have a path of plain segments, because the path becomes part of links and cookies,
// but no query and no credentials.
func baseURL(text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#") {
		return "", false
	}
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Hostname())
	if scheme != "http" && scheme != "https" {
		return "", false
	}
	if strings.ContainsFunc(host, func(r rune) bool { return r > '~' }) {
		host, err = idna.Lookup.ToASCII(host)
	}
	if err != nil || !plainHost.MatchString(host) {
		return "", false
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if text := u.Port(); text != "" {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || port == 0 {
			return "", false
		}
		if defaultPort := map[string]uint64{"http": 80, "https": 443}[scheme]; port != defaultPort {
			host += ":" + strconv.FormatUint(port, 10)
		}
	}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	if path != "" && !plainPath.MatchString(path) || slices.Contains(strings.Split(path, "/"), "..") || slices.Contains(strings.Split(path, "/"), ".") {
		return "", false
	}
	return scheme + "://" + host + path, true
}

// shown quotes an address in an error, unless it can contain a password, or the part of one after a comma.
func shown(text, otherwise string) string {
	if u, err := url.Parse(text); err != nil || u.User != nil {
		return otherwise
	}
	return strconv.Quote(text)
}

// plainHost matches names and addresses, but no zone of an IPv6 address: it means something on one machine only.
var plainHost = regexp.MustCompile(`^[a-z0-9._~:-]+$`)

var plainPath = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`)

// SocketPrefix is the beginning of an address that is a socket: the path follows.
const SocketPrefix = "unix:"

// SocketPath returns the path of the socket that an address names, and whether it names one.
func SocketPath(address string) (path string, ok bool) {
	return strings.CutPrefix(address, SocketPrefix)
}
