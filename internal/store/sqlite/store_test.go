package sqlite

import (
	"testing"

	"keepsake/internal/store"
	"keepsake/internal/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Engine { return open(t, t.TempDir()) })
}

func TestSideBySide(t *testing.T) {
	t.Parallel()
	storetest.RunSideBySide(t, func(t *testing.T) (a, b store.Engine) {
		e := open(t, t.TempDir()) // nobody else can have the folder open
		return e, e
	})
}

func TestAuditPlans(t *testing.T) {
	t.Parallel()
	storetest.AuditPlans(t, open(t, t.TempDir()), "EXPLAIN QUERY PLAN", 4, "SELECT 1")
}

func TestMemoryPlans(t *testing.T) {
	t.Parallel()
	storetest.MemoryPlans(t, open(t, t.TempDir()), "EXPLAIN QUERY PLAN", 4)
}
