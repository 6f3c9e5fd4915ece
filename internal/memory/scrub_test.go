package memory_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"keepsake/internal/memory"
	"keepsake/internal/store"
	"keepsake/internal/testing/enginetest"
)

// carved are the secrets that a row opens with, wherever they lie in the files of an instance.
type carved struct {
	t     *testing.T
	b     *bundle
	files func() string // a folder with all files, as they are now
}

func carve(t *testing.T, b *bundle) *carved {
	t.Helper()
	c := &carved{t: t, b: b, files: func() string { return b.dir }}
	if b.engine.Shared() {
		server := enginetest.SharedPostgres(t)
		c.files = func() string {
			server.Exec(t, "CHECKPOINT")
			return filepath.Join(server.Files(), "data", "base") // tables, indexes and TOAST; not the write-ahead log
		}
	}
	return c
}

// keys reads the own keys of memories.
func (c *carved) keys(ids ...string) (keys [][]byte) {
	c.t.Helper()
	rows, err := c.b.store.Memories.MemoriesByID(c.t.Context(), "wsp_a", ids)
	noError(c.t, err)
	for _, r := range rows {
		keys = append(keys, r.OwnKey)
	}
	if len(keys) != len(ids) {
		c.t.Fatalf("%d of %d memories are there", len(keys), len(ids))
	}
	return keys
}

// count is how many of keys lie in the files.
func (c *carved) count(keys [][]byte) (found int) {
	c.t.Helper()
	there := make([]bool, len(keys))
	noError(c.t, filepath.WalkDir(c.files(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // a file that another test's database had
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		for i, key := range keys {
			there[i] = there[i] || bytes.Contains(text, key)
		}
		return nil
	}))
	for _, is := range there {
		if is {
			found++
		}
	}
	return found
}

func (c *carved) want(what string, keys [][]byte, want int) {
	c.t.Helper()
	if got := c.count(keys); got != want {
		c.t.Errorf("%s: %d of %d keys lie in the files, want %d", what, got, len(keys), want)
	}
}

// TestErasedMemoryIsInNoFileAfterAnHour deletes, forgets and lets expire memories with their older revisions.
func TestErasedMemoryIsInNoFileAfterAnHour(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bundle) {
		c := carve(t, b)
		var ids []string
		for i := range 12 {
			n := say(fmt.Sprintf("memory number %d", i))
			if i >= 8 {
				at := b.now().Add(time.Minute)
				n.ExpiresAt = &at
			}
			ids = append(ids, b.create(t, n).ID)
		}
		for _, id := range ids[:6] {
			_, err := b.Changer.Change(t.Context(), anna, id, memory.Change{Text: memory.SetTo("a later revision of " + id)}, nil)
			noError(t, err)
		}
		gone, kept := append(c.keys(ids[:2]...), append(c.keys(ids[4:6]...), c.keys(ids[8:]...)...)...), c.keys(append(ids[2:4:4], ids[6:8]...)...)
		c.want("before", gone, 8)

		noError(t, b.Eraser.Delete(t.Context(), anna, ids[0], nil))
		noError(t, b.Eraser.Delete(t.Context(), anna, ids[1], nil))
		plan, err := b.Forgetter.Plan(t.Context(), anna, memory.Forget{SubjectID: "ada", IDs: ids[4:6]})
		noError(t, err)
		_, err = b.Forgetter.Forget(t.Context(), anna, "ada", plan.ID)
		noError(t, err)
		for range 60 {
			b.pass(time.Minute)
			noError(t, b.Sweeper.Sweep(t.Context(), b.now()))
		}
		if b.journal.expired != 1 { // kept answers go, too
			t.Errorf("%d times something expired", b.journal.expired)
		}
		c.want("what was deleted, forgotten and has expired", gone, 0)
		c.want("what was not", kept, 4)
		for _, id := range append(ids[2:4:4], ids[6:8]...) {
			_, err := b.Reader.Memory(t.Context(), anna, id)
			noError(t, err)
		}
	})
}

// TestErasedMemoryIsInNoFileAfterAStop is about the embedded engine, whose files no other process has open.
func TestErasedMemoryIsInNoFileAfterAStop(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	c := carve(t, b)
	gone, kept := b.create(t, say("to be deleted")).ID, b.create(t, say("to stay")).ID
	goneKeys, keptKeys := c.keys(gone), c.keys(kept)
	noError(t, b.Eraser.Delete(t.Context(), anna, gone, nil))
	c.want("while the program runs", goneKeys, 1) // in the log
	noError(t, b.engine.(interface{ Close() error }).Close())
	c.want("what was deleted", goneKeys, 0)
	c.want("what was not", keptKeys, 1)
}

// TestOldSnapshotDelaysTheRewrite: what an older transaction may still read is not said to be gone.
func TestOldSnapshotDelaysTheRewrite(t *testing.T) {
	t.Parallel()
	b := onPostgres(t, migrated(t))
	c := carve(t, b)
	id := b.create(t, say("to be deleted")).ID
	keys := c.keys(id)
	noError(t, b.engine.Main().Run(t.Context(), func(ctx context.Context) error {
		if _, err := b.engine.Main().In(ctx).Exec(ctx, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"); err != nil {
			return err
		}
		var n int64
		if err := b.engine.Main().In(ctx).QueryRow(ctx, "SELECT count(*) FROM instance").Scan(&n); err != nil {
			return err
		}
		outside := context.Background()
		noError(t, b.Eraser.Delete(outside, anna, id, nil))
		b.pass(31 * time.Minute)
		if err := b.Sweeper.Sweep(outside, b.now()); err == nil {
			t.Error("a sweep beside an older transaction says that all is gone")
		}
		c.want("beside an older transaction", keys, 1)
		return nil
	}))
	noError(t, b.Sweeper.Sweep(t.Context(), b.now()))
	c.want("after it", keys, 0)
}

// TestErasedKeysLeaveNoCopies writes and erases in all sorts of orders: SQLite must never have moved a key and left a copy.
func TestErasedKeysLeaveNoCopies(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	c := carve(t, b)
	var live []string
	var dead [][]byte
	for round := range 40 {
		var items []memory.Item
		for i := range 50 + round*7%60 {
			items = append(items, memory.Item{Memory: say(fmt.Sprintf("text %d of round %d", i, round)), Duplicates: memory.AllowDuplicates})
		}
		prepared, err := b.Writer.PrepareBatch(t.Context(), anna, items, true)
		noError(t, err)
		results, err := b.Writer.Batch(t.Context(), prepared)
		noError(t, err)
		for _, r := range results {
			live = append(live, r.Memory.ID)
		}
		var forget, stay []string
		for i, id := range live {
			if (i*7+round)%5 < 3 {
				forget = append(forget, id)
			} else {
				stay = append(stay, id)
			}
		}
		dead, live = append(dead, c.keys(forget...)...), stay
		plan, err := b.Forgetter.Plan(t.Context(), anna, memory.Forget{SubjectID: "ada", IDs: forget})
		noError(t, err)
		_, err = b.Forgetter.Forget(t.Context(), anna, "ada", plan.ID)
		noError(t, err)
	}
	noError(t, b.engine.Main().(store.Scrubbed).Scrub(t.Context()))
	c.want("erased memories", dead, 0)
	c.want("the others", c.keys(live...), len(live))
}
