// Package config is every setting of Keepsake in one struct: defaults, file, environment and flags, checked together.
package config

import (
	"net/netip"
	"time"

	"keepsake/internal/govern/limit"
)

// Config is what an operator may decide. The path of a setting is its tags joined by dots (`log.requests`); the same
// path is its place in the YAML file and, as KEEPSAKE_LOG_REQUESTS, its environment variable. A flag is named where
// there is one. A setting tagged `secret` may also come from a file: `masterKeyFile`, KEEPSAKE_MASTER_KEY_FILE,
// and, tagged `fileFlag`, --master-key-file. One tagged
// `atLeast` has a minimum length, also where it is given as empty text.
type Config struct {
	Data           string         `setting:"data" flag:"data" help:"data folder, with the master key, the search index and, without databaseUrl, the databases"`
	Listen         string         `setting:"listen" flag:"listen" help:"address the API listens on, or unix:/path for a socket"`
	BackendListen  string         `setting:"backendListen" flag:"backend-listen" help:"address for health probes and metrics; do not expose it to the internet"`
	AIListen       string         `setting:"aiListen" flag:"ai-listen" help:"address for the AI services under /ai/ (default: the address of the API)"`
	PublicURL      string         `setting:"publicUrl" flag:"public-url" help:"URL under which clients reach the API, used in links"`
	TrustedProxies []netip.Prefix `setting:"trustedProxies" flag:"trusted-proxies" help:"networks of proxies whose X-Forwarded-For header is trusted"`
	DatabaseURL    string         `setting:"databaseUrl" flag:"database-url" secret:"true" help:"PostgreSQL database, which several processes can share: postgres://user@host/name (default: SQLite files in the data folder)"`
	KeysURL        string         `setting:"keysUrl" flag:"keys-url" secret:"true" help:"separate PostgreSQL database for wrapped secrets and data keys (default: a schema of its own in databaseUrl)"`
	RedisURL       string         `setting:"redisUrl" flag:"redis-url" secret:"true" help:"Redis or Valkey for limits shared by several processes: redis://host:6379 (default: each process enforces a share)"`
	MasterKey      string         `setting:"masterKey" secret:"true" fileFlag:"master-key-file" help:"key that wraps the instance's secrets, 32 bytes in base64 (default: master.key in the data folder)"`

	Backend  Backend  `setting:"backend"`
	TLS      TLS      `setting:"tls"`
	CORS     CORS     `setting:"cors"`
	Log      Log      `setting:"log"`
	Limits   Limits   `setting:"limits"`
	Index    Index    `setting:"index"`
	Search   Search   `setting:"search"`
	Shutdown Shutdown `setting:"shutdown"`
	Cluster  Cluster  `setting:"cluster"`
	Audit    Audit    `setting:"audit"`
	Memory   Memory   `setting:"memory"`
	Recall   Recall   `setting:"recall"`
	Webhooks Webhooks `setting:"webhooks"`

	Embeddings Embeddings `setting:"embeddings"`

	Analytics Analytics `setting:"analytics"`
	Tracing   Tracing   `setting:"tracing"`
	Lifecycle Lifecycle `setting:"lifecycle"`

	// Tiers by name. The five of limit.Tiers are always there; a file may change their numbers and add others. A tier whose
	// numbers were changed while the service ran keeps those, whatever is said here.
	Tiers map[string]Tier `setting:"tiers"`

	// SecretFiles are the files that secrets were read from, by the path of the setting. Load fills it.
	SecretFiles map[string]string
}

// Backend is who can use the backend listener.
type Backend struct {
	Secret string `setting:"secret" secret:"true" atLeast:"16" help:"secret that services send to the backend listener in X-Keepsake-Backend, at least 16 printable characters without spaces (default: backend-secret in the data folder, which the first start creates)"`
	Pprof  bool   `setting:"pprof" help:"serve profiles of the process on the backend listener, at /debug/pprof/"`
}

// TLS serves the API over TLS when both files are named; otherwise put a proxy in front.
type TLS struct {
	Cert string `setting:"cert" flag:"tls-cert" help:"PEM file with the certificate chain"`
	Key  string `setting:"key" flag:"tls-key" help:"PEM file with the private key"`
}

// CORS is off while no origin is named.
type CORS struct {
	Origins []string `setting:"origins" flag:"cors-origins" help:"origins of web pages that can call the API, exactly as browsers send them"`
}

// Log says what is written to standard error, as JSON lines.
type Log struct {
	Level    string `setting:"level" flag:"log-level" help:"log level: debug, info, warn or error"`
	Requests bool   `setting:"requests" help:"log every request"`
}

