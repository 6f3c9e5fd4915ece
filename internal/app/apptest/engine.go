package apptest

import (
	"context"
	"os"
	"sync"
	"testing"

	"keepsake/internal/app/config"
	"keepsake/internal/store/postgres"
	"keepsake/internal/testing/enginetest"
)

// EngineVariable is the environment variable with the engine for tests of the whole program: sqlite, the default, or
// postgres.
const EngineVariable = "KEEPSAKE_TEST_ENGINE"

// OnPostgres reports whether the tests run on PostgreSQL.
func OnPostgres(t testing.TB) bool {
	t.Helper()
	switch engine := os.Getenv(EngineVariable); engine {
	case "", "sqlite":
		return false
	case "postgres":
		return true
	default:
		t.Fatalf("%s is %q, want sqlite or postgres", EngineVariable, engine)
		return false
	}
}

// OnSQLite skips a test on other engines than SQLite. why says what makes it a test of that engine.
func OnSQLite(t testing.TB, why string) {
	t.Helper()
	if OnPostgres(t) {
		t.Skip("about SQLite alone: " + why)
	}
}

// databases are the addresses of the databases that belong to data folders.
var databases struct {
	sync.Mutex
	of map[string]string
}

// DatabaseURL returns the setting databaseUrl for a data folder. On PostgreSQL, each folder has its own database, which is
// dropped at the end of the first test that asked for it. On SQLite, the setting is empty.
func DatabaseURL(t testing.TB, dir string) string {
	t.Helper()
	if !OnPostgres(t) {
		return ""
	}
	databases.Lock()
	defer databases.Unlock()
	if url, ok := databases.of[dir]; ok {
		return url
	}
	if databases.of == nil {
		databases.of = map[string]string{}
	}
	url := Database(t)
	databases.of[dir] = url
	return url
}

// Database returns a private, empty database that already has the schema, which saves most of the time of a start.
func Database(t testing.TB) (url string) {
	t.Helper()
	return enginetest.PostgresCopy(t, "migrated", func(ctx context.Context, url string) error {
		return postgres.Migrate(ctx, postgres.Options{URL: url})
	})
}

// Share lets a copy of a data folder use the database of the original.
func Share(from, to string) {
	databases.Lock()
	defer databases.Unlock()
	if url, ok := databases.of[from]; ok {
		databases.of[to] = url
	}
}

// Local returns the configuration of a program on a data folder and free ports, with the engine of the tests.
func Local(t testing.TB, dir string) config.Config {
	t.Helper()
	c := config.Default()
	c.Data, c.Listen, c.BackendListen = dir, "127.0.0.1:0", "127.0.0.1:0"
	c.DatabaseURL = DatabaseURL(t, dir)
	wait(&c)
	return c
}

// Use sets the database of a data folder to one that the test has created.
func Use(dir, url string) {
	databases.Lock()
	defer databases.Unlock()
	if databases.of == nil {
		databases.of = map[string]string{}
	}
	databases.of[dir] = url
}
