package client

import (
	"context"
	"time"
)

// Health says how the service is.
type Health struct {
	Status    string    `json:"status"`  // healthy or degraded
	Version   string    `json:"version"` // of the API
	Timestamp time.Time `json:"timestamp"`
}

// Health asks how the service is. It needs a key.
func (c *Client) Health(ctx context.Context) (*Health, error) {
	return result[Health](func(out any) error { return c.get(ctx, "/api/v1/health", nil, out) })
}

// CacheStats says how the caches of an instance are doing.
type CacheStats struct {
	Caches        []Cache `json:"caches"`
	Limiter       Limiter `json:"limiter"`
	UptimeSeconds int64   `json:"uptimeSeconds"`
	RequestID     string  `json:"requestId"`
}

// Cache is one of them. Capacity is 0 for one without a bound; Bytes is an estimate.
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

// Limiter says how limits are counted.
type Limiter struct {
	Mode     string `json:"mode"` // local
	Degraded bool   `json:"degraded"`
}

// CacheStats reads the statistics; it needs the scope admin in the operator workspace.
func (c *Client) CacheStats(ctx context.Context) (*CacheStats, error) {
	return result[CacheStats](func(out any) error { return c.get(ctx, "/api/v1/admin/cache-stats", nil, out) })
}
