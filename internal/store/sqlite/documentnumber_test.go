package sqlite_test

import (
	"database/sql"
	"os"
	"slices"
	"strings"
	"testing"
)

// Documents of earlier builds were found by the ID of their workspace. They stay as they are, and so does what they are counted
// with.
func TestDocumentsStayWhenWorkspacesAreNumbered(t *testing.T) {
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
	const numbered = "0023_document_number.sql"
	files, err := os.ReadDir("migration/main")
	if err != nil {
		t.Fatal(err)
	}
	migrate := func(name string) {
		t.Helper()
		text, err := os.ReadFile("migration/main/" + name)
		if err != nil {
			t.Fatal(err)
		}
		exec(string(text))
	}
	for _, f := range files {
		if f.Name() < numbered {
			migrate(f.Name())
		}
	}
	for _, w := range []string{"wsp_b", "wsp_a"} {
		exec(`INSERT INTO document_head VALUES ($1, 4, 2)`, w)
		exec(`INSERT INTO document VALUES ($1, 'one', 'news', 'A title', 'of ' || $1, '', '["x"]', '{"n":1}', 1, 2, 3, 4)`, w)
		exec(`INSERT INTO document VALUES ($1, 'two', 'default', '', '', '', '[]', '{}', 5, 6, 7, 2)`, w)
		exec(`INSERT INTO document_tag VALUES ($1, 'x', 'one')`, w)
		exec(`INSERT INTO document_tombstone VALUES ($1, 'three', 3)`, w)
	}
	expect := func(query string, want ...string) {
		t.Helper()
		rows, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var got []string
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				t.Fatal(err)
			}
			got = append(got, text)
		}
		if err := rows.Err(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %s, %v\nwant %s", query, strings.Join(got, "\n     "), err, strings.Join(want, "\n     "))
		}
	}
	const stored = `SELECT workspace_id || ' ' || bytes FROM storage ORDER BY 1`
	bytes := []string{"wsp_a 48", "wsp_b 48"}
	expect(stored, bytes...)
	migrate(numbered)
	expect(stored, bytes...)
	expect(`SELECT number || ' ' || workspace_id || ' ' || change || ' ' || documents FROM document_head ORDER BY 1`, "1 wsp_a 4 2", "2 wsp_b 4 2")
	expect(`SELECT concat_ws('|', workspace, id, collection, title, text, url, tags, metadata, created_at, updated_at, revision, change) FROM document ORDER BY 1`,
		`1|one|news|A title|of wsp_a||["x"]|{"n":1}|1|2|3|4`, `1|two|default||||[]|{}|5|6|7|2`,
		`2|one|news|A title|of wsp_b||["x"]|{"n":1}|1|2|3|4`, `2|two|default||||[]|{}|5|6|7|2`)
	expect(`SELECT workspace || ' ' || tag || ' ' || document_id FROM document_tag ORDER BY 1`, "1 x one", "2 x one")
	expect(`SELECT workspace || ' ' || id || ' ' || change FROM document_tombstone ORDER BY 1`, "1 three 3", "2 three 3")

	exec(`UPDATE document SET title = 'A longer title' WHERE workspace = 2 AND id = 'one'`)
	exec(`DELETE FROM document WHERE workspace = 1 AND id = 'two'`)
	exec(`INSERT INTO document VALUES (1, 'five', '', '', '', '', '', '', 1, 1, 1, 5)`)
	expect(stored, "wsp_a 38", "wsp_b 55")
}
