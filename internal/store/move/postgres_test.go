package move_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"keepsake/internal/store"
	"keepsake/internal/store/move"
	"keepsake/internal/store/postgres"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

func openDatabase(t *testing.T, url, keysURL string) *postgres.Engine {
	t.Helper()
	e, err := postgres.Open(context.WithoutCancel(t.Context()), postgres.Options{
		URL: url, KeysURL: keysURL, Instance: instance, Connections: 4,
		Connect: time.Minute, Acquire: time.Minute, Statement: time.Minute, Answer: time.Minute, Commit: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// empty is a database with our schemas and without an instance.
func empty(t *testing.T) (url string) {
	t.Helper()
	return enginetest.PostgresCopy(t, "migrated", func(ctx context.Context, url string) error {
		return postgres.Migrate(ctx, postgres.Options{URL: url})
	})
}

// database is a new database.
func database(t *testing.T) store.Engine { return openDatabase(t, empty(t), "") }

// databases are two new databases, one for the keys.
func databases(t *testing.T) store.Engine { return openDatabase(t, empty(t), empty(t)) }

// A copy of a database is a consistent snapshot, whatever is written meanwhile.
func TestDatabaseIsCopiedFromOneSnapshot(t *testing.T) {
	t.Parallel()
	e := databases(t).(*postgres.Engine)
	fill(t, e)
	view, err := e.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	exec(t, e.Main(), `DELETE FROM document WHERE change < 100`)
	exec(t, e.Usage(), `DELETE FROM usage_minute`)
	exec(t, e.Keys(), `INSERT INTO wrapped_secret (name, sealed, created_at) VALUES ('later', $1, 1)`, []byte{1})
	m := begin(t, view, folder(t))
	if err := m.Copy(t.Context()); err != nil {
		t.Fatal(err)
	}
	exec(t, e.Keys(), `UPDATE wrapped_secret SET sealed = $1`, []byte{2}) // the copy is of the keys before
	if rows := complete(t, m); rows["document"] != documents || rows["usage_minute"] != 30 || rows["wrapped_secret"] != 2 {
		t.Errorf("moved %v", rows)
	}
	if err := view.Main().Run(t.Context(), func(context.Context) error { return nil }); err == nil {
		t.Error("a moment that is over can be written to")
	}
	if err := e.Settle(t.Context()); err != nil {
		t.Error(err)
	}
	if size := e.Size(); size < 100_000 {
		t.Errorf("the instance has %d bytes", size)
	}
}

func TestServingNamesTheProcesses(t *testing.T) {
	t.Parallel()
	e := database(t).(*postgres.Engine)
	// seen_at is an hour ahead, because a busy machine can be slow.
	const seen = `(extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT`
	for id, row := range map[string]string{
		"here": seen + ` + 3600000000, NULL`, "left": seen + `, ` + seen, "killed": seen + ` - 11000000, NULL`,
	} {
		exec(t, e.Main(), `INSERT INTO member (id, name, host, release, split, started_at, joined_epoch, seen_epoch, heard, seen_at, left_at)
			VALUES ($1, $1, 'box', '', FALSE, 0, 1, 1, 0, `+row+`)`, id)
	}
	if names, err := e.Serving(t.Context()); err != nil || len(names) != 1 || names[0] != "here on box" {
		t.Errorf("served by %q, %v", names, err)
	}
}

func TestHolderChangesNothing(t *testing.T) {
	t.Parallel()
	holder := func(o postgres.Options) string {
		id, err := postgres.Holder(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	o := postgres.Options{URL: enginetest.Postgres(t), KeysURL: enginetest.Postgres(t)}
	if id := holder(o); id != "" {
		t.Errorf("an empty one is held by %q", id)
	}
	openDatabase(t, o.URL, o.KeysURL)
	if id := holder(o); id != instance {
		t.Errorf("held by %q", id)
	}
	o.URL = enginetest.Postgres(t)
	if id := holder(o); id != instance {
		t.Errorf("where only the keys are there, held by %q", id)
	}
}

// The error names the row that the target rejects.
func TestRejectedRowIsNamed(t *testing.T) {
	t.Parallel()
	from, to := folder(t), database(t)
	fill(t, from)
	exec(t, from.Main(), `UPDATE document SET title = $1 WHERE change = 300`, "a\x00b")
	err := begin(t, from, to).Copy(t.Context())
	if err == nil || !strings.Contains(err.Error(), "copy table document: the row workspace 1, id") || !strings.Contains(err.Error(), "300Ä.a_B-") {
		t.Errorf("got %v", err)
	}
	exec(t, from.Main(), `UPDATE document SET title = '' WHERE change = 300`)
	if rows := complete(t, begin(t, from, to)); rows["document"] != documents {
		t.Errorf("after that, %d documents were moved", rows["document"])
	}
}

// A server that crashes in the middle fails the move, which can be resumed afterwards.
func TestMoveResumesAfterAServerCrash(t *testing.T) {
	testtier.Long(t, "crashes a server of its own; TestInterruptedMoveIsResumed is quicker")
	t.Parallel()
	server := enginetest.StartPostgres(t, enginetest.PostgresOptions{Fsync: true})
	from, to := folder(t), openDatabase(t, server.Database(t), "")
	fill(t, from)
	crashed := false
	m, err := move.Begin(t.Context(), move.Options{From: from, To: to, Source: "it", Batch: batch, Progress: func(s move.Step) {
		if s.Table == "document" && !crashed {
			crashed = true
			server.StopImmediately(t)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Copy(t.Context()); err == nil {
		t.Fatal("what a server took that was not there")
	}
	server.Start(t)
	m = begin(t, from, to)
	if rows := complete(t, m); !m.Resumed() || rows["document"] != documents {
		t.Errorf("resumed %v, with %d documents", m.Resumed(), rows["document"])
	}
}
