package app

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/govern/usage"
	"keepsake/internal/memory"
	"keepsake/internal/web/api"
	"keepsake/internal/web/api/ai"
	"keepsake/internal/web/api/backend"
	"keepsake/internal/web/api/local"
	v1 "keepsake/internal/web/api/v1"
	"keepsake/internal/web/endpoint"
)

// operations declares all operations of the API.
func operations(s *services) *endpoint.Registry {
	memories := s.memory.service
	if memories == nil {
		memories = &memory.Service{} // whose parts are nil too
	}
	r := endpoint.NewRegistry()
	v1.DescribeTags(r)
	v1.AddVersions(r, s.status.versionList)
	v1.AddAdminVersions(r, s.status.versionList, s.secrets.cursors)
	v1.AddHealth(r, s.status.health)
	v1.AddCacheStats(r, s.status.caches)
	v1.AddAdminWorkspaces(r, s.identity.people, s.secrets.cursors, s.search.remote.move)
	v1.AddAdminUsers(r, s.identity.people, s.secrets.cursors)
	v1.AddSetupLinks(r, s.identity.logins, s.identity.setupLink)
	v1.AddAdminTiers(r, s.identity.people, s.secrets.cursors)
	v1.AddLogin(r, s.identity.logins)
	v1.AddProfile(r, s.identity.logins)
	v1.AddSigningKeys(r, s.identity.signing, s.secrets.receipts, s.records.audit)
	v1.AddAuditLog(r, s.records.audit, s.secrets.cursors)
	v1.AddAPIKeys(r, s.identity.apiKeys, s.secrets.cursors)
	v1.AddAPIKeyRotation(r, s.identity.apiKeys)
	v1.AddVerify(r, s.identity.apiKeys)
	v1.AddWebhooks(r, s.events.webhooks, s.secrets.cursors)
	v1.AddDocuments(r, s.search.documents, s.secrets.cursors)
	v1.AddDocumentDeletion(r, s.search.documents)
	v1.AddPortableDocuments(r, s.search.documents)
	v1.AddCollections(r, s.search.collections, s.secrets.cursors)
	v1.AddLanguages(r, s.secrets.cursors)
	v1.AddSearch(r, s.search.service)
	v1.AddMemories(r, memories, s.secrets.cursors)
	v1.AddMemoryBatch(r, memories.Writer, memories.Reader)
	v1.AddForgetting(r, memories.Forgetter)
	v1.AddSubjects(r, memories.SubjectReader, memories.SubjectEraser, s.secrets.cursors)
	v1.AddPortableMemories(r, memories.Exporter, memories.Importer)
	v1.AddRecall(r, memories.Recaller)
	v1.AddAnalytics(r, s.records.analytics, s.secrets.cursors)
	if s.declare != nil {
		s.declare(r, s.search.documents)
	}
	return r
}

// Declared returns the operations of the API without the services behind them, which is enough to describe them.
func Declared() *endpoint.Registry { return operations(&services{}) }

// DeclaredBackend returns the operations of the backend listener without the services behind them.
func DeclaredBackend() *endpoint.Registry {
	return backendOperations(&services{}, backendParts{probes: &backend.Probes{}})
}

// Newest returns the newest version of the API that this build declares.
func Newest() int { return newest() }

var newest = sync.OnceValue(func() int { return Declared().Newest() })

// Steps lists what each version of the API changes, for the migration guides. A breaking difference between two versions that no
// step names fails the tests of openapi/. The list is empty while there is only one version.
var Steps []lifecycle.Step

// OpenAPI returns the OpenAPI description of a version of the API. It is deterministic.
func OpenAPI(version int) ([]byte, error) {
	if version < lifecycle.First().Number || version > newest() {
		return nil, fmt.Errorf("this build has no version %d of the API", version)
	}
	declared := Declared()
	return endpoint.Document(declared, version, "/", Surfaces(declared)...)
}

// Surfaces returns the surfaces that are described beside the API, of which declared are the operations.
func Surfaces(declared *endpoint.Registry) []endpoint.Surface {
	return []endpoint.Surface{ai.Described(declared), backend.Described(DeclaredBackend())}
}

// handleSocket attaches the API and the AI services to the folder's socket, with the operations below /local/.
func (a *App) handleSocket(options api.Options, primary, agents *api.API) error {
	options.Operations = options.Operations.Clone()
	local.AddMasterKey(options.Operations, a.services.secrets.keeper)
	local.AddSnapshots(options.Operations, a.services.snapshots)
	local.AddReindex(options.Operations, a.services.search.indexer)
	local.AddWarnings(options.Operations, func() []local.Warning { return append(a.exposed(), warnings(primary)...) })
	local.AddListeners(options.Operations, a.listening)
	h, err := api.New(options)
	if err != nil {
		return err
	}
	if a.socket != nil {
		a.socket.handle(ai.Beside(h, agents), &a.stopping, a.deps.Log)
		a.socket.server.ConnContext = api.LocalContext
	}
	return nil
}

