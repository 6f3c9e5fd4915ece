package config_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"keepsake/internal/app/config"
	"keepsake/internal/govern/limit"
)

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keepsake.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, s config.Sources) config.Config {
	t.Helper()
	c, err := config.Load(s)
	if err != nil {
		t.Fatalf("load %+v: %v", s, err)
	}
	return c
}

func TestNothingGivenIsTheDefault(t *testing.T) {
	t.Parallel()
	got := load(t, config.Sources{})
	if diff := cmp.Diff(config.Default(), got, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(limit.Tiers(), got.TierList()); diff != "" {
		t.Errorf("tiers: %s", diff)
	}
}

func TestLaterSourcesAreStronger(t *testing.T) {
	t.Parallel()
	path := file(t, "listen: :1\nbackendListen: :2\ndata: from-file\nlog:\n  level: warn\n")
	got := load(t, config.Sources{
		File:  path,
		Env:   []string{"KEEPSAKE_LISTEN=:3", "KEEPSAKE_DATA=from-env", "PATH=/bin"},
		Flags: map[string]string{"data": "from-flag"},
	})
	want := config.Default()
	want.Listen, want.BackendListen, want.Data, want.Log.Level = ":3", ":2", "from-flag", "warn"
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Error(diff)
	}
}

func TestEveryKindOfSettingIsReadFromFileAndEnvironment(t *testing.T) {
	t.Parallel()
	fromFile := load(t, config.Sources{File: file(t, `
trustedProxies: [10.0.0.0/8, "fd00::/8"]
cors: {origins: ["https://app.example.org"]}
log: {requests: false}
limits: {inFlight: 7}
shutdown: {grace: 1m30s}
tiers:
  free: {requestsPerMinute: 90}
  gold: {requestsPerMinute: 1, daily: 2, monthly: 3, keys: 4}
index:
`)})
	fromEnv := load(t, config.Sources{
		File: file(t, "tiers: {gold: {requestsPerMinute: 1, daily: 2, monthly: 3, keys: 4}}"),
		Env: []string{
			"KEEPSAKE_TRUSTED_PROXIES=10.0.0.0/8, fd00::/8", "KEEPSAKE_CORS_ORIGINS=https://app.example.org",
			"KEEPSAKE_LOG_REQUESTS=false", "KEEPSAKE_LIMITS_IN_FLIGHT=7", "KEEPSAKE_SHUTDOWN_GRACE=1m30s",
			"KEEPSAKE_TIERS_FREE_REQUESTS_PER_MINUTE=90",
		},
	})
	want := config.Default()
	want.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	want.CORS.Origins = []string{"https://app.example.org"}
	want.Log.Requests = false
	want.Limits.InFlight = 7
	want.Shutdown.Grace = 90 * time.Second
	free := want.Tiers["free"]
	free.RequestsPerMinute = 90
	want.Tiers["free"] = free
	want.Tiers["gold"] = config.Tier{RequestsPerMinute: 1, Daily: 2, Monthly: 3, Keys: new(int64(4))}
	for name, got := range map[string]config.Config{"file": fromFile, "environment": fromEnv} {
		if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
			t.Errorf("from %s: %s", name, diff)
		}
	}
}

func TestASecretMayLieInAFile(t *testing.T) {
	t.Parallel()
	secret := file(t, "c2VjcmV0\n")
	for name, s := range map[string]config.Sources{
		"environment": {Env: []string{"KEEPSAKE_MASTER_KEY_FILE=" + secret}},
		"file":        {File: file(t, "masterKeyFile: "+secret)},
		"over a value of a weaker source": {
			File: file(t, "masterKey: other"), Env: []string{"KEEPSAKE_MASTER_KEY_FILE=" + secret},
		},
	} {
		got := load(t, s)
		if got.MasterKey != "c2VjcmV0" || got.SecretFiles["masterKey"] != secret {
			t.Errorf("%s: got %q from %v", name, got.MasterKey, got.SecretFiles)
		}
	}
}

