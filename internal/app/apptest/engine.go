package apptest

import (
	"context"
	"os"
	"sync"
	"testing"

	"keepsake/internal/config"
	"keepsake/internal/enginetest"
	"keepsake/internal/store/postgres"
)

// EngineVariable names the engine that tests of the whole program run on: sqlite, which is also meant when it is not set,
// or postgres.
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

// OnSQLite skips a test on another engine than SQLite: what it shows is about that engine alone. why says what.
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

// DatabaseURL is the setting databaseUrl for a data folder: on PostgreSQL an address, the same one for the same folder, of
// a database that is dropped when the first test ends that asked for it; else empty.
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

// Database gives an empty database of the test's own that has the schema already, which spares a start most of its time.
func Database(t testing.TB) (url string) {
	t.Helper()
	return enginetest.PostgresCopy(t, "migrated", func(ctx context.Context, url string) error {
		return postgres.Migrate(ctx, postgres.Options{URL: url})
	})
}

// Share lets a copy of a data folder have the database of the folder it was made of.
func Share(from, to string) {
	databases.Lock()
	defer databases.Unlock()
	if url, ok := databases.of[from]; ok {
		databases.of[to] = url
	}
}

// Local is the configuration of a program on a data folder and free ports, on the engine that the tests run on.
func Local(t testing.TB, dir string) config.Config {
	t.Helper()
	c := config.Default()
	c.Data, c.Listen, c.BackendListen = dir, "127.0.0.1:0", "127.0.0.1:0"
	c.DatabaseURL = DatabaseURL(t, dir)
	wait(&c)
	return c
}

// Use gives a data folder a database that the test has made itself.
func Use(dir, url string) {
	databases.Lock()
	defer databases.Unlock()
	if databases.of == nil {
		databases.of = map[string]string{}
	}
	databases.of[dir] = url
}