// Limits bound what clients may make the process hold at once.
type Limits struct {
	Connections int `setting:"connections" help:"open connections; more wait to be accepted, and connections beyond an address's share are closed"`
	InFlight    int `setting:"inFlight" help:"concurrent requests; more are refused with 503, as are requests beyond the share of one workspace or address"`
	Addresses   int `setting:"addresses" help:"client addresses whose anonymous limits are remembered"`

	RedisWait time.Duration `setting:"redisWait" help:"how long a request waits for Redis; after that, each process enforces its share of the limits until Redis answers again"`
}

// Index bounds the search indexes.
type Index struct {
	Open int `setting:"open" help:"search indexes of workspaces kept open"`
}

// Search is where search indexes are.
type Search struct {
	DiskBudget int64 `setting:"diskBudget" help:"bytes of search indexes on disk; beyond them, the indexes that were searched least recently are dropped, and built again when they are searched (0: no bound)"`

	Engine string `setting:"engine" help:"where the search index of a new workspace is: local (in each process) or opensearch"`

	OpenSearch OpenSearch `setting:"opensearch"`
}

// OpenSearch is a cluster for the search indexes of large workspaces. There is none without a URL.
type OpenSearch struct {
	URL      string `setting:"url" help:"OpenSearch cluster that can have the search indexes of workspaces: https://search.internal:9200 (default: none). Texts of their documents are stored there, memories never"`
	User     string `setting:"user" help:"user of the OpenSearch cluster"`
	Password string `setting:"password" secret:"true" help:"password of the user of the OpenSearch cluster"`
	CAFile   string `setting:"caFile" help:"PEM file with the authority that signed the certificate of the OpenSearch cluster (default: the authorities of the system)"`
	Prefix   string `setting:"prefix" help:"what the names of all indexes in the OpenSearch cluster begin with; each Keepsake, also a copy of one, needs another prefix"`
}

// Shutdown is how a stop goes.
type Shutdown struct {
	Grace time.Duration `setting:"grace" help:"how long running requests have to finish at shutdown"`
	Delay time.Duration `setting:"delay" help:"how long readiness fails before the listeners close, so that load balancers notice"`
}

// Cluster is how processes that share a database keep of one mind.
type Cluster struct {
	NewsPatience time.Duration `setting:"newsPatience" help:"how long a process that receives no changes from the others keeps accepting credentials"`
	StartTimeout time.Duration `setting:"startTimeout" help:"how long a starting process waits for each database response while it joins the others"`
}

// Audit is how the audit log is written and how long it is kept.
type Audit struct {
	Reads string `setting:"reads" help:"when the access log stores a read of memories: durable (before the response) or relaxed (within a second)"`

	ReadRetentionDays int `setting:"readRetentionDays" help:"days that the audit log keeps reads of memories; 0 keeps them for ever"`
}

// ReadsRelaxed says that reads may be answered before the log has them.
const ReadsRelaxed = "relaxed"

// On and Off are the values of settings that enable something.
const (
	On  = "on"
	Off = "off"
)

// Memory bounds what memories take while they are recalled.
type Memory struct {
	Cache int `setting:"cache" help:"recall index cache size in MiB; least recently used indexes are evicted and rebuilt on demand"`
}

// Recall is how memories are ranked.
type Recall struct {
	Vectors string `setting:"vectors" help:"vectors of words by which recall compares memories with a query: on (those of English words in the program), off (words alone are compared), or a file that keepsake vectors pack wrote"`
}

// Embeddings says which endpoint makes vectors of texts. There is none without a URL, and only workspaces that are set to use it
// send their texts there.
type Embeddings struct {
	URL          string        `setting:"url" help:"embeddings endpoint that is compatible with the API of OpenAI, without /embeddings at the end: https://api.openai.com/v1 (default: none). Texts of memories leave the machine for workspaces that use it"`
	Model        string        `setting:"model" help:"model of the embeddings endpoint: text-embedding-3-small"`
	Key          string        `setting:"key" secret:"true" help:"key that is sent to the embeddings endpoint as a bearer token"`
	AllowPrivate bool          `setting:"allowPrivate" help:"permit an embeddings endpoint that is not on the public internet, such as http://localhost:11434/v1"`
	DailyTexts   int64         `setting:"dailyTexts" help:"texts that are sent to the embeddings endpoint in a UTC day, memories and queries together"`
	Patience     time.Duration `setting:"patience" help:"how long a recall waits for the vector of its query, from 10ms to 2s; after that it is answered without the embeddings endpoint"`
}

// Analytics is what is recorded of requests beyond their counts.
type Analytics struct {
	RequestLogDays int `setting:"requestLogDays" help:"days that the log of single requests is kept; 0 turns it off"`
}

// Tracing says where traces of requests go. There are none without an endpoint.
type Tracing struct {
	Endpoint string  `setting:"endpoint" help:"OpenTelemetry collector that traces are sent to, by OTLP over HTTP: http://localhost:4318 (default: no traces)"`
	Headers  string  `setting:"headers" secret:"true" help:"headers of requests to the collector: name=value, separated by commas, with percent-encoded values"`
	Sample   float64 `setting:"sample" help:"fraction of requests that are traced, from 0 to 1; for a request with the header traceparent, its caller decides"`
}