func TestBackendSecretIsReadFromAFile(t *testing.T) {
	t.Parallel()
	path := file(t, "0123456789abcdef\n")
	got := load(t, config.Sources{Env: []string{"KEEPSAKE_BACKEND_SECRET_FILE=" + path, "KEEPSAKE_BACKEND_PORT=tcp://10.0.0.3:8081"}})
	if got.Backend.Secret != "0123456789abcdef" || got.SecretFiles["backend.secret"] != path {
		t.Errorf("got %q from %v", got.Backend.Secret, got.SecretFiles)
	}
}

func TestAValueOverAFileIsFromNoFile(t *testing.T) {
	t.Parallel()
	got := load(t, config.Sources{File: file(t, "masterKeyFile: "+file(t, "b2xk")), Env: []string{"KEEPSAKE_MASTER_KEY=bmV3"}})
	if got.MasterKey != "bmV3" || len(got.SecretFiles) != 0 {
		t.Errorf("got %q from %v", got.MasterKey, got.SecretFiles)
	}
}

func TestAMistakeIsOneLineThatNamesTheSetting(t *testing.T) {
	t.Parallel()
	env := func(pairs ...string) config.Sources { return config.Sources{Env: pairs} }
	for _, c := range []struct {
		sources config.Sources
		want    string // how the line begins; %F is the file
	}{
		{env("KEEPSAKE_LISTEN=8080"), `setting listen: "8080" is not an address`},
		{config.Sources{Flags: map[string]string{"backendListen": ""}}, `setting backendListen: "" is not an address`},
		{env("KEEPSAKE_AI_LISTEN=8082"), `setting aiListen: "8082" is not an address`},
		{config.Sources{Flags: map[string]string{"data": ""}}, "setting data: must name a folder"},
		{config.Sources{File: file(t, `backend: {secret: ""}`)}, "setting backend.secret (config file"},
		{env("KEEPSAKE_BACKEND_SECRET=short"), "setting backend.secret (environment): must have at least 16 characters"},
		{env("KEEPSAKE_BACKEND_SECRET_FILE=" + file(t, "short\n")), "setting backend.secretFile (environment): must have at least 16 characters"},
		{env("KEEPSAKE_BACKEND_SECRET_FILE=" + file(t, "")), "setting backend.secretFile (environment): must have at least 16 characters"},
		{env("KEEPSAKE_BACKEND_SECRET=with spaces in between"), "setting backend.secret: must have only printable ASCII"},
		{env("KEEPSAKE_LISTN=:1"), "setting KEEPSAKE_LISTN (environment): there is no such setting"},
		{env("KEEPSAKE_LOG_LEVEL=loud"), `setting log.level: "loud" is not debug`},
		{env("KEEPSAKE_LOG_REQUESTS=maybe"), `setting log.requests (environment): "maybe" is not true or false`},
		{env("KEEPSAKE_LIMITS_IN_FLIGHT=many"), `setting limits.inFlight (environment): "many" is not a whole number`},
		{env("KEEPSAKE_LIMITS_CONNECTIONS=0"), "setting limits.connections: must be at least 1"},
		{env("KEEPSAKE_SHUTDOWN_GRACE=20"), `setting shutdown.grace (environment): "20" is not a time`},
		{env("KEEPSAKE_SHUTDOWN_GRACE=-1s"), "setting shutdown.grace: must not be negative"},
		{env("KEEPSAKE_TRUSTED_PROXIES=10.0.0.1"), `setting trustedProxies (environment): "10.0.0.1" is not a network`},
		{env("KEEPSAKE_PUBLIC_URL=example.org"), `setting publicUrl: "example.org" is not an address`},
		{env("KEEPSAKE_CORS_ORIGINS=*"), `setting cors.origins: "*" is not an origin`},
		{env("KEEPSAKE_TLS_CERT=a.pem"), "setting tls.key: is missing beside tls.cert"},
		{env("KEEPSAKE_TLS_KEY=a.pem"), "setting tls.cert: is missing beside tls.key"},
		{env("KEEPSAKE_TIERS_FREE_DAILY=0"), "setting tiers.free.daily: must be at least 1"},
		{env("KEEPSAKE_TIERS_PRO_KEYS=-1"), "setting tiers.pro.keys: must be between 0 and"},
		{env("KEEPSAKE_TIERS_PRO_STORAGE=-1"), "setting tiers.pro.storage: must be between 0 and"},
		{env("KEEPSAKE_TIERS_PRO_USERS=all"), `setting tiers.pro.users (environment): "all" is not a whole number or none`},
		{env("KEEPSAKE_TIERS_PRO_DAILY=none"), `setting tiers.pro.daily (environment): "none" is not a whole number`},
		{env("KEEPSAKE_MASTER_KEY_FILE=/nowhere/key"), "setting masterKeyFile (environment): open /nowhere/key"},
		{
			config.Sources{Env: []string{"KEEPSAKE_MASTER_KEY=a", "KEEPSAKE_MASTER_KEY_FILE=b"}},
			"setting masterKey (environment): given together with masterKeyFile",
		},
		{env("KEEPSAKE_DATABASE_URL=mysql://db/keepsake"), "setting databaseUrl: is not an address such as postgres://"},
		{env("KEEPSAKE_DATABASE_URL=postgres:keepsake"), "setting databaseUrl: is not an address such as postgres://"},
		{env("KEEPSAKE_KEYS_URL=postgres://keys/keepsake"), "setting keysUrl: is of use only together with databaseUrl"},
		{env("KEEPSAKE_REDIS_URL=redis://cache"), "setting redisUrl: is of use only together with databaseUrl"},
		{env("KEEPSAKE_REDIS_URL=cache:6379"), "setting redisUrl: is not an address such as redis://"},
		{env("KEEPSAKE_TRACING_ENDPOINT=localhost:4318"), "setting tracing.endpoint: is not an address such as http://localhost:4318"},
		{env("KEEPSAKE_TRACING_HEADERS=a=b"), "setting tracing.headers: is of use only together with tracing.endpoint"},
		{env("KEEPSAKE_EMBEDDINGS_URL=api.example.org", "KEEPSAKE_EMBEDDINGS_MODEL=m"), "setting embeddings.url: is not an address such as"},
		{env("KEEPSAKE_EMBEDDINGS_URL=https://user:secret@api.example.org", "KEEPSAKE_EMBEDDINGS_MODEL=m"), "setting embeddings.url: is not an address such as"},
		{env("KEEPSAKE_EMBEDDINGS_URL=http://localhost:11434/v1", "KEEPSAKE_EMBEDDINGS_MODEL=m"), "setting embeddings.url: must begin with https:// unless embeddings.allowPrivate is set"},
		{env("KEEPSAKE_EMBEDDINGS_URL=https://api.example.org/v1"), "setting embeddings.model: is missing beside embeddings.url"},
		{env("KEEPSAKE_EMBEDDINGS_MODEL=m"), "setting embeddings.url: is missing beside embeddings.model or embeddings.key"},
		{env("KEEPSAKE_EMBEDDINGS_URL=https://api.example.org/v1", "KEEPSAKE_EMBEDDINGS_MODEL=m", "KEEPSAKE_EMBEDDINGS_KEY=a b"), "setting embeddings.key: must have only printable ASCII characters"},
		{env("KEEPSAKE_EMBEDDINGS_PATIENCE=9ms"), "setting embeddings.patience: must be from 10ms to 2s"},
		{env("KEEPSAKE_EMBEDDINGS_PATIENCE=2001ms"), "setting embeddings.patience: must be from 10ms to 2s"},
		{env("KEEPSAKE_EMBEDDINGS_DAILY_TEXTS=0"), "setting embeddings.dailyTexts: must be from 1 to"},
		{env("KEEPSAKE_TRACING_SAMPLE=1.01"), "setting tracing.sample: must be from 0 to 1"},
		{env("KEEPSAKE_TRACING_SAMPLE=NaN"), "setting tracing.sample: must be from 0 to 1"},
		{env("KEEPSAKE_TRACING_SAMPLE=all"), `setting tracing.sample (environment): "all" is not a number`},
		{config.Sources{File: "/nowhere/keepsake.yaml"}, "setting --config: open /nowhere/keepsake.yaml"},
		{config.Sources{File: file(t, "listen: [")}, "setting --config (config file %F): not YAML"},
		{config.Sources{File: file(t, "listn: :1")}, "setting listn (config file %F): there is no such setting"},
		{config.Sources{File: file(t, "log: {lines: 1}")}, "setting log.lines (config file %F): there is no such setting"},
		{config.Sources{File: file(t, "log: [1]")}, "setting log (config file %F): there is no such setting"},
		{config.Sources{File: file(t, "listen: [1]")}, "setting listen (config file %F): must be one value"},
		{config.Sources{File: file(t, "trustedProxies: 1")}, "setting trustedProxies (config file %F): must be a list"},
		{config.Sources{File: file(t, "tiers: {gold: {daily: 1}}")}, "setting tiers.gold.requestsPerMinute: must be at least 1"},
		{config.Sources{File: file(t, "tiers: {free: {hourly: 1}}")}, "setting tiers.free.hourly (config file %F): there is no such setting"},
		{config.Sources{File: file(t, "tiers: 3")}, "setting tiers (config file %F): there is no such setting"},
	} {
		_, err := config.Load(c.sources)
		if err == nil {
			t.Errorf("%+v: no error, want %q", c.sources, c.want)
			continue
		}
		want := strings.ReplaceAll(c.want, "%F", c.sources.File)
		if got := err.Error(); !strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%+v:\n got %q\nwant %q", c.sources, got, want)
		}
	}
}

