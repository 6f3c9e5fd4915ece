package sqlite_test

import (
	"database/sql"
	"os"
	"slices"
	"testing"
	"time"
)

// A version that an earlier release has sunset has no traffic check. It stays sunset, and its past is not announced again.
func TestOlderSunsetsStayAfterTheMigration(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection has its own memory
	exec := func(statement string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	migrate := func(name string) {
		t.Helper()
		text, err := os.ReadFile("migration/main/" + name)
		if err != nil {
			t.Fatal(err)
		}
		exec(string(text))
	}
	migrate("0005_version.sql")
	past, future := time.Now().AddDate(-1, 0, 0).UnixMicro(), time.Now().AddDate(1, 0, 0).UnixMicro()
	for _, v := range []struct {
		number            int
		announced, sunset any
	}{{1, past - 1, past}, {2, past, future}, {3, future - 1, future}, {4, nil, nil}} {
		exec(`INSERT INTO api_version VALUES ($1, 0, $2, $3, NULL, '', 0, 1)`, v.number, v.announced, v.sunset)
	}
	migrate("0019_lifecycle.sql")
	for query, want := range map[string][]string{
		`SELECT version || ' ' || verdict FROM version_check WHERE sunset_at = new_sunset_at`:     {"1 kept"},
		`SELECT version || ' ' || state FROM version_transition ORDER BY version, at`:             {"1 deprecated", "1 sunset", "2 deprecated"},
		`SELECT number || ' ' || coalesce(dated_at, 'unknown') FROM api_version WHERE number = 1`: {"1 unknown"},
	} {
		rows, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				t.Fatal(err)
			}
			got = append(got, text)
		}
		if err := rows.Err(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v, want %v", query, got, err, want)
		}
	}
}