// Webhooks says where events may be delivered, and how long deliveries are kept.
type Webhooks struct {
	AllowPrivate bool `setting:"allowPrivate" help:"deliver events also to addresses that are not on the public internet, such as 10.0.0.5 or localhost"`
	LogDays      int  `setting:"logDays" help:"days that deliveries of events are kept"`
}

// Lifecycle is how versions of the API end. The two permissions loosen the rules for releases; neither belongs on an instance
// that has clients.
type Lifecycle struct {
	AllowUndeclared bool `setting:"allowUndeclared" help:"permit releases of versions that this build does not declare, for rehearsals; they inherit everything"`
	AllowBackdating bool `setting:"allowBackdating" help:"permit an announcement date in the past, for announcements that were published elsewhere"`

	Traffic Traffic `setting:"traffic"`
}

// Traffic says which traffic of a deprecated version moves its sunset three months later, thirty days before the date.
type Traffic struct {
	Days        int   `setting:"days" help:"days in which the service ran that the traffic check counts"`
	Percent     int64 `setting:"percent" help:"percentage of all authenticated requests from which the traffic of a deprecated version is significant"`
	Keys        int64 `setting:"keys" help:"number of API keys that use a deprecated version regularly from which its traffic is significant"`
	KeysPercent int64 `setting:"keysPercent" help:"the same as a percentage of the API keys in use; the greater number counts"`
	KeyRequests int64 `setting:"keyRequests" help:"requests of an API key that uses a version regularly"`
	KeyDays     int   `setting:"keyDays" help:"days on which such an API key uses the version"`
}

// Tier is the numbers of a limit.Tier. A count that is nil, "none" in a text, is no limit of that kind.
type Tier struct {
	RequestsPerMinute int64  `setting:"requestsPerMinute" help:"requests per minute"`
	Daily             int64  `setting:"daily" help:"requests per UTC day"`
	Monthly           int64  `setting:"monthly" help:"requests per UTC month"`
	Keys              *int64 `setting:"keys" help:"API keys; none for no limit"`
	Users             *int64 `setting:"users" help:"users; none for no limit"`
	Documents         *int64 `setting:"documents" help:"documents; none for no limit"`
	Memories          *int64 `setting:"memories" help:"memories; none for no limit"`
	Storage           *int64 `setting:"storage" help:"stored bytes; none for no limit"`
}

// Default is a configuration that serves without any setting.
func Default() Config {
	c := Config{
		Data:          "keepsake-data",
		Listen:        ":8080",
		BackendListen: "127.0.0.1:8081",
		Log:           Log{Level: "info", Requests: true},
		Limits:        Limits{Connections: 10_000, InFlight: 1_024, Addresses: 65_536, RedisWait: 50 * time.Millisecond},
		Index:         Index{Open: 64},
		Search:        Search{Engine: "local", OpenSearch: OpenSearch{Prefix: "keepsake-"}},
		Shutdown:      Shutdown{Grace: 20 * time.Second},
		Cluster:       Cluster{NewsPatience: 10 * time.Second, StartTimeout: 10 * time.Second},
		Audit:         Audit{Reads: "durable"},
		Recall:        Recall{Vectors: On},
		Memory:        Memory{Cache: 256},
		Analytics:     Analytics{RequestLogDays: 7},
		Tracing:       Tracing{Sample: 1},
		Webhooks:      Webhooks{LogDays: 30},
		Embeddings:    Embeddings{DailyTexts: 100_000, Patience: 150 * time.Millisecond},
		Lifecycle:     Lifecycle{Traffic: Traffic{Days: 14, Percent: 1, Keys: 5, KeysPercent: 2, KeyRequests: 10, KeyDays: 3}},
		Tiers:         map[string]Tier{},
	}
	for _, t := range limit.Tiers() {
		c.Tiers[t.Name] = Tier{
			RequestsPerMinute: t.RequestsPerMinute, Daily: t.Daily, Monthly: t.Monthly,
			Keys: t.Keys, Users: t.Users, Documents: t.Documents, Memories: t.Memories, Storage: t.Storage,
		}
	}
	return c
}

// TierList gives the tiers in the order of limit.Tiers, then the added ones by name.
func (c *Config) TierList() []limit.Tier {
	list := make([]limit.Tier, 0, len(c.Tiers))
	for _, name := range c.tierNames() {
		t := c.Tiers[name]
		list = append(list, limit.Tier{
			Name: name, RequestsPerMinute: t.RequestsPerMinute, Daily: t.Daily, Monthly: t.Monthly,
			Keys: t.Keys, Users: t.Users, Documents: t.Documents, Memories: t.Memories, Storage: t.Storage,
		})
	}
	return list
}
