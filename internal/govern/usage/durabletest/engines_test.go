package durabletest

import (
	"context"
	"flag"
	"strconv"
	"testing"
	"time"

	"keepsake/internal/store"
	"keepsake/internal/store/postgres"
	"keepsake/internal/store/sqlite"
	usagestore "keepsake/internal/store/usage"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

func TestMain(m *testing.M) {
	// A random rapid test sends a few hundred statements.
	if err := flag.Set("rapid.checks", strconv.Itoa(testtier.Rounds(15, 100))); err != nil {
		panic(err)
	}
	enginetest.Main(m)
}

// stores are the stores on one engine.
type stores struct {
	*usagestore.Store
	main *store.Store
}

// opener opens stores, the same ones each time.
type opener func(t testing.TB) (s *stores, end func())

// onEachEngine runs fn on an empty store of each engine.
func onEachEngine(t *testing.T, fn func(t *testing.T, open opener)) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		fn(t, onSQLite(t.TempDir()))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		fn(t, onPostgres(migrated(t)))
	})
}

func onSQLite(dir string) opener {
	return func(t testing.TB) (*stores, func()) {
		t.Helper()
		engine, err := sqlite.Open(context.Background(), sqlite.Options{Dir: dir})
		return opened(t, engine, err)
	}
}

// onPostgres opens a database with long time-outs, for slow machines.
func onPostgres(url string) opener {
	return func(t testing.TB) (*stores, func()) {
		t.Helper()
		engine, err := postgres.Open(context.Background(), postgres.Options{
			URL: url, Connect: time.Minute, Acquire: time.Minute, Statement: time.Minute, Lock: time.Minute,
			Unit: 2 * time.Minute, Answer: time.Minute, Commit: time.Minute,
		})
		return opened(t, engine, err)
	}
}

// migrated is the URL of an empty database with our schemas.
func migrated(t testing.TB) string {
	t.Helper()
	return enginetest.PostgresCopy(t, "migrated", func(ctx context.Context, url string) error {
		return postgres.Migrate(ctx, postgres.Options{URL: url})
	})
}

// watched wraps engines that are opened, for benchmarks.
var watched func(store.Engine) store.Engine

func opened[E interface {
	store.Engine
	Close() error
}](t testing.TB, engine E, err error) (*stores, func()) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var used store.Engine = engine
	if watched != nil {
		used = watched(used)
	}
	return &stores{usagestore.New(used), store.New(used)}, func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	}
}
