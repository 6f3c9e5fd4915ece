package client

import (
	"context"
	"time"
)

// Health is the state of the service.
type Health struct {
	Status    string    `json:"status"`  // healthy or degraded
	Version   string    `json:"version"` // of the API
	Timestamp time.Time `json:"timestamp"`
}

// Health reads the state of the service. It needs a key.
func (c *Client) Health(ctx context.Context) (*Health, error) {
	return result[Health](func(out any) error { return c.get(ctx, "/api/v1/health", nil, out) })
}

// CacheStats contains the statistics of an instance's caches.
type CacheStats struct {
	Caches        []Cache          `json:"caches"`
	SearchIndexes SearchIndexes    `json:"searchIndexes"`
	OpenSearch    *OpenSearchState `json:"openSearch"` // nil: no cluster is set
	Embeddings    EmbeddingState   `json:"embeddings"`
	Limiter       Limiter          `json:"limiter"`
	Database      string           `json:"database"` // embedded or shared
	Members       int              `json:"members"`  // processes of the instance that respond
	Parts         []SystemPart     `json:"parts"`
	UptimeSeconds int64            `json:"uptimeSeconds"`
	RequestID     string           `json:"requestId"`
}

// OpenSearchState describes the indexes in OpenSearch, as the process that answered the call knows them.
type OpenSearchState struct {
	State      string                `json:"state"` // of the cluster: starting, ok, or what is the matter
	Since      *time.Time            `json:"since"`
	Version    *string               `json:"version"`        // nil until it was read
	Total      int                   `json:"workspaceCount"` // workspaces whose index is there or is moved there
	Workspaces []OpenSearchWorkspace `json:"workspaces"`     // the worst ones
}

// OpenSearchWorkspace describes the index of a workspace. State is elsewhere if another process follows it. What is not known is nil.
type OpenSearchWorkspace struct {
	ID            string     `json:"id"`
	Name          string     `json:"name"`
	State         string     `json:"state"`
	Since         *time.Time `json:"since"`
	SearchedIn    string     `json:"searchedIn"` // SearchLocal or SearchOpenSearch
	MovesTo       *string    `json:"movesTo"`    // nil: the index is not moved
	MovePercent   *int       `json:"movePercent"`
	ChangesBehind *int64     `json:"changesBehind"`
	Complete      *bool      `json:"complete"` // searches can read an index there
}

// EmbeddingState describes the embeddings endpoint.
type EmbeddingState struct {
	State           string             `json:"state"`      // off, ready, paused or limited
	Progress        *EmbeddingProgress `json:"progress"`   // nil without an endpoint, and while the database does not answer
	DailyTexts      int64              `json:"dailyTexts"` // how many can be sent in a day
	SentMemories    int64              `json:"sentMemories"`
	SentQueries     int64              `json:"sentQueries"`
	DegradedQueries int64              `json:"degradedQueries"`
}

// EmbeddingProgress says how many memories wait for vectors.
type EmbeddingProgress struct {
	Workspaces      int64 `json:"workspaces"`      // that use the endpoint
	Memories        int64 `json:"memories"`        // of these workspaces
	WaitingMemories int64 `json:"waitingMemories"` // of subjects whose vectors are not complete
	WaitingSubjects int64 `json:"waitingSubjects"`
	TextsToday      int64 `json:"textsToday"` // in this UTC day, by all processes
}

// SystemPart is a part of the process that answered the call.
type SystemPart struct {
	Name      string `json:"name"`
	Status    string `json:"status"`    // ok, degraded, failed, off
	FreeBytes *int64 `json:"freeBytes"` // nil for parts other than the disk
}

// SearchIndexes describes the search indexes that the process holds.
type SearchIndexes struct {
	Documents     int64 `json:"documents"`     // in those that were opened since the start
	DeadDocuments int64 `json:"deadDocuments"` // whose words are still in files
	Segments      int64 `json:"segments"`
	FileBytes     int64 `json:"fileBytes"`
	MemoryBytes   int64 `json:"memoryBytes"` // of what is not in files yet
	LagChanges    int64 `json:"lagChanges"`
	Flushes       int64 `json:"flushes"` // since the start
	Merges        int64 `json:"merges"`
	Rewritten     int64 `json:"rewrittenDocuments"`
	Renewing      int64 `json:"renewingDocuments"` // documents that are to be indexed again, because settings changed
	Renewed       int64 `json:"renewedDocuments"`
	Held          int64 `json:"held"`
	DiskBudget    int64 `json:"diskBudgetBytes"` // 0: no bound
	Built         int64 `json:"built"`           // since the start
	Dropped       int64 `json:"dropped"`         // because of the disk budget
	Building      int64 `json:"building"`        // now
	BuildingDone  int64 `json:"buildingDocuments"`
	BuildingAll   int64 `json:"buildingTotal"`
}

// Cache contains the statistics of one cache. Capacity is 0 if it is unlimited; Bytes is an estimate.
type Cache struct {
	Name      string  `json:"name"`
	Entries   int64   `json:"entries"`
	Capacity  int64   `json:"capacity"`
	Bytes     int64   `json:"bytes"`
	Hits      int64   `json:"hits"`
	Misses    int64   `json:"misses"`
	HitRatio  float64 `json:"hitRatio"`
	Evictions int64   `json:"evictions"`
}

// Limiter describes how limits are counted.
type Limiter struct {
	Mode     string `json:"mode"` // local, split, shared
	Degraded bool   `json:"degraded"`
}

// CacheStats reads the statistics of the caches. It needs the scope admin in the operator workspace.
func (c *Client) CacheStats(ctx context.Context) (*CacheStats, error) {
	return result[CacheStats](func(out any) error { return c.get(ctx, "/api/v1/admin/cache-stats", nil, out) })
}
