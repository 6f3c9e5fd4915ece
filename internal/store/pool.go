package store

import "time"

// Pooled is implemented by engines with pools of connections.
type Pooled interface {
	// Pools returns the statistics of every pool.
	Pools() []Pool
}

// Pool says how busy the connections of a database are.
type Pool struct {
	Database string // main, keys or usage
	Use      string // read, write, or all for a pool for both
	InUse    int64
	Idle     int64
	Max      int64
	Queued   int64         // transactions that wait; 0 if the engine does not know
	Waits    int64         // callers that waited for a connection since the program started
	Waited   time.Duration // how long all of them waited
}
