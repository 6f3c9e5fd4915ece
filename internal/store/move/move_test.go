package move_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"keepsake/internal/store"
	"keepsake/internal/store/move"
	"keepsake/internal/store/sqlite"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

const instance = "INSTANCE"

// place is an engine that a test opens, with its kind.
type place func(t *testing.T) store.Engine

// folder is a new folder.
func folder(t *testing.T) store.Engine { return openFolder(t, emptyFolder(t)) }

// emptyFolder contains an instance without data.
func emptyFolder(t *testing.T) (dir string) {
	t.Helper()
	return enginetest.FolderCopy(t, "empty", func(dir string) error {
		e, err := sqlite.Open(context.Background(), sqlite.Options{Dir: dir, Instance: instance})
		if err != nil {
			return err
		}
		return e.Close()
	})
}

func openFolder(t *testing.T, dir string) *sqlite.Engine {
	t.Helper()
	e, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir, Instance: instance})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// ways are the engines that an instance can move between.
var ways = map[string]struct{ from, to place }{
	"folder to folder":    {folder, folder},
	"folder to database":  {folder, database},
	"folder to databases": {folder, databases},
	"databases to folder": {databases, folder},
}

// each runs a test for every way. The quick tier runs only the one between two databases, which is the hardest.
func each(t *testing.T, run func(t *testing.T, from, to store.Engine)) {
	t.Helper()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			if name == "folder to database" {
				testtier.Long(t, "one more database for each test")
			}
			t.Parallel()
			run(t, way.from(t), way.to(t))
		})
	}
}

