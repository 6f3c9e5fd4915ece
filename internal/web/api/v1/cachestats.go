package v1

import (
	"context"
	"time"

	"keepsake/internal/govern/auth"
	"keepsake/internal/web/endpoint"
)

// CacheStats is the source of the cache statistics.
type CacheStats struct {
	Caches     []Cache
	Indexes    func() IndexNumbers // of documents
	OpenSearch func(ctx context.Context) *OpenSearchNumbers
	Embeddings func(ctx context.Context) EmbeddingNumbers
	Mode       string      // of the limiter: local, split or shared
	Degraded   func() bool // the limiter cannot share or store its counters
	Parts      func(ctx context.Context) []Part
	Members    func() int // processes of the instance that respond; 1 if there can be no others
	Shared     bool       // processes share the database
	Started    time.Time
	Now        func() time.Time
}

// Part is a part of the process that can fail.
type Part struct {
	Name      string
	Status    string // ok, degraded, failed or off
	FreeBytes *int64 // of a disk
}

// Cache is a cache with statistics.
type Cache struct {
	Name  string
	Stats func() CacheNumbers
}

// CacheNumbers are the statistics of a cache.
type CacheNumbers struct {
	Entries   int64
	Capacity  int64 // 0: unlimited
	Bytes     int64
	Hits      int64
	Misses    int64
	Evictions int64
}

// IndexNumbers describe the search indexes of all workspaces in this process.
type IndexNumbers struct {
	Documents     int64
	DeadDocuments int64
	Segments      int64
	FileBytes     int64
	MemoryBytes   int64
	LagChanges    int64
	Flushes       int64
	Merges        int64
	Rewritten     int64
	Renewing      int64
	Renewed       int64
	Held          int64
	DiskBudget    int64
	Built         int64
	Dropped       int64
	Building      int64
	BuildingDone  int64
	BuildingAll   int64
}

// EmbeddingNumbers describe the embeddings endpoint. The numbers of texts are those of this process since its start.
type EmbeddingNumbers struct {
	State           string             // off, ready, paused or limited
	Progress        *EmbeddingProgress // nil without an endpoint, and if the database does not answer
	DailyTexts      int64
	SentMemories    int64
	SentQueries     int64
	DegradedQueries int64
}

// EmbeddingProgress is what the database knows of the workspaces that use the endpoint.
type EmbeddingProgress struct {
	Workspaces      int64
	Memories        int64
	WaitingMemories int64
	WaitingSubjects int64
	TextsToday      int64
}

// AddCacheStats declares the cache statistics. They concern every workspace, so only the operator workspace can read them.
func AddCacheStats(r *endpoint.Registry, s *CacheStats) {
	endpoint.Add(r, endpoint.Operation{
		ID: "cacheStats", Method: "GET", Path: "/admin/cache-stats", Since: 1, Tag: "admin", Summary: "Get the statistics of the caches",
		Description: "Only credentials of the operator workspace can call this operation.",
		Credentials: endpoint.Key | endpoint.Bearer, Scope: auth.Admin, Operator: true, Status: 200, Vital: true,
	}, func(ctx context.Context, _ *struct{}) (*cacheStatsAnswer, error) {
		out := &cacheStatsAnswer{}
		for _, c := range s.Caches {
			out.Body.Caches = append(out.Body.Caches, viewOfCache(c.Name, c.Stats()))
		}
		out.Body.SearchIndexes = searchIndexesView(s.Indexes())
		out.Body.OpenSearch = viewOfOpenSearch(s.OpenSearch(ctx))
		out.Body.Embeddings = viewOfEmbeddings(s.Embeddings(ctx))
		out.Body.Limiter = limiterView{Mode: s.Mode, Degraded: s.Degraded()}
		out.Body.Database, out.Body.Members = "embedded", s.Members()
		if s.Shared {
			out.Body.Database = "shared"
		}
		out.Body.Parts = []partView{}
		for _, part := range s.Parts(ctx) {
			out.Body.Parts = append(out.Body.Parts, partView(part))
		}
		out.Body.UptimeSeconds = int64(s.Now().Sub(s.Started) / time.Second)
		out.Body.RequestID = endpoint.RequestOf(ctx).RequestID()
		return out, nil
	})
}

type cacheStatsAnswer struct {
	Body struct {
		Caches        []cacheView       `json:"caches" doc:"The caches of the process that answered the request."`
		SearchIndexes searchIndexesView `json:"searchIndexes" doc:"The search indexes that this process holds, of all workspaces together."`
		OpenSearch    *openSearchView   `json:"openSearch,omitempty" doc:"The indexes in OpenSearch, as this process knows them. It is absent without a cluster (search.opensearch.url)."`
		Embeddings    embeddingsView    `json:"embeddings" doc:"The state of the embeddings endpoint, and what was sent to it."`
		Limiter       limiterView       `json:"limiter" doc:"The way in which requests are counted for rate limits and quotas."`
		Database      string            `json:"database" enum:"embedded,shared" doc:"Whether this process has its own database, or several processes can share one."`
		Members       int               `json:"members" doc:"The number of processes of the instance that respond, with this one."`
		Parts         []partView        `json:"parts" doc:"The parts of the process that answered the request. The readiness check lists the same parts."`
		UptimeSeconds int64             `json:"uptimeSeconds" doc:"The number of seconds since the process started."`
		RequestID     string            `json:"requestId"`
	}
}

