package postgres

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"keepsake/internal/store"
)

var _ store.Pooled = (*Engine)(nil)

// Pools implements store.Pooled.
func (e *Engine) Pools() []store.Pool {
	var list []store.Pool
	for _, d := range []*database{e.main, e.keys, e.usage} {
		if d.reads == d.units {
			list = append(list, poolOf(d.part, "all", d.units))
			continue
		}
		list = append(list, poolOf(d.part, "read", d.reads), poolOf(d.part, "write", d.units))
	}
	return list
}

func poolOf(part, use string, p *pgxpool.Pool) store.Pool {
	s := p.Stat()
	return store.Pool{
		Database: part, Use: use, InUse: int64(s.AcquiredConns()), Idle: int64(s.IdleConns()), Max: int64(s.MaxConns()),
		Waits: s.EmptyAcquireCount(), Waited: s.EmptyAcquireWaitTime(),
	}
}
