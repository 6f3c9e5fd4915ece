package postgres_test

import (
	"cmp"
	"context"
	"testing"
	"time"

	"keepsake/internal/store"
	"keepsake/internal/store/postgres"
	"keepsake/internal/store/storetest"
	"keepsake/internal/store/usage/usagetest"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

func TestMain(m *testing.M) {
	testtier.Checks(20) // the suite runs all of them on SQLite
	enginetest.Main(m)
}

func TestStore(t *testing.T) {
	t.Parallel()
	engines := storetest.NewPool(4, func() []store.Engine {
		return []store.Engine{open(t, postgres.Options{URL: migrated(t), Connections: 4})}
	})
	open := func(t *testing.T) store.Engine { return engines.Engines(t)[0] }
	storetest.Run(t, open)
	usagetest.Run(t, open)
}

func TestAuditPlans(t *testing.T) {
	t.Parallel()
	// The tables are so small that the planner would prefer sequential scans.
	e := open(t, postgres.Options{URL: migrated(t) + "&enable_seqscan=off", Connections: 4})
	storetest.AuditPlans(t, e, "EXPLAIN", 1, "ANALYZE audit_log, audit_read, audit_name")
}

func TestMemoryPlans(t *testing.T) {
	t.Parallel()
	// The tables are empty and unknown to the planner, so prevent sequential scans.
	opt := postgres.Options{URL: migrated(t) + "&enable_seqscan=off&enable_bitmapscan=off", Connections: 4}
	storetest.MemoryPlans(t, open(t, opt), "EXPLAIN", 1)
}

func TestDocumentPlans(t *testing.T) {
	t.Parallel()
	opt := postgres.Options{URL: migrated(t) + "&enable_seqscan=off&enable_bitmapscan=off", Connections: 4}
	storetest.DocumentPlans(t, open(t, opt), "EXPLAIN", 1, "ANALYZE document")
}

func open(t testing.TB, opt postgres.Options) *postgres.Engine {
	t.Helper()
	e, err := postgres.Open(context.WithoutCancel(t.Context()), patient(opt))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// patient is opt with longer time-outs. On a busy machine, a server with many concurrent transactions can take longer
// than a client should wait.
func patient(opt postgres.Options) postgres.Options {
	for _, wait := range []*time.Duration{
		&opt.Connect, &opt.Acquire, &opt.Statement, &opt.Lock, &opt.Unit, &opt.Answer, &opt.Commit, &opt.Migrate,
	} {
		*wait = cmp.Or(*wait, time.Minute)
	}
	return opt
}

// migrated is a database with our schemas and without an instance.
func migrated(t testing.TB) (url string) {
	t.Helper()
	return enginetest.PostgresCopy(t, "migrated", func(ctx context.Context, url string) error {
		return postgres.Migrate(ctx, patient(postgres.Options{URL: url}))
	})
}

func TestSideBySide(t *testing.T) {
	t.Parallel()
	engines := storetest.NewPool(4, func() []store.Engine {
		opt := postgres.Options{URL: migrated(t), Connections: 6}
		return []store.Engine{open(t, opt), open(t, opt)}
	})
	open := func(t *testing.T) (a, b store.Engine) {
		two := engines.Engines(t)
		return two[0], two[1]
	}
	storetest.RunSideBySide(t, open)
	usagetest.RunSideBySide(t, open)
}
