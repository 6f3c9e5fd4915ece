package faulttest

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// writeLong stores documents that are so long that their index has files.
func (o *owner) writeLong(ids ...string) {
	o.t.Helper()
	var lines strings.Builder
	for i, id := range ids {
		fmt.Fprintf(&lines, `{"id":%q,"text":"stone`, id)
		for n := range 400 {
			fmt.Fprintf(&lines, " w%dx%d", i, n)
		}
		lines.WriteString("\"}\n")
	}
	status, answer, err := o.Send(o.t.Context(), o.key, "POST", "/api/v1/documents/import", "application/x-ndjson", []byte(lines.String()))
	if err != nil || status != http.StatusOK {
		o.t.Fatalf("import: %d %s %v", status, answer, err)
	}
}

// PostgreSQL comes back without its last changes, and other changes get their numbers before an index with the lost ones is searched.
func TestALocalIndexForgetsALostTime(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "restores PostgreSQL, with a search index in the process")
	for _, test := range []struct {
		name  string
		runs  bool // the process, meanwhile
		later int  // changes after the restore; 3 were lost
	}{{"fewer", false, 2}, {"as many", false, 3}, {"more", false, 5}, {"failover", true, 3}, {"failover and more", true, 5}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			postgres := enginetest.StartPostgres(t, enginetest.PostgresOptions{})
			database := postgres.NewDatabase(t)
			dir := t.TempDir()
			indexes := filepath.Join(dir, "index")
			at := programtest.Database(postgres.URL(database))
			o := operatorOf(start(t, dir, "", at))
			old := numbered("old", 200)
			o.writeLong(old...)
			o.finds("before the backup", old...)
			o.Stop()
			if _, err := os.Stat(filepath.Join(indexes, o.workspace, "manifest")); err != nil {
				t.Fatalf("the index has no files: %v", err)
			}
			postgres.Exec(t, "CREATE DATABASE backup OWNER "+enginetest.Role+" TEMPLATE "+database)
			o = o.at(start(t, dir, o.key, at))
			lost := numbered("lost", 3)
			o.write(lost...)
			o.finds("before the loss", slices.Concat(old, lost)...)
			if !test.runs {
				o.Stop()
			}
			postgres.Exec(t, "DROP DATABASE "+database+" WITH (FORCE)")
			postgres.Exec(t, "ALTER DATABASE backup RENAME TO "+database)
			if !test.runs {
				rename(t, indexes, indexes+"-lost")
				o = o.at(start(t, dir, o.key, at))
			}
			later := numbered("new", test.later)
			await.Until(t, "a document is written", func() bool {
				status, _, err := o.Send(t.Context(), o.key, "PUT", "/api/v1/documents/"+later[0], "application/json", []byte(`{"text":"stone"}`))
				return err == nil && status == http.StatusCreated
			})
			for _, id := range later[1:] {
				o.write(id)
			}
			if !test.runs {
				o.Stop()
				if err := os.RemoveAll(indexes); err != nil {
					t.Fatal(err)
				}
				rename(t, indexes+"-lost", indexes)
				o = o.at(start(t, dir, o.key, at))
			}
			o.finds("after the loss", slices.Concat(old, later)...)
			o.write("last")
			o.finds("later", slices.Concat(old, later, []string{"last"})...)
		})
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}
