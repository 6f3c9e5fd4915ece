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
	"keepsake/internal/usage"
)

// operations declares everything the primary API offers. Without services it is still the whole declaration, which is
// all that the OpenAPI document needs.
func operations(s services) *endpoint.Registry {
	r := endpoint.NewRegistry()
	r.SetDocumentVersion(1, "1.12.0") // rises with every change of openapi/v1.json
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
	v1.AddDocuments(r, s.documents, s.cursors)
	v1.AddSearch(r, s.search)
	v1.AddMemories(r, s.memories, s.cursors)
	v1.AddMemoryBatch(r, s.memories)
	v1.AddForgetting(r, s.memories.Forgetter)
	v1.AddSubjects(r, s.memories, s.cursors)
	v1.AddPortableMemories(r, s.memories)
	v1.AddRecall(r, s.memories.Recaller)
	return r
}

// newest is the last version that this build declares.
var newest = sync.OnceValue(func() int { return operations(services{}).Newest() })

// changes is what each version of the API does differently from the one before it, for the migration guides. It is empty
// while there is one.
var changes []lifecycle.Change

// OpenAPI is the description of a version of the API, as JSON. The same build always gives the same bytes.
func OpenAPI(version int) ([]byte, error) {
	if version < lifecycle.First().Number || version > newest() {
		return nil, fmt.Errorf("this build has no version %d of the API", version)
	}
	return describe(version, "/")
}

// describe is OpenAPI for any version, also one that was released without this build declaring it.
func describe(version int, server string) ([]byte, error) {
	return endpoint.Document(operations(services{}), version, server)
}

// answerSocket puts the API behind the data folder's socket, with what is for the operator of the machine alone.
func (a *App) answerSocket(options api.Options) error {
	options.Operations = operations(a.parts.services)
	local.AddMasterKey(options.Operations, a.parts.keeper)
	local.AddSnapshots(options.Operations, a.parts.snapshots)
	h, err := api.New(options)
	if err != nil {
		return err
	}
	if a.socket != nil {
		a.socket.answer(h, &a.stopping, a.deps.Log)
		a.socket.server.ConnContext = api.LocalContext
	}
	return nil
}

// memoryLimit is how many bytes the process is told to use: by GOMEMLIMIT, or because of its control group. 0: it is not.
func memoryLimit() int64 {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return 0
	}
	return limit
}

// describe is what clients of this instance read: below its public address, where that is known.
func (a *App) describe(version int) ([]byte, error) {
	return describe(version, cmp.Or(strings.TrimSuffix(a.cfg.PublicURL, "/"), "/"))
}

// surfaces puts the API behind the doors.
func (a *App) surfaces() error {
	options := api.Options{
		Surface: usage.Primary, Operations: operations(a.parts.services), Versions: a.parts.versions,
		Changes: changes, Document: a.describe, Callers: a.parts.callers,
		Keys: a.parts.keys, Bearers: a.parts.bearers, Workspaces: a.parts.accounts.Entry, Operator: a.parts.accounts.Operator, Addresses: a.parts.addresses,
		Limiter: a.parts.limiter,
		Usage:   a.parts.usage, Replays: a.parts.replays, News: a.parts.neighbours.news(),
		Release: a.deps.Version, PublicURL: strings.TrimSuffix(a.cfg.PublicURL, "/"), TrustedProxies: a.cfg.TrustedProxies,
		Origins: a.cfg.CORS.Origins, InFlight: a.cfg.Limits.InFlight, Memory: memoryLimit(),
		Log: a.deps.Log, LogRequests: a.cfg.Log.Requests, Now: a.deps.Now,
	}
	primary, err := api.New(options)
	if err != nil {
		return err
	}
	if err := a.answerSocket(options); err != nil {
		return err
	}
	if a.deps.Local {
		return nil
	}
	a.primary.answer(primary, &a.stopping, a.deps.Log)

	options.Surface = usage.Backend
	probes, err := backend.New(options, backend.Probes{Checks: a.parts.checks(), Stopping: a.stopping.Load})
	if err != nil {
		return err
	}
	a.backend.answer(probes, &a.stopping, a.deps.Log)
	return nil
}