func exec(t *testing.T, d store.Database, query string, args ...any) {
	t.Helper()
	if err := d.Run(t.Context(), func(ctx context.Context) error {
		_, err := d.In(ctx).Exec(ctx, query, args...)
		return err
	}); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// documents is the number of rows in the largest table of fill: more than two batches.
const documents, batch = 423, 200

// fill writes rows of every shape: keys of several columns, bytes, NULL, and texts that look like other types.
func fill(t *testing.T, e store.Engine) {
	t.Helper()
	main, usage, keys := e.Main(), e.Usage(), e.Keys()
	err := main.Run(t.Context(), func(ctx context.Context) error {
		q := main.In(ctx)
		for i, w := range []string{"wsp_a", "wsp_b"} {
			if _, err := q.Exec(ctx, `INSERT INTO document_head (number, workspace_id, change, documents, mark) VALUES ($1, $2, $3, $4, $3)`, i+1, w, documents, documents/2); err != nil {
				return err
			}
			_, err := q.Exec(ctx, `INSERT INTO workspace (id, name, tier, operator, suspended, embeddings, search_engine, search_serving, created_at, revision) VALUES ($1, $2, 'free', $3, $4, $4, 'local', 'local', $5, 1)`,
				w, "a 'name' \\ with \"all\" of it – ß 漢 🦊\n\t", w == "wsp_a", false, int64(1)<<52)
			if err != nil {
				return err
			}
		}
		for n := range documents {
			_, err := q.Exec(ctx, `
				INSERT INTO document (workspace, id, collection, title, text, url, tags, metadata, created_at, updated_at, revision, change, language)
				VALUES ($1, $2, '', '', $3, '', '', '', 0, $4, 1, $5, '')`,
				1+n%2, fmt.Sprintf("%c%dÄ.a_B-", 'A'+rune(n%60), n), strings.Repeat("word ", n%50), n, n)
			if err != nil {
				return err
			}
		}
		for n := range 3 {
			_, err := q.Exec(ctx, `
				INSERT INTO kept_answer (claim, request, status, location, etag, has_body, body, workspace_id, sealed_by, sealed, created_at, expires_at)
				VALUES ($1, $2, 200, '', '', $4, $3, '', '', $3, 1, 2)`,
				[]byte{0, byte(n), 255}, []byte("\x00\xff"), make([]byte, n), n > 0)
			if err != nil {
				return err
			}
		}
		_, err := q.Exec(ctx, `INSERT INTO account_user (id, workspace_id, email, name, role, password_hash, disabled, created_at, last_login_at, revision)
			VALUES ('usr_1', 'wsp_b', 'a@example.org', '', 'member', 'x', $1, 5, NULL, 1), ('usr_2', 'wsp_a', 'b@example.org', '', 'admin', '', $2, 5, 6, 1)`, true, false)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	err = usage.Run(t.Context(), func(ctx context.Context) error {
		for n := range 30 {
			_, err := usage.In(ctx).Exec(ctx, `
				INSERT INTO usage_minute (series, at, requests, charged, bytes_in, bytes_out, durations)
				VALUES ($1, $2, 1, 1, 0, 0, '{"348":1}')`, n%4-2, n)
			if err != nil {
				return err
			}
		}
		for n := range 3 {
			_, err := usage.In(ctx).Exec(ctx, `INSERT INTO usage_report (id, added_at, known_until) VALUES ($1, $2, $3)`, []byte{255, 0, byte(n)}, n, int64(1)<<52)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	exec(t, usage, `INSERT INTO usage_quota (period, owner_id, charged) VALUES ('2026-11', 'wsp_a', 30), ('2026-11-21', 'wsp_a', 30)`)
	exec(t, keys, `INSERT INTO wrapped_secret (name, sealed, created_at) VALUES ('pepper', $1, 1)`, []byte{1, 0, 2})
	fillMemories(t, e)
}

// dataKeys is more than a batch.
const dataKeys = batch + 3

// fillMemories writes data keys, destroyed ones without bytes, and rows about their subjects.
func fillMemories(t *testing.T, e store.Engine) {
	t.Helper()
	err := e.Keys().Run(t.Context(), func(ctx context.Context) error {
		for n := range dataKeys {
			_, err := e.Keys().In(ctx).Exec(ctx, `
				INSERT INTO subject_key (workspace_id, subject, generation, wrapped, wrapped_with, created_at) VALUES ('wsp_a', $1, $2, $3, $4, 1)`,
				[]byte{0xff, byte(n), 0, 15: byte(n / 3)}, 1+n%2, make([]byte, n%3), []string{"", "subject-keys/1"}[min(1, n%3)])
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	subject := make([]byte, 16)
	exec(t, e.Main(), `INSERT INTO memory_subject (workspace_id, subject, generation, change, sealed_id, memories, bytes, created_at, updated_at, erased_at)
		VALUES ('wsp_a', $1, 2, 3, NULL, 0, 0, 1, 2, 3), ('wsp_b', $1, 1, 1, $2, 1, 5, 1, 2, NULL)`, subject, []byte("\x00name"))
	exec(t, e.Main(), `INSERT INTO memory (workspace_id, id, subject, generation, agent, session, kind, at, created_at, updated_at, expires_at, key_hash,
		same_hash, size, revision, change, key_slot, sealed) VALUES ('wsp_b', 'mem_1', $1, 1, NULL, $1, 'fact', 1, 1, 1, NULL, NULL, $1, 5, 2, 1, 1, $2)`,
		subject, []byte("sealed\x00"))
	exec(t, e.Main(), `INSERT INTO memory_revision (workspace_id, memory_id, revision, subject, generation, sealed) VALUES ('wsp_b', 'mem_1', 1, $1, 1, $1)`, subject)
	exec(t, e.Main(), `INSERT INTO memory_vector (workspace_id, memory_id, subject, revision, change, model, sealed) VALUES ('wsp_b', 'mem_1', $1, 2, 2, 'm/3', $1)`, subject)
	exec(t, e.Main(), `INSERT INTO memory_tombstone (workspace_id, memory_id, subject, change, at) VALUES ('wsp_a', 'mem_2', NULL, 1, 1), ('wsp_b', 'mem_3', $1, 1, 1)`, subject)
	exec(t, e.Main(), `INSERT INTO kept_answer_subject (workspace_id, subject, claim, expires_at) VALUES ('wsp_b', $1, $2, 2)`, subject, []byte{0, 1, 255})
}

func begin(t *testing.T, from, to store.Engine) *move.Move {
	t.Helper()
	m, err := move.Begin(t.Context(), move.Options{From: from, To: to, Source: "it", Batch: batch})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func unfinished(t *testing.T, e store.Engine) bool {
	t.Helper()
	_, is, err := move.Unfinished(t.Context(), e.Main())
	if err != nil {
		t.Fatal(err)
	}
	return is
}

// complete completes a move that has begun.
func complete(t *testing.T, m *move.Move) map[string]int64 {
	t.Helper()
	if err := m.Copy(t.Context()); err != nil {
		t.Fatal(err)
	}
	counts, err := m.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !unfinished(t, m.To) {
		t.Error("the target says that it is whole, before somebody said so")
	}
	if err := m.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if unfinished(t, m.To) {
		t.Error("the target says that it is not whole")
	}
	rows := map[string]int64{}
	for _, c := range counts {
		rows[c.Table] = c.Rows
	}
	return rows
}

func TestMoveCopiesEverything(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, from, to store.Engine) {
		fill(t, from)
		rows := complete(t, begin(t, from, to))
		for table, want := range map[string]int64{
			"document": documents, "workspace": 2, "kept_answer": 3, "account_user": 2, "usage_minute": 30, "usage_quota": 2, "wrapped_secret": 1, "api_key": 0,
			"subject_key": dataKeys, "memory_subject": 2, "memory": 1, "memory_revision": 1, "memory_vector": 1, "memory_tombstone": 2, "kept_answer_subject": 1,
		} {
			if rows[table] != want {
				t.Errorf("%d rows of %s were moved, want %d", rows[table], table, want)
			}
		}
		var text string
		if err := to.Main().In(t.Context()).QueryRow(t.Context(), `SELECT name FROM workspace WHERE operator AND id = 'wsp_a'`).Scan(&text); err != nil || !strings.Contains(text, "漢 🦊\n") {
			t.Errorf("a name came as %q, %v", text, err)
		}
		if _, err := move.Begin(t.Context(), move.Options{From: from, To: to, Source: "it", Batch: batch}); !errors.Is(err, move.ErrNotEmpty) {
			t.Errorf("a second time: %v", err)
		}
	})
}

// A move that is interrupted anywhere can be resumed.
func TestInterruptedMoveIsResumed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, from, to store.Engine) {
		fill(t, from)
		begin(t, from, to) // interrupted at once
		cuts := 0
		for tables := map[string]bool{}; ; cuts++ {
			ctx, cut := context.WithCancel(t.Context())
			seen := 0
			m, err := move.Begin(ctx, move.Options{From: from, To: to, Source: "it", Batch: batch, Progress: func(s move.Step) {
				if tables[s.Table] = true; s.Table == "document" {
					if seen++; seen == 2 { // the first can be the last of the previous try
						cut()
					}
				}
			}})
			if err != nil || !m.Resumed() {
				t.Fatalf("going on: %v", err)
			}
			err = m.Copy(ctx)
			cut()
			if err == nil {
				complete(t, m)
				break
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}
		if cuts == 0 {
			t.Error("it was never cut off")
		}
	})
}

// If a batch and its progress are in different databases, the batch can be written without the progress.
func TestRepeatedBatchChangesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, from, to store.Engine) {
		fill(t, from)
		m := begin(t, from, to)
		if err := m.Copy(t.Context()); err != nil {
			t.Fatal(err)
		}
		exec(t, to.Main(), `UPDATE move_progress SET after = '', copied = 0, done = $1 WHERE part <> 'main'`, false)
		if rows := complete(t, begin(t, from, to)); rows["usage_minute"] != 30 {
			t.Errorf("%d rows of usage_minute, want 30", rows["usage_minute"])
		}
	})
}

func TestTargetWithOtherDataIsUnchanged(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, from, to store.Engine) {
		fill(t, from)
		exec(t, to.Keys(), `INSERT INTO wrapped_secret (name, sealed, created_at) VALUES ('pepper', $1, 1)`, []byte{1})
		o := move.Options{From: from, To: to, Source: "it", Batch: batch}
		if _, err := move.Begin(t.Context(), o); !errors.Is(err, move.ErrNotEmpty) {
			t.Errorf("into what has secrets: %v", err)
		}
		exec(t, to.Keys(), `DELETE FROM wrapped_secret`)
		if unfinished(t, to) {
			t.Error("what was refused left a trace")
		}
		begin(t, from, to)
		o.Source = "another"
		if _, err := move.Begin(t.Context(), o); !errors.Is(err, move.ErrOther) {
			t.Errorf("into what another one is on its way into: %v", err)
		}
		exec(t, to.Main(), `DELETE FROM move_progress`)
		exec(t, to.Main(), `UPDATE instance SET id = 'OTHER'`)
		if _, err := move.Begin(t.Context(), o); !errors.Is(err, move.ErrNotEmpty) {
			t.Errorf("into another instance: %v", err)
		}
	})
}

// Verify finds any difference: a source that was changed between two tries, or a target that was changed.
func TestVerifyFindsDifferences(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(t *testing.T, from, to store.Engine){
		"a row that came late": func(t *testing.T, from, _ store.Engine) {
			exec(t, from.Main(), `INSERT INTO tier (name, requests_per_minute, daily, monthly, keys, users, documents, memories, storage, revision) VALUES ('free', 1, 1, 1, 1, 1, 1, 1, 1, 1)`)
		},
		"a row that changed": func(t *testing.T, _, to store.Engine) {
			exec(t, to.Main(), `UPDATE document SET text = text || '.' WHERE change = 7`)
		},
		"two that changed places": func(t *testing.T, from, _ store.Engine) {
			exec(t, from.Usage(), `UPDATE usage_minute SET requests = CASE at WHEN 1 THEN 2 ELSE 0 END WHERE at IN (1, 2)`)
		},
		"nothing for no bytes": func(t *testing.T, from, _ store.Engine) {
			exec(t, from.Main(), `UPDATE account_user SET last_login_at = 0 WHERE id = 'usr_1'`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := folder(t), folder(t)
			fill(t, from)
			m := begin(t, from, to)
			if err := m.Copy(t.Context()); err != nil {
				t.Fatal(err)
			}
			harm(t, from, to)
			if _, err := m.Verify(t.Context()); !errors.Is(err, move.ErrDiffers) {
				t.Errorf("got %v", err)
			}
			if !unfinished(t, to) {
				t.Error("the target says that it is whole")
			}
		})
	}
}

// Every table of the schema is copied, except those of a location and its processes.
func TestEveryTableIsCopied(t *testing.T) {
	t.Parallel()
	from, to := folder(t), folder(t)
	rows := complete(t, begin(t, from, to))
	for _, d := range []store.Database{from.Main(), from.Usage(), from.Keys()} {
		tables, err := d.(store.Cataloged).Tables(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range tables {
			_, moves := rows[table.Name]
			if stays := move.Stays(table.Name); moves == stays {
				t.Errorf("table %s moves: %v, stays: %v", table.Name, moves, stays)
			}
		}
	}
}

func TestSourceFolderIsLockedAndUnchanged(t *testing.T) {
	t.Parallel()
	dir := emptyFolder(t)
	e, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir, Instance: instance})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, e)
	if _, err := sqlite.OpenSource(t.Context(), dir); !errors.Is(err, sqlite.ErrInUse) {
		t.Errorf("while a process has it: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	before := contents(t, dir)
	source, err := sqlite.OpenSource(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir}); !errors.Is(err, sqlite.ErrInUse) {
		t.Errorf("opening it while it is moved: %v", err)
	}
	if rows := complete(t, begin(t, source, folder(t))); rows["document"] != documents {
		t.Errorf("%d documents were moved", rows["document"])
	}
	if err := source.Close(); err != nil {
		t.Fatal(err)
	}
	if after := contents(t, dir); after != before {
		t.Error("the folder is not what it was")
	}
	if _, err := sqlite.OpenSource(t.Context(), filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

func contents(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s %d %q\n", e.Name(), len(data), data)
	}
	return all.String()
}
