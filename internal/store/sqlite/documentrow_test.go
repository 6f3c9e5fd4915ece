package sqlite

import (
	"database/sql"
	"path/filepath"
	"slices"
	"testing"

	"keepsake/internal/store"
	"keepsake/internal/store/schema"
	"keepsake/internal/store/storetest"
)

func TestDocumentsStayWhenTheirRowsBecomeShort(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	steps, err := schema.Read("main", migrations)
	if err != nil {
		t.Fatal(err)
	}
	steps = slices.DeleteFunc(steps, func(s schema.Step) bool { return s.Number >= 24 })
	db, err := sql.Open("sqlite", filepath.Join(dir, "main.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	provider, err := schema.Provider(schemaDialect, db, "main", steps)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	storetest.WriteOlderDocuments(t, "", func(statement string) {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	e, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckOlderDocuments(t, store.New(e))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
