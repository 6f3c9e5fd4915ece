package postgres_test

import (
	"context"
	"testing"
	"time"

	"keepsake/internal/enginetest"
	"keepsake/internal/store"
	"keepsake/internal/store/postgres"
	"keepsake/internal/store/storetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

func TestStore(t *testing.T) {
	t.Parallel()
	engines := storetest.NewPool(4, func() []store.Engine {
		return []store.Engine{open(t, patient(postgres.Options{URL: migrated(t), Connections: 4}))}
	})
	storetest.Run(t, func(t *testing.T) store.Engine { return engines.Engines(t)[0] })
}

// patient is opt for units that wait for each other in a crowd: on a busy machine that may take longer than a client is to
// be kept waiting, and is no failure.
func patient(opt postgres.Options) postgres.Options {
	opt.Connect, opt.Acquire, opt.Lock, opt.Commit, opt.Answer = time.Minute, time.Minute, time.Minute, time.Minute, time.Minute
	return opt
}

func TestAuditPlans(t *testing.T) {
	t.Parallel()
	e := open(t, postgres.Options{URL: migrated(t), Connections: 4})
	storetest.AuditPlans(t, e, "EXPLAIN", 1, "ANALYZE audit_log")
}

func TestMemoryPlans(t *testing.T) {
	t.Parallel()
	// A plan is what the planner makes of tables that it knows nothing of, and that are too small for it to care.
	opt := postgres.Options{URL: migrated(t) + "&enable_seqscan=off&enable_bitmapscan=off", Connections: 4}
	storetest.MemoryPlans(t, open(t, opt), "EXPLAIN", 1)
}

func open(t testing.TB, opt postgres.Options) *postgres.Engine {
	t.Helper()
	e, err := postgres.Open(context.WithoutCancel(t.Context()), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// migrated is a database with our schemas and no instance in them.
func migrated(t testing.TB) (url string) {
	t.Helper()
	return enginetest.PostgresCopy(t, "migrated", func(ctx context.Context, url string) error {
		return postgres.Migrate(ctx, postgres.Options{URL: url})
	})
}

func TestSideBySide(t *testing.T) {
	t.Parallel()
	engines := storetest.NewPool(4, func() []store.Engine {
		opt := patient(postgres.Options{URL: migrated(t), Connections: 6})
		return []store.Engine{open(t, opt), open(t, opt)}
	})
	storetest.RunSideBySide(t, func(t *testing.T) (a, b store.Engine) {
		two := engines.Engines(t)
		return two[0], two[1]
	})
}
