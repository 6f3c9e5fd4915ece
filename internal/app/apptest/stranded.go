package apptest

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"keepsake/internal/testing/enginetest"
)

// strandedQueries count rows of memories that must not exist. KEYS stands for the schema of the data keys.
var strandedQueries = map[string]string{
	"memories of dead generations": `SELECT count(*) FROM memory m JOIN memory_subject s
		ON s.workspace_id = m.workspace_id AND s.subject = m.subject WHERE s.generation <> m.generation`,
	"memories of no subject": `SELECT count(*) FROM memory m WHERE NOT EXISTS
		(SELECT 1 FROM memory_subject s WHERE s.workspace_id = m.workspace_id AND s.subject = m.subject)`,
	"memories without a key": `SELECT count(*) FROM memory m WHERE NOT EXISTS (SELECT 1 FROM KEYS.subject_key k
		WHERE k.workspace_id = m.workspace_id AND k.subject = m.subject AND k.generation = m.generation AND length(k.wrapped) > 0)`,
	"revisions without a key": `SELECT count(*) FROM memory_revision m WHERE NOT EXISTS (SELECT 1 FROM KEYS.subject_key k
		WHERE k.workspace_id = m.workspace_id AND k.subject = m.subject AND k.generation = m.generation AND length(k.wrapped) > 0)`,
	"revisions of no memory": `SELECT count(*) FROM memory_revision r WHERE NOT EXISTS
		(SELECT 1 FROM memory m WHERE m.workspace_id = r.workspace_id AND m.id = r.memory_id)`,
	"keys of dead generations": `SELECT count(*) FROM KEYS.subject_key k JOIN memory_subject s
		ON s.workspace_id = k.workspace_id AND s.subject = k.subject WHERE k.generation < s.generation AND length(k.wrapped) > 0`,
	"erasures that are not finished": `SELECT count(*) FROM memory_erasure WHERE change > 0`,
	"wrong counts of subjects": `SELECT count(*) FROM memory_subject s WHERE s.memories <> (SELECT count(*) FROM memory m
		WHERE m.workspace_id = s.workspace_id AND m.subject = s.subject)`,
	"wrong counts of workspaces": `SELECT count(*) FROM memory_count c WHERE c.memories <> (SELECT count(*) FROM memory m
		WHERE m.workspace_id = c.workspace_id)`,
}

// Stranded checks the databases of an idle program and returns what is wrong: every row must belong to a living generation
// with a data key, there must be no key of an erased generation, and counts must be right.
func Stranded(t testing.TB, dir, databaseURL string) (wrong []string) {
	t.Helper()
	for what, query := range strandedQueries {
		if n := countRows(t, dir, databaseURL, query); n != 0 {
			wrong = append(wrong, fmt.Sprintf("%d %s", n, what))
		}
	}
	slices.Sort(wrong)
	return wrong
}

func countRows(t testing.TB, dir, databaseURL, query string) (n int64) {
	t.Helper()
	ctx := context.Background() // the context of a cleanup has ended
	if databaseURL != "" {
		return enginetest.Count(t, databaseURL, "keepsake", strings.ReplaceAll(query, "KEYS.", "keepsake_keys."))
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "main.db")+"?mode=ro&_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "ATTACH $1 AS data_keys", "file:"+filepath.Join(dir, "keys.db")+"?mode=ro"); err != nil {
		t.Fatal(err)
	}
	if err := db.QueryRowContext(ctx, strings.ReplaceAll(query, "KEYS.", "data_keys.")).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}