func TestAPasswordInAnAddressIsNeverTold(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"postgres://keepsake:canary@db:port/name", "postgres://keepsake:canary%zz@db/name", "://keepsake:canary@db", "canary", "redis://:canary@db",
	} {
		_, err := config.Load(config.Sources{Env: []string{"KEEPSAKE_DATABASE_URL=" + address}})
		if err == nil || strings.Contains(err.Error(), "canary") || !strings.HasPrefix(err.Error(), "setting databaseUrl: ") {
			t.Errorf("%s: got %v", address, err)
		}
	}
}

func TestADatabaseMayBeNamedByUser(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"postgres://keepsake:secret@db.example.org:5432/keepsake?sslmode=verify-full", "postgresql:///keepsake?host=/run/postgresql",
		"postgres://a,b:5433/keepsake?target_session_attrs=read-write",
	} {
		secret := file(t, address+"\n")
		got := load(t, config.Sources{Env: []string{"KEEPSAKE_DATABASE_URL_FILE=" + secret, "KEEPSAKE_REDIS_URL=rediss://:secret@cache:6379/1"}})
		if got.DatabaseURL != address {
			t.Errorf("got %q, want %q", got.DatabaseURL, address)
		}
	}
}

func TestVariablesOfOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	load(t, config.Sources{Env: []string{
		"KEEPSAKE_LISTEN=",                                                            // set to nothing is not set
		"KEEPSAKE_URL=http://localhost:8080", "KEEPSAKE_KEY=k", "KEEPSAKE_KEY_FILE=f", // of the commands
	}})
}

