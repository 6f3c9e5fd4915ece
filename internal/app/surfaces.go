package app

import (
	"cmp"
	"fmt"
	"math"
	"runtime/debug"
	"strings"
	"sync"

	"keepsake/internal/api"
	"keepsake/internal/api/backend"
	"keepsake/internal/api/local"
	v1 "keepsake/internal/api/v1"
	"keepsake/internal/endpoint"
	"keepsake/internal/lifecycle"
	"keepsake/internal/memory"
	"keepsake/internal/usage"
)

// operations declares all operations of the API. The OpenAPI document only needs the declarations, so s can be empty.
func operations(s *services) *endpoint.Registry {
	memories := s.memories
	if memories == nil {
		memories = &memory.Service{} // whose parts are nil too
	}
	r := endpoint.NewRegistry()
	r.SetDocumentVersion(1, "1.14.0") // rises with every change of openapi/v1.json
	v1.DescribeTags(r)
	v1.AddVersions(r, s.versionList)
	v1.AddAdminVersions(r, s.versionList, s.cursors)
	v1.AddHealth(r, s.health)
	v1.AddCacheStats(r, s.caches)
	v1.AddAdminWorkspaces(r, s.people, s.cursors)
	v1.AddAdminUsers(r, s.people, s.cursors)
	v1.AddAdminTiers(r, s.people, s.cursors)
	v1.AddLogin(r, s.logins)
	v1.AddProfile(r, s.logins)
	v1.AddSigningKeys(r, s.signing, s.receipts, s.audit)
	v1.AddAuditLog(r, s.audit, s.cursors)
	v1.AddAPIKeys(r, s.apiKeys, s.cursors)
	v1.AddAPIKeyRotation(r, s.apiKeys)
	v1.AddVerify(r, s.apiKeys)
	v1.AddWebhooks(r, s.webhooks, s.cursors)
	v1.AddDocuments(r, s.documents, s.cursors)
	v1.AddSearch(r, s.search)
	v1.AddMemories(r, memories, s.cursors)
	v1.AddMemoryBatch(r, memories)
	v1.AddForgetting(r, memories.Forgetter)
	v1.AddSubjects(r, memories, s.cursors)
	v1.AddPortableMemories(r, memories)
	v1.AddRecall(r, memories.Recaller)
	v1.AddAnalytics(r, s.analytics, s.cursors)
	return r
}

// newest returns the newest version that this build declares.
var newest = sync.OnceValue(func() int { return operations(&services{}).Newest() })

// changes lists what each version of the API changes, for the migration guides. It is empty while there is only one version.
var changes []lifecycle.Change

// OpenAPI returns the OpenAPI description of a version of the API. It is deterministic.
func OpenAPI(version int) ([]byte, error) {
	if version < lifecycle.First().Number || version > newest() {
		return nil, fmt.Errorf("this build has no version %d of the API", version)
	}
	return describe(version, "/")
}

// describe is OpenAPI for any version, including one that was released but is not declared in this build.
func describe(version int, server string) ([]byte, error) {
	return endpoint.Document(operations(&services{}), version, server)
}

// handleSocket attaches the API to the folder's socket, with the operations below /local/.
func (a *App) handleSocket(options api.Options, primary *api.API) error {
	options.Operations = operations(a.services)
	local.AddMasterKey(options.Operations, a.services.keeper)
	local.AddSnapshots(options.Operations, a.services.snapshots)
	local.AddWarnings(options.Operations, func() []local.Warning { return warnings(primary) })
	h, err := api.New(options)
	if err != nil {
		return err
	}
	if a.socket != nil {
		a.socket.handle(h, &a.stopping, a.deps.Log)
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

// describe is the description for clients of this instance, with its public address if that is set.
func (a *App) describe(version int) ([]byte, error) {
	return describe(version, cmp.Or(strings.TrimSuffix(a.cfg.PublicURL, "/"), "/"))
}

// surfaces attaches the handlers to the listeners.
func (a *App) surfaces() error {
	options := api.Options{
		Surface: usage.Primary, Operations: operations(a.services), Versions: a.services.versions,
		Changes: changes, Document: a.describe, Callers: a.services.callers, Requests: a.services.requests,
		Keys: a.services.keys, Bearers: a.services.bearers, Workspaces: a.services.accounts.Entry, Operator: a.services.accounts.Operator, Addresses: a.services.addresses,
		Limiter: a.services.limiter,
		Usage:   a.services.usage, Replays: a.services.replays, News: a.services.peers.freshness(),
		Release: a.deps.Version, PublicURL: strings.TrimSuffix(a.cfg.PublicURL, "/"), TrustedProxies: a.cfg.TrustedProxies,
		Origins: a.cfg.CORS.Origins, InFlight: a.cfg.Limits.InFlight, Memory: memoryLimit(),
		Log: a.deps.Log, LogRequests: a.cfg.Log.Requests, Now: a.deps.Now, MinTimeout: a.deps.MinTimeout,
	}
	primary, err := api.New(options)
	if err != nil {
		return err
	}
	if err := a.handleSocket(options, primary); err != nil {
		return err
	}
	if a.deps.Local {
		return nil
	}
	a.primary.handle(primary, &a.stopping, a.deps.Log)

	options.Surface = usage.Backend
	probes, err := backend.New(options, backend.Probes{Checks: a.services.checks(), Stopping: a.stopping.Load})
	if err != nil {
		return err
	}
	a.backend.handle(probes, &a.stopping, a.deps.Log)
	return nil
}
