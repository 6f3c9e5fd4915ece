package postgres_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"keepsake/internal/store"
	"keepsake/internal/store/postgres"
	"keepsake/internal/store/sqlite"
	"keepsake/internal/testing/enginetest"
)

func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

func exec(t testing.TB, url string, statements ...string) {
	t.Helper()
	conn := connect(t, url)
	defer conn.Close(t.Context())
	for _, s := range statements {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// wantRefused opens the database and expects an error of one line that contains all words and no secret.
func wantRefused(t *testing.T, opt postgres.Options, words ...string) {
	t.Helper()
	e, err := postgres.Open(t.Context(), patient(opt))
	if err == nil {
		e.Close()
		t.Fatal("it opened")
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("got %q, want the words %q", err, word)
		}
	}
	if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("not one line without a secret: %q", err)
	}
}

func TestFailedOpenExplainsInOneLine(t *testing.T) {
	t.Parallel()
	s := enginetest.StartPostgres(t, enginetest.PostgresOptions{TCP: true, Password: "s3cret"})
	name := s.NewDatabase(t)
	right := s.TCPURL(s.Address(), name)
	change := func(old, replacement string) string {
		if !strings.Contains(right, old) {
			t.Fatalf("%q is not in %q", old, right)
		}
		return strings.Replace(right, old, replacement, 1)
	}
	for _, c := range []struct {
		name  string
		url   string
		words []string
	}{
		{"NoURL", "mysql://root:s3cret@db/x", []string{"postgres://user:password@host"}},
		{"APasswordThatIsNotEscaped", "postgres://me:s3cret#@db/x", []string{"percent-encoded"}},
		{"AWrongSetting", change("disable", "s0metimes"), []string{"setting"}},
		{"AWrongPassword", change("s3cret", "s3cret2"), []string{s.Address(), "user and the password"}},
		{"NoSuchDatabase", change("/"+name, "/elsewhere"), []string{"no such database", "CREATE DATABASE elsewhere OWNER keepsake"}},
		{"NoServer", change(s.Address(), "127.0.0.1:1"), []string{"127.0.0.1:1", "cannot be reached", "refused"}},
	} {
		t.Run(c.name, func(t *testing.T) { wantRefused(t, postgres.Options{URL: c.url}, c.words...) })
	}

	t.Run("OneReason", func(t *testing.T) { // also if the driver tries again without TLS
		_, err := postgres.Open(t.Context(), postgres.Options{URL: "postgres://keepsake@127.0.0.1:1/x?sslmode=prefer"})
		if err == nil || strings.Count(err.Error(), "refused") != 1 {
			t.Errorf("the error is %v", err)
		}
	})
	t.Run("NoRights", func(t *testing.T) {
		s.Exec(t, "CREATE DATABASE foreign_one")
		s.Exec(t, "REVOKE CREATE ON DATABASE foreign_one FROM PUBLIC")
		wantRefused(t, postgres.Options{URL: s.URL("foreign_one")}, "lacks privileges", "GRANT CREATE ON DATABASE foreign_one TO keepsake")
	})
	t.Run("AnotherEncoding", func(t *testing.T) {
		s.Exec(t, "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 OWNER keepsake")
		wantRefused(t, postgres.Options{URL: s.URL("latin")}, "LATIN1", "UTF8")
	})
	t.Run("Stopped", func(t *testing.T) {
		s.Stop(t)
		wantRefused(t, postgres.Options{URL: right}, "cannot be reached")
	})
}