// podVariables is what Kubernetes sets in a container for the Services keepsake, keepsake-redis, keepsake-backend and
// keepsake-dns.
var podVariables = []string{
	"KEEPSAKE_SERVICE_HOST=10.0.0.1", "KEEPSAKE_SERVICE_PORT=8080", "KEEPSAKE_SERVICE_PORT_HTTP=8080",
	"KEEPSAKE_PORT=tcp://10.0.0.1:8080", "KEEPSAKE_PORT_8080_TCP=tcp://10.0.0.1:8080", "KEEPSAKE_PORT_8080_TCP_PROTO=tcp",
	"KEEPSAKE_PORT_8080_TCP_PORT=8080", "KEEPSAKE_PORT_8080_TCP_ADDR=10.0.0.1",
	"KEEPSAKE_REDIS_SERVICE_HOST=10.0.0.2", "KEEPSAKE_REDIS_SERVICE_PORT=6379", "KEEPSAKE_REDIS_PORT=tcp://10.0.0.2:6379",
	"KEEPSAKE_REDIS_PORT_6379_TCP_ADDR=10.0.0.2", "KEEPSAKE_BACKEND_PORT=tcp://10.0.0.3:8081",
	"KEEPSAKE_BACKEND_SERVICE_PORT_METRICS=8081",
	"KEEPSAKE_DNS_PORT_53_UDP=udp://10.0.0.4:53", "KEEPSAKE_DNS_PORT_53_UDP_PROTO=udp",
}

