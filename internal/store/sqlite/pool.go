package sqlite

import (
	"strings"

	"keepsake/internal/store"
)

var _ store.Pooled = (*Engine)(nil)

// Pools implements store.Pooled. A file has one connection that writes, and a queue of transactions for it.
func (e *Engine) Pools() []store.Pool {
	var list []store.Pool
	for _, d := range e.files() {
		name := strings.TrimSuffix(d.file, ".db")
		reads := d.readers.db.Stats()
		list = append(list, store.Pool{
			Database: name, Use: "read", InUse: int64(reads.InUse), Idle: int64(reads.Idle), Max: int64(reads.MaxOpenConnections),
			Waits: reads.WaitCount, Waited: reads.WaitDuration,
		})
		write := store.Pool{Database: name, Use: "write", Max: 1, Queued: int64(len(d.writer.queue))}
		if d.writer.busy.Load() {
			write.InUse = 1
		} else {
			write.Idle = 1
		}
		list = append(list, write)
	}
	return list
}
