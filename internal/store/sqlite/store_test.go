package sqlite

import (
	"testing"

	"keepsake/internal/store"
	"keepsake/internal/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	engines := storetest.NewPool(4, func() []store.Engine { return []store.Engine{open(t, emptyInstance(t))} })
	storetest.Run(t, func(t *testing.T) store.Engine { return engines.Engines(t)[0] })
}

func TestSideBySide(t *testing.T) {
	t.Parallel()
	engines := storetest.NewPool(4, func() []store.Engine { return []store.Engine{open(t, emptyInstance(t))} })
	storetest.RunSideBySide(t, func(t *testing.T) (a, b store.Engine) {
		e := engines.Engines(t)[0] // no other engine can have the folder open
		return e, e
	})
}

func TestAuditPlans(t *testing.T) {
	t.Parallel()
	storetest.AuditPlans(t, open(t, emptyInstance(t)), "EXPLAIN QUERY PLAN", 4, "SELECT 1")
}

func TestMemoryPlans(t *testing.T) {
	t.Parallel()
	storetest.MemoryPlans(t, open(t, emptyInstance(t)), "EXPLAIN QUERY PLAN", 4)
}
