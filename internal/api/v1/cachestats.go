package v1

import (
	"context"
	"time"

	"keepsake/internal/auth"
	"keepsake/internal/endpoint"
)

// CacheStats is the source of the cache statistics.
type CacheStats struct {
	Caches   []Cache
	Indexes  func() IndexNumbers // of documents
	Mode     string              // of the limiter: local, split or shared
	Degraded func() bool         // the limiter cannot share or store its counters
	Started  time.Time
	Now      func() time.Time
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
		out.Body.Limiter = limiterView{Mode: s.Mode, Degraded: s.Degraded()}
		out.Body.UptimeSeconds = int64(s.Now().Sub(s.Started) / time.Second)
		out.Body.RequestID = endpoint.RequestOf(ctx).RequestID()
		return out, nil
	})
}

type cacheStatsAnswer struct {
	Body struct {
		Caches        []cacheView       `json:"caches"`
		SearchIndexes searchIndexesView `json:"searchIndexes"`
		Limiter       limiterView       `json:"limiter"`
		UptimeSeconds int64             `json:"uptimeSeconds"`
		RequestID     string            `json:"requestId"`
	}
}

type cacheView struct {
	Name      string  `json:"name"`
	Entries   int64   `json:"entries"`
	Capacity  int64   `json:"capacity" doc:"The maximum number of entries. 0 means that the cache has no limit."`
	Bytes     int64   `json:"bytes" doc:"The estimated memory use in bytes."`
	Hits      int64   `json:"hits"`
	Misses    int64   `json:"misses"`
	HitRatio  float64 `json:"hitRatio" minimum:"0" maximum:"1"`
	Evictions int64   `json:"evictions"`
}

type searchIndexesView struct {
	Documents     int64 `json:"documents" doc:"The number of documents in the indexes that were opened since the start of the process. The other numbers are of the same indexes."`
	DeadDocuments int64 `json:"deadDocuments" doc:"Deleted and replaced documents whose words are still in files."`
	Segments      int64 `json:"segments"`
	FileBytes     int64 `json:"fileBytes"`
	MemoryBytes   int64 `json:"memoryBytes" doc:"The size of what is not in files yet."`
	LagChanges    int64 `json:"lagChanges" doc:"Changes of documents that the open indexes do not contain yet."`
	Flushes       int64 `json:"flushes" doc:"How often changes in memory were written to a file since the start of the process."`
	Merges        int64 `json:"merges" doc:"How often files were merged since the start of the process."`
	Rewritten     int64 `json:"rewrittenDocuments" doc:"How many documents were written by flushes and merges since the start of the process."`
}

type limiterView struct {
	Mode     string `json:"mode" enum:"local,split,shared" doc:"How requests are counted. With local, one process counts all of them. With split, each process has its share of every limit. With shared, all processes count together."`
	Degraded bool   `json:"degraded" doc:"Whether counters cannot be stored or shared right now."`
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