// warnings returns what the primary surface has noticed.
func warnings(primary *api.API) []local.Warning {
	var list []local.Warning
	if peer, at := primary.UntrustedProxy(); peer.IsValid() {
		list = append(list, local.Warning{About: "proxy", At: at, Text: fmt.Sprintf(
			"X-Forwarded-For from %s is ignored. If it is your proxy, name it in trustedProxies: all its clients share one address until then", peer)})
	}
	return list
}

// memoryLimit returns GOMEMLIMIT, which main sets from the control group; 0 means no limit.
func memoryLimit() int64 {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return 0
	}
	return limit
}

// describe is OpenAPI for any version, including one that was released but is not declared in this build. It names the public
// address of this instance if that is set.
func (a *App) describe(version int) ([]byte, error) {
	declared := operations(&services{declare: a.deps.Declare})
	surfaces := Surfaces(declared)
	if a.agents != nil {
		surfaces[0].Server = a.AIURL()
	}
	return endpoint.Document(declared, version, cmp.Or(strings.TrimSuffix(a.cfg.PublicURL, "/"), "/"), surfaces...)
}

// newest returns the newest version that this process declares.
func (d *Deps) newest() int {
	if d.Declare == nil {
		return newest()
	}
	return operations(&services{declare: d.Declare}).Newest()
}

// surfaces attaches the handlers to the listeners.
func (a *App) surfaces() error {
	options := api.Options{
		Surface: usage.Primary, Operations: operations(a.services), Versions: a.services.versions.registry,
		Steps: slices.Concat(Steps, a.deps.Steps), Document: a.describe, Callers: a.services.versions.calls, Requests: a.services.records.requests,
		Keys: a.services.identity.keys, Bearers: a.services.identity.bearers, Workspaces: a.services.identity.accounts.Entry, Operator: a.services.identity.accounts.Operator, Addresses: a.services.identity.addresses,
		Limiter: a.services.members.limiter,
		Usage:   a.services.records.usage, Replays: a.services.records.replays, News: a.services.members.peers.freshness(),
		Release: a.deps.Version, PublicURL: strings.TrimSuffix(a.cfg.PublicURL, "/"), Address: a.PrimaryURL(), AgentsAddress: a.AIURL(), TrustedProxies: a.cfg.TrustedProxies,
		Origins: a.cfg.CORS.Origins, InFlight: a.cfg.Limits.InFlight, Memory: memoryLimit(),
		Log: a.deps.Log, LogRequests: a.cfg.Log.Requests, Tracer: a.services.tracer, Now: a.deps.Now, MinTimeout: a.deps.MinTimeout,
	}
	withPages := options
	if !a.deps.Local {
		if err := a.consolePages(&withPages); err != nil {
			return err
		}
	}
	primary, err := api.New(withPages)
	if err != nil {
		return err
	}
	agents, err := ai.New(options, primary)
	if err != nil {
		return err
	}
	if err := a.handleSocket(options, primary, agents); err != nil {
		return err
	}
	if a.deps.Local {
		return nil
	}
	base := api.BasePathOf(options.PublicURL)
	if a.agents == nil {
		a.primary.handle(api.Below(base, ai.Beside(primary, agents)), &a.stopping, a.deps.Log)
	} else {
		a.primary.handle(api.Below(base, primary), &a.stopping, a.deps.Log)
		a.agents.handle(api.Below(base, agents), &a.stopping, a.deps.Log)
	}

	a.served = []surface{{"primary", primary, a.primary}, {"ai", agents, a.agents}}
	options.Operations = backendOperations(a.services, backendParts{
		probes:  &backend.Probes{Checks: a.services.checks(), Stopping: a.stopping.Load, Log: a.deps.Log},
		metrics: a.metrics().Write,
	})
	if a.cfg.Backend.Pprof {
		backend.AddProfiles(options.Operations, wait)
	}
	options.Backend = api.NewBackendAccess(a.secret, !a.backend.loopback(), a.services.refuseBackendSecret)
	service, err := backend.New(options)
	if err != nil {
		return err
	}
	a.served = append(a.served, surface{"backend", service, a.backend})
	a.backend.handle(backend.ForwardAuthPaths(service), &a.stopping, a.deps.Log)
	return nil
}

// refuseBackendSecret records a request with a wrong backend secret. The secret is not recorded.
func (s *services) refuseBackendSecret(ctx context.Context) {
	s.records.audit.Count(ctx, audit.Entry{Action: audit.BackendSecretRefused, Outcome: audit.Refused})
}

// backendParts are what operations of the backend listener report on, in addition to services.
type backendParts struct {
	probes  *backend.Probes
	metrics func(ctx context.Context) ([]byte, error)
}

// backendOperations declares all operations of the backend listener. s and the parts can be empty if only the declarations are
// needed.
func backendOperations(s *services, p backendParts) *endpoint.Registry {
	r := endpoint.NewRegistry()
	backend.AddProbes(r, p.probes)
	backend.AddMetrics(r, p.metrics)
	backend.AddVerify(r, s.identity.apiKeys)
	backend.AddUsage(r, s.identity.apiKeys)
	backend.AddForwardAuth(r)
	return r
}
