package sqlite

import (
	"context"
	"testing"

	"keepsake/internal/store"
	"keepsake/internal/store/storetest"
	"keepsake/internal/store/usage/usagetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	engines := storetest.NewPool(4, func() []store.Engine { return []store.Engine{openWithoutSync(t)} })
	open := func(t *testing.T) store.Engine { return engines.Engines(t)[0] }
	storetest.Run(t, open)
	usagetest.Run(t, open)
}

// openWithoutSync opens an engine that does not wait for the disk, for tests that are not about it.
func openWithoutSync(t *testing.T) *Engine {
	t.Helper()
	e := open(t, emptyInstance(t))
	for _, d := range e.files() {
		if _, err := d.session.conn.ExecContext(context.WithoutCancel(t.Context()), "PRAGMA synchronous = OFF"); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

func TestSideBySide(t *testing.T) {
	t.Parallel()
	engines := storetest.NewPool(4, func() []store.Engine { return []store.Engine{openWithoutSync(t)} })
	open := func(t *testing.T) (a, b store.Engine) {
		e := engines.Engines(t)[0] // no other engine can have the folder open
		return e, e
	}
	storetest.RunSideBySide(t, open)
	usagetest.RunSideBySide(t, open)
}

func TestAuditPlans(t *testing.T) {
	t.Parallel()
	storetest.AuditPlans(t, openWithoutSync(t), "EXPLAIN QUERY PLAN", 4, "SELECT 1")
}

func TestMemoryPlans(t *testing.T) {
	t.Parallel()
	storetest.MemoryPlans(t, openWithoutSync(t), "EXPLAIN QUERY PLAN", 4)
}

func TestDocumentPlans(t *testing.T) {
	t.Parallel()
	storetest.DocumentPlans(t, openWithoutSync(t), "EXPLAIN QUERY PLAN", 4, "SELECT 1")
}