type cacheView struct {
	Name      string  `json:"name" doc:"The name of the cache, such as apiKeys or recallIndexes."`
	Entries   int64   `json:"entries" doc:"The number of entries that are in the cache now."`
	Capacity  int64   `json:"capacity" doc:"The maximum number of entries. 0 means that the cache has no limit."`
	Bytes     int64   `json:"bytes" doc:"The estimated memory use in bytes."`
	Hits      int64   `json:"hits" doc:"The number of look-ups that found an entry, since the start of the process."`
	Misses    int64   `json:"misses" doc:"The number of look-ups that found none, since the start of the process."`
	HitRatio  float64 `json:"hitRatio" minimum:"0" maximum:"1" doc:"The hits as a fraction of all look-ups. It is 0 before the first one."`
	Evictions int64   `json:"evictions" doc:"The number of entries that were removed to make room, since the start of the process."`
}

type searchIndexesView struct {
	Documents     int64 `json:"documents" doc:"The number of documents in the indexes that were opened since the start of the process."`
	DeadDocuments int64 `json:"deadDocuments" doc:"Deleted and replaced documents whose words are still in files."`
	Segments      int64 `json:"segments" doc:"The number of parts that the indexes consist of, in files and in memory."`
	FileBytes     int64 `json:"fileBytes" doc:"The size of the indexes' files in bytes."`
	MemoryBytes   int64 `json:"memoryBytes" doc:"The size in bytes of what is not in files yet."`
	LagChanges    int64 `json:"lagChanges" doc:"Changes of documents that the open indexes do not contain yet."`
	Flushes       int64 `json:"flushes" doc:"How often changes in memory were written to a file since the start of the process."`
	Merges        int64 `json:"merges" doc:"How often files were merged since the start of the process."`
	Rewritten     int64 `json:"rewrittenDocuments" doc:"How many documents were written by flushes and merges since the start of the process."`
	Renewing      int64 `json:"renewingDocuments" doc:"Documents that are to be indexed again, because the settings of their collection changed."`
	Renewed       int64 `json:"renewedDocuments" doc:"How many documents were indexed again for that reason since the start of the process."`
	Held          int64 `json:"held" doc:"The number of indexes that the process holds: those of workspaces that were searched through it."`
	DiskBudget    int64 `json:"diskBudgetBytes" doc:"The bytes of files beyond which the indexes that were searched least recently are dropped (search.diskBudget). 0 means no bound."`
	Built         int64 `json:"built" doc:"How many indexes were built since the start of the process."`
	Dropped       int64 `json:"dropped" doc:"How many indexes were dropped since the start of the process, because of the disk budget."`
	Building      int64 `json:"building" doc:"The number of indexes that are being built now. Searches of their workspaces wait, or get 503."`
	BuildingDone  int64 `json:"buildingDocuments" doc:"How many documents these have so far."`
	BuildingAll   int64 `json:"buildingTotal" doc:"How many documents they will have."`
}

type embeddingsView struct {
	State           string                 `json:"state" enum:"off,ready,paused,limited" doc:"The state is off without an endpoint, paused for a while after failures, and limited when the limit of the day, or a workspace's share of it, is reached."`
	Progress        *embeddingProgressView `json:"progress,omitempty" doc:"The progress is absent without an endpoint, and while the database does not answer."`
	DailyTexts      int64                  `json:"dailyTexts" doc:"The number of texts that can be sent in a UTC day."`
	SentMemories    int64                  `json:"sentMemories" doc:"Texts of memories that this process sent since its start."`
	SentQueries     int64                  `json:"sentQueries" doc:"Queries that this process sent since its start."`
	DegradedQueries int64                  `json:"degradedQueries" doc:"Queries that this process answered without a vector since its start."`
}

type embeddingProgressView struct {
	Workspaces      int64 `json:"workspaces" doc:"The number of workspaces that use the endpoint."`
	Memories        int64 `json:"memories" doc:"The number of memories in these workspaces."`
	WaitingMemories int64 `json:"waitingMemories" doc:"Memories of subjects that lack vectors. All memories of a subject wait until the last one has a vector."`
	WaitingSubjects int64 `json:"waitingSubjects" doc:"The number of subjects with memories that lack vectors."`
	TextsToday      int64 `json:"textsToday" doc:"Texts that all processes together sent, or reserved to send, in this UTC day."`
}

func viewOfEmbeddings(n EmbeddingNumbers) embeddingsView {
	return embeddingsView{
		State: n.State, Progress: (*embeddingProgressView)(n.Progress), DailyTexts: n.DailyTexts,
		SentMemories: n.SentMemories, SentQueries: n.SentQueries, DegradedQueries: n.DegradedQueries,
	}
}

type limiterView struct {
	Mode     string `json:"mode" enum:"local,split,shared" doc:"How requests are counted. With local, one process counts all of them. With split, each process has its share of every limit. With shared, all processes count together."`
	Degraded bool   `json:"degraded" doc:"Whether counters cannot be stored or shared right now."`
}

type partView struct {
	Name      string `json:"name" doc:"The name of the part, such as storage or disk." example:"disk"`
	Status    string `json:"status" enum:"ok,degraded,failed,off" doc:"Requests are served without a part that is degraded. A part that failed makes the process not ready. The instance does not have a part that is off."`
	FreeBytes *int64 `json:"freeBytes" doc:"The free space of the disk with the data folder. It is null for other parts."`
}

func viewOfCache(name string, n CacheNumbers) cacheView {
	v := cacheView{
		Name: name, Entries: n.Entries, Capacity: n.Capacity, Bytes: n.Bytes,
		Hits: n.Hits, Misses: n.Misses, Evictions: n.Evictions,
	}
	if asked := n.Hits + n.Misses; asked > 0 {
		v.HitRatio = float64(n.Hits) / float64(asked)
	}
	return v
}