func TestVariablesOfAPodDoNotStopTheStart(t *testing.T) {
	t.Parallel()
	got := load(t, config.Sources{Env: podVariables})
	if diff := cmp.Diff(config.Default(), got, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("they change a setting: %s", diff)
	}
}

func TestVariablesThatNameNoSettingAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"KEEPSAKE_", "KEEPSAKE_LISTN", "KEEPSAKE_REDIS", "KEEPSAKE_REDIS_HOST", "KEEPSAKE_SERVICE", "KEEPSAKE_SERVICE_NAME",
		"KEEPSAKE_SERVICEHOST", "KEEPSAKE_REDIS_SERVICE_HOSTS", "KEEPSAKE_REDIS_SERVICE_PORTS", "KEEPSAKE_PORTS", "KEEPSAKE_REDISPORT",
		"KEEPSAKE_PORT_8080", "KEEPSAKE_PORT_HTTP_TCP", "KEEPSAKE_PORT_8080_TCPX", "KEEPSAKE_PORT_8080_SCTP", "KEEPSAKE_PORT_LISTEN",
	} {
		_, err := config.Load(config.Sources{Env: append([]string{name + "=1"}, podVariables...)})
		if want := "setting " + name + " (environment): there is no such setting"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestEverySettingIsDocumentedAndNamedOnce(t *testing.T) {
	t.Parallel()
	var names []string
	for _, s := range config.Settings() {
		if s.Path == "" || strings.HasSuffix(s.Path, ".") {
			t.Errorf("a setting without a path: %+v", s)
		}
		if s.Help == "" {
			t.Errorf("setting %s: no help", s.Path)
		}
		names = append(names, s.Env())
		if s.Flag != "" {
			names = append(names, "--"+s.Flag)
		}
	}
	slices.Sort(names)
	if once := slices.Compact(slices.Clone(names)); len(once) != len(names) {
		t.Errorf("names given twice: %v", names)
	}
	if !slices.Contains(names, "KEEPSAKE_LIMITS_IN_FLIGHT") {
		t.Errorf("the environment's names are not the paths in capitals: %v", names)
	}
}

func TestCountOfATierIsANumberOrNone(t *testing.T) {
	t.Parallel()
	for _, sources := range []config.Sources{
		{Env: []string{"KEEPSAKE_TIERS_FREE_KEYS=none", "KEEPSAKE_TIERS_FREE_STORAGE=none", "KEEPSAKE_TIERS_UNLIMITED_USERS=0"}},
		{File: file(t, "tiers: {free: {keys: none, storage: none}, unlimited: {users: 0}}")},
	} {
		got := load(t, sources)
		free, unlimited := got.Tiers["free"], got.Tiers["unlimited"]
		if free.Keys != nil || free.Storage != nil || free.Users == nil || *free.Users != 5 || unlimited.Users == nil || *unlimited.Users != 0 || unlimited.Keys != nil {
			t.Errorf("got %+v and %+v", free, unlimited)
		}
	}
}