func TestConcurrentOpensCreateOneInstance(t *testing.T) {
	t.Parallel()
	url := enginetest.Postgres(t)
	var all sync.WaitGroup
	ids := make([]string, 5)
	for i := range ids {
		all.Go(func() {
			e, err := postgres.Open(t.Context(), patient(postgres.Options{URL: url}))
			if err != nil {
				t.Error(err)
				return
			}
			defer e.Close()
			if ids[i], err = store.New(e).Secrets.InstanceID(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(slices.Compact(ids)) != 1 || ids[0] == "" {
		t.Errorf("they opened the instances %v", ids)
	}
}

func TestAloneRunsOneAtATime(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	engines := []*postgres.Engine{open(t, postgres.Options{URL: url}), open(t, postgres.Options{URL: url})}
	var running sync.Mutex
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			err := engines[i%2].Alone(t.Context(), "first start", func(context.Context) error {
				if !running.TryLock() {
					return fmt.Errorf("two ran at once")
				}
				defer running.Unlock()
				return engines[i%2].Ready(t.Context())
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestPartsOfDifferentInstancesAreRefused(t *testing.T) {
	t.Parallel()
	made := func(t *testing.T) (url, keys string) {
		url, keys = migrated(t), migrated(t)
		open(t, postgres.Options{URL: url, KeysURL: keys}).Close()
		return url, keys
	}
	t.Run("Whole", func(t *testing.T) {
		t.Parallel()
		url, keys := enginetest.Postgres(t), enginetest.Postgres(t)
		open(t, postgres.Options{URL: url, KeysURL: keys}).Close()
		open(t, postgres.Options{URL: url, KeysURL: keys}).Close()
	})
	t.Run("KeysElsewhere", func(t *testing.T) {
		t.Parallel()
		url, _ := made(t)
		wantRefused(t, postgres.Options{URL: url}, "keepsake_keys is missing or empty", "keysUrl")
	})
	t.Run("KeysOfAnotherInstance", func(t *testing.T) {
		t.Parallel()
		url, _ := made(t)
		_, other := made(t)
		wantRefused(t, postgres.Options{URL: url, KeysURL: other}, "different instances")
	})
	t.Run("KeysWithoutTheirData", func(t *testing.T) {
		t.Parallel()
		_, keys := made(t)
		exec(t, keys, "INSERT INTO keepsake_keys.wrapped_secret (name, sealed, created_at) VALUES ('check', 'x', 1)")
		wantRefused(t, postgres.Options{URL: enginetest.Postgres(t), KeysURL: keys}, "keepsake is missing or empty")
	})
}

func TestNewerSchema(t *testing.T) {
	t.Parallel()
	newer := func(t *testing.T, oldest string) string {
		url := migrated(t)
		open(t, postgres.Options{URL: url}).Close()
		exec(t, url, "INSERT INTO keepsake.schema_migration (version_id, is_applied, hash, oldest) VALUES (9000, true, 'of a newer release', "+oldest+")")
		return url
	}
	t.Run("CompatibleIsUsed", func(t *testing.T) {
		t.Parallel()
		e := open(t, postgres.Options{URL: newer(t, "1")})
		if err := e.Ready(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Run("IncompatibleIsRefused", func(t *testing.T) {
		t.Parallel()
		wantRefused(t, postgres.Options{URL: newer(t, "9000")}, "has version 9000", "start the newer keepsake")
	})
}

// The folders of the migrations of both engines.
const ours, theirs = "migration", "../sqlite/migration"

func migrationNames(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestBothEnginesHaveTheSameMigrations(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(migrationNames(t, theirs), migrationNames(t, ours)); diff != "" {
		t.Errorf("migrations (-SQLite +PostgreSQL):\n%s", diff)
	}
}

// columnsOf lists the columns of a migrated database: table.column, type, nullability and position in the key.
func columnsOf(t *testing.T, d store.Database) []string {
	t.Helper()
	tables, err := d.(store.Cataloged).Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, table := range tables {
		for _, c := range table.Columns {
			kind := c.Kind
			if kind == store.Truth { // SQLite stores a truth value as a number
				kind = store.Number
			}
			list = append(list, fmt.Sprintf("%s.%s kind %d null %v", table.Name, c.Name, kind, c.Null))
		}
		list = append(list, fmt.Sprintf("%s key %v", table.Name, table.Key))
	}
	slices.Sort(list)
	return list
}

func TestBothEnginesHaveTheSameTables(t *testing.T) {
	t.Parallel()
	e := open(t, postgres.Options{URL: migrated(t)})
	s, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for name, pair := range map[string][2]store.Database{
		"main": {s.Main(), e.Main()}, "keys": {s.Keys(), e.Keys()}, "usage": {s.Usage(), e.Usage()},
	} {
		if diff := cmp.Diff(columnsOf(t, pair[0]), columnsOf(t, pair[1])); diff != "" {
			t.Errorf("%s (-SQLite +PostgreSQL):\n%s", name, diff)
		}
	}
}

// schema describes everything in our schemas, according to the catalog.
func schema(t *testing.T, url string) []string {
	t.Helper()
	rows, err := connect(t, url).Query(t.Context(), `
		SELECT format('%s.%s.%s %s %s %s', table_schema, table_name, column_name, data_type, is_nullable, collation_name)
		FROM information_schema.columns WHERE table_schema LIKE 'keepsake%'
		UNION ALL SELECT schemaname || ': ' || indexdef FROM pg_indexes WHERE schemaname LIKE 'keepsake%'
		UNION ALL SELECT conrelid::regclass::text || ': ' || pg_get_constraintdef(oid) FROM pg_constraint
			WHERE connamespace::regnamespace::text LIKE 'keepsake%'
		UNION ALL SELECT c.oid::regclass::text || ' ' || c.relpersistence::text || ' ' || coalesce(c.reloptions::text, '') FROM pg_class c
			WHERE c.relkind = 'r' AND c.relnamespace::regnamespace::text LIKE 'keepsake%'
		ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestUpgradedSchemaEqualsAFreshOne(t *testing.T) {
	t.Parallel()
	fresh := schema(t, migrated(t))
	if len(fresh) < 100 {
		t.Fatalf("only %d lines of a schema", len(fresh))
	}
	// Upgrade step by step, as if each migration were a release.
	url := enginetest.Postgres(t)
	names := migrationNames(t, ours)
	for i := range names {
		if err := postgres.MigrateSome(t.Context(), patient(postgres.Options{URL: url}), func(path string) bool {
			return slices.Index(names, path) <= i
		}); err != nil {
			t.Fatalf("after %s: %v", names[i], err)
		}
	}
	if diff := cmp.Diff(fresh, schema(t, url)); diff != "" {
		t.Errorf("schema (-fresh +upgraded):\n%s", diff)
	}
}

func TestTextsAreComparedByTheirBytes(t *testing.T) {
	t.Parallel()
	for _, line := range schema(t, migrated(t)) {
		if strings.Contains(line, " text ") && !strings.HasSuffix(line, " C") {
			t.Errorf("%s: give the column COLLATE \"C\", so that its order is that of SQLite whatever the database's is", line)
		}
	}
}

func TestMigrationNumbersAreUnique(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, path := range migrationNames(t, ours) {
		number, _, _ := strings.Cut(filepath.Base(path), "_")
		at := filepath.Dir(path) + "/" + number
		if other, there := seen[at]; there {
			t.Errorf("%s and %s have one number", other, path)
		}
		seen[at] = path
	}
}
