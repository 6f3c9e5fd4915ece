package audit_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/audit/audittest"
)

func TestAnUntouchedLogVerifies(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if v := b.verify(t); v.Break() != nil || v.Rows != 0 || v.Newest != nil {
		t.Errorf("an empty log: %+v", v)
	}
	b.write(t, 1100) // more than a page
	b.checkpoint(t)
	b.write(t, 1)
	v := b.verify(t)
	if v.Break() != nil || v.Rows != 1101 || v.Checkpoints != 1 || v.Newest == nil || !v.Newest.Equal(noon.Add(1100*time.Second)) {
		t.Errorf("a log of 1,101 rows: %+v", v)
	}
	if last := b.rows(t)[1100]; len(v.Heads) != 1 || v.Heads[0] != (audit.Head{Chain: "main", Sequence: 1101, Hash: last.Hash}) {
		t.Errorf("it ends with %+v", v.Heads)
	}
}

// T42: whatever is done to the rows of a log of ten rows, with a checkpoint of row 7, is found, and the first bad row named.
func TestTamperingIsFound(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		tamper   []string
		sequence int64
		reason   audit.Reason
	}{
		{"edit a text", []string{`UPDATE audit_log SET actor = 'key_b' WHERE sequence = 4`}, 4, audit.RowChanged},
		{"edit a time", []string{`UPDATE audit_log SET at = at + 1 WHERE sequence = 1`}, 1, audit.RowChanged},
		{"edit an address", []string{`UPDATE audit_log SET address = '192.0.2.8' WHERE sequence = 10`}, 10, audit.RowChanged},
		{"make an address unreadable", []string{`UPDATE audit_log SET address = '?' WHERE sequence = 10`}, 10, audit.RowChanged},
		{"edit details", []string{`UPDATE audit_log SET details = '{"scopes": "read"}' WHERE sequence = 2`}, 2, audit.RowChanged},
		{"move a text to the next column", []string{
			`UPDATE audit_log SET actor = actor || target, target = '' WHERE sequence = 3`,
		}, 3, audit.RowChanged},
		{"edit a hash", []string{`UPDATE audit_log SET hash = zeroblob(32) WHERE sequence = 5`}, 5, audit.RowChanged},
		{"delete the first", []string{`DELETE FROM audit_log WHERE sequence = 1`}, 1, audit.RowMissing},
		{"delete one", []string{`DELETE FROM audit_log WHERE sequence = 5`}, 5, audit.RowMissing},
		{"delete one and close the gap", []string{
			`DELETE FROM audit_log WHERE sequence = 5`,
			`UPDATE audit_log SET sequence = sequence - 1 WHERE sequence > 5`,
			`UPDATE audit_chain SET sequence = 9`,
		}, 5, audit.RowChanged},
		{"reorder", []string{
			`UPDATE audit_log SET sequence = 99 WHERE sequence = 3`,
			`UPDATE audit_log SET sequence = 3 WHERE sequence = 4`,
			`UPDATE audit_log SET sequence = 4 WHERE sequence = 99`,
		}, 3, audit.RowChanged},
		{"move to another chain", []string{`UPDATE audit_log SET chain = 'other' WHERE sequence = 6`}, 6, audit.RowMissing},
		{"truncate the tail", []string{`DELETE FROM audit_log WHERE sequence > 8`}, 9, audit.RowCutOff},
		{"truncate the tail and set the head back", []string{
			`DELETE FROM audit_log WHERE sequence > 5`,
			`UPDATE audit_chain SET sequence = 5, hash = (SELECT hash FROM audit_log WHERE sequence = 5)`,
		}, 6, audit.RowCutOff},
		{"set the head back", []string{
			`UPDATE audit_chain SET sequence = 5, hash = (SELECT hash FROM audit_log WHERE sequence = 5)`,
		}, 10, audit.HeadWrong},
		{"lose the head", []string{`DELETE FROM audit_chain`}, 10, audit.HeadWrong},
		{"lose everything", []string{`DELETE FROM audit_log`, `DELETE FROM audit_chain`}, 1, audit.RowCutOff},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.write(t, 7)
			b.checkpoint(t)
			b.write(t, 3)
			rows := b.rows(t)
			b.tamper(t, test.tamper...)
			v := b.verify(t)
			if v.Break() == nil {
				t.Fatal("nothing was found")
			}
			if v.Break().Chain != "main" || v.Break().Sequence != test.sequence || v.Break().Reason != test.reason {
				t.Errorf("found %+v, want row %d %s", v.Break(), test.sequence, test.reason)
			}
			if test.reason == audit.RowChanged && test.name != "reorder" && test.name != "delete one and close the gap" &&
				v.Break().ID != rows[test.sequence-1].ID {
				t.Errorf("named %s, want %s", v.Break().ID, rows[test.sequence-1].ID)
			}
			if v.Break().Reason.Message() == "" {
				t.Error("there are no words for it")
			}
		})
	}
}

func TestEveryColumnIsVouchedFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write(t, 3)
	for column, value := range map[string]string{
		"id": "id || 'a'", "at": "at + 1", "workspace_id": "''", "actor": "''", "action": "action || 'd'", "target": "''",
		"outcome": "'failed'", "count": "2", "details": "'{}'", "address": "''", "request_id": "'req_a'",
		"previous_hash": "zeroblob(32)", "hash": "zeroblob(32)",
	} {
		b.tamper(t, `CREATE TABLE kept AS SELECT * FROM audit_log`, `UPDATE audit_log SET `+column+` = `+value+` WHERE sequence = 2`)
		if v := b.verify(t); v.Break() == nil || v.Break().Sequence != 2 {
			t.Errorf("%s = %s: found %+v", column, value, v.Break())
		}
		b.tamper(t, `DELETE FROM audit_log`, `INSERT INTO audit_log SELECT * FROM kept`, `DROP TABLE kept`)
		if v := b.verify(t); v.Break() != nil {
			t.Fatalf("after %s was put back: %+v", column, v.Break())
		}
	}
}

func TestEveryColumnOfAReadIsVouchedFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n := range 3 {
		if err := b.Read(t.Context(), b.reading(n)); err != nil {
			t.Fatal(err)
		}
	}
	b.write(t, 1)
	changes := map[string]string{
		"place": "place + 100", "at": "at + 1", "workspace": "actor", "actor": "workspace", "target": "target + 1",
		"hash": "zeroblob(16)", "body": "x''",
	}
	var size int
	if err := b.engine.Main().In(t.Context()).QueryRow(t.Context(), "SELECT length(body) FROM audit_read WHERE "+placeOf("main", 2)).Scan(&size); err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= size; i++ { // each byte of the body
		changes[fmt.Sprintf("body -- %d", i)] = fmt.Sprintf(
			`CAST(substr(body, 1, %d) || CASE substr(body, %d, 1) WHEN x'00' THEN x'01' ELSE x'00' END || substr(body, %d) AS BLOB)`, i-1, i, i+1)
	}
	for column, value := range changes {
		column, _, _ = strings.Cut(column, " --")
		b.tamper(t, `CREATE TABLE kept AS SELECT * FROM audit_read`, `UPDATE audit_read SET `+column+` = `+value+` WHERE `+placeOf("main", 2))
		if v := b.verify(t); v.Break() == nil || v.Break().Sequence != 2 {
			t.Errorf("%s = %s: found %+v", column, value, v.Break())
		}
		b.tamper(t, `DELETE FROM audit_read`, `INSERT INTO audit_read SELECT * FROM kept`, `DROP TABLE kept`)
		if v := b.verify(t); v.Break() != nil {
			t.Fatalf("after %s was put back: %+v", column, v.Break())
		}
	}
}

// An attacker who can write the database knows how rows are hashed, but has no key.
func TestRewrittenChainIsFoundWithoutCheckpoints(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write(t, 10)
	rows := b.rows(t)
	rows[3].Actor = "key_b"
	rewrite(t, b, rows[3:])
	for range 2 {
		v := b.verify(t)
		if v.Break() == nil || v.Break().Sequence != 4 || v.Break().Reason != audit.RowChanged || v.Break().ID != rows[3].ID {
			t.Errorf("found %+v, want row 4 changed", v.Break())
		}
		b.checkpoint(t) // of the rewritten chain
	}
}

// The file of checkpoints and the log are both cut; the record shows it.
func TestRecordTellsWhatWasCutOff(t *testing.T) {
	t.Parallel()
	const cut = "UPDATE audit_chain SET sequence = 5, hash = (SELECT hash FROM audit_log WHERE sequence = 5)"
	for _, test := range []struct {
		name       string
		main, keys []string
		file       func(t *testing.T, path string)
		sequence   int64
		reason     audit.Reason
	}{
		{"the file is deleted", nil, nil, remove, 10, audit.CheckpointMissing},
		{"the file is an older copy", nil, nil, shorten, 10, audit.CheckpointMissing},
		{"the log is cut and the file deleted", []string{"DELETE FROM audit_log WHERE sequence > 5", cut}, nil, remove, 6, audit.RowCutOff},
		{"the log and the file are cut alike", []string{"DELETE FROM audit_log WHERE sequence > 5", cut}, nil, shorten, 6, audit.RowCutOff},
		{"everything is deleted but the record", []string{"DELETE FROM audit_log", "DELETE FROM audit_chain"}, nil, remove, 1, audit.RowCutOff},
		{"the record is deleted", nil, []string{"DELETE FROM audit_record"}, nil, 10, audit.RecordMissing},
		{"the record, the file and the end are deleted", []string{"DELETE FROM audit_log WHERE sequence > 5", cut}, []string{"DELETE FROM audit_record"}, remove, 5, audit.RecordMissing},
		{"the record is changed", nil, []string{"UPDATE audit_record SET sealed = zeroblob(60)"}, nil, 10, audit.RecordForged},
		{"the record is another chain's", nil, []string{
			"INSERT INTO audit_record VALUES ('other', zeroblob(1))", "UPDATE audit_record SET sealed = (SELECT sealed FROM audit_record WHERE chain = 'other') WHERE chain = 'main'",
			"DELETE FROM audit_record WHERE chain = 'other'",
		}, nil, 10, audit.RecordForged},
		{"a chain is invented", []string{
			"INSERT INTO audit_log SELECT 'another', sequence, id || 'x', at, workspace_id, actor, action, target, outcome, count, details, address, request_id, previous_hash, hash FROM audit_log WHERE sequence = 1",
		}, nil, nil, 1, audit.RowChanged},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.write(t, 5)
			b.checkpoint(t)
			b.write(t, 5)
			b.checkpoint(t)
			if v := b.verify(t); v.Break() != nil {
				t.Fatalf("before: %+v", v.Break())
			}
			b.tamper(t, test.main...)
			b.tamperWith(t, "keys.db", test.keys...)
			if test.file != nil {
				test.file(t, b.Checkpoints)
			}
			found := b.verify(t).Break()
			if found == nil || found.Sequence != test.sequence || found.Reason != test.reason {
				t.Fatalf("found %+v, want row %d %s", found, test.sequence, test.reason)
			}
			if found.Reason.Message() == "" {
				t.Error("there are no words for it")
			}
			// Nothing that comes later covers it up.
			b = b.again(t)
			b.write(t, 10)
			b.checkpoint(t)
			b = b.again(t)
			if v := b.verify(t); v.Break() == nil {
				t.Error("rows and checkpoints of later cover it up")
			}
		})
	}
}

func TestPutBackCheckpointsVerifyAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write(t, 5)
	b.checkpoint(t)
	kept, err := os.ReadFile(b.Checkpoints)
	if err != nil {
		t.Fatal(err)
	}
	remove(t, b.Checkpoints)
	for range 2 {
		b.write(t, 1)
		b.checkpoint(t)
		if v := b.verify(t); v.Break() == nil || v.Break().Sequence != 5 || v.Break().Reason != audit.CheckpointMissing {
			t.Fatalf("found %+v, want the checkpoint of row 5 to be missing", v.Break())
		}
	}
	later, err := os.ReadFile(b.Checkpoints)
	if err == nil {
		err = os.WriteFile(b.Checkpoints, append(kept, later...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if v := b.verify(t); v.Break() != nil {
			t.Errorf("found %+v", v.Break())
		}
		b.write(t, 1)
		b.checkpoint(t)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// shorten leaves the first line of a file.
func shorten(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, text[:bytes.IndexByte(text, '\n')+1], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Nothing that looks like a new log is taken for one: all rows are rewritten, and the records and checkpoints are gone.
func TestRewrittenLogIsFoundWithoutRecords(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write(t, 6)
	b.checkpoint(t)
	rewrite(t, b, b.rows(t))
	b.tamperWith(t, "keys.db", "DELETE FROM audit_record")
	remove(t, b.Checkpoints)
	b = b.again(t)
	b.write(t, 1)
	b.checkpoint(t)
	if v := b.verify(t); v.Break() == nil || v.Break().Sequence != 1 || v.Break().Reason != audit.RowChanged {
		t.Errorf("found %+v, want row 1 changed", v.Break())
	}
}

func TestRestoredLogIsAccepted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write(t, 5)
	b.checkpoint(t)
	b.write(t, 5)
	b.checkpoint(t)
	// What a backup of then brings back, beside records of now.
	b.tamper(t, "DELETE FROM audit_log WHERE sequence > 5", "UPDATE audit_chain SET sequence = 5, hash = (SELECT hash FROM audit_log WHERE sequence = 5)")
	shorten(t, b.Checkpoints)
	if v := b.verify(t); v.Break() == nil {
		t.Fatal("it is not noticed")
	}
	next := b.again(t)
	if err := next.Accept(t.Context()); err != nil {
		t.Fatal(err)
	}
	next.write(t, 1)
	next.checkpoint(t)
	if v := next.verify(t); v.Break() != nil || v.Rows != 6 {
		t.Errorf("found %+v", v.Break())
	}
}

// rewrite makes the database hold these rows of the chain main, hashed without the key.
func rewrite(t *testing.T, b *bundle, rows []*audit.Row) {
	t.Helper()
	const chain = "main"
	previous := rows[0].Previous
	var statements []string
	for _, r := range rows {
		hash := audittest.UnkeyedHash(r, chain, previous)
		statements = append(statements, fmt.Sprintf(
			`UPDATE audit_log SET actor = '%s', previous_hash = x'%s', hash = x'%s' WHERE chain = '%s' AND sequence = %d`,
			r.Actor, previous, hash, chain, r.Sequence))
		previous = hash
	}
	statements = append(statements, fmt.Sprintf(
		`UPDATE audit_chain SET hash = x'%s' WHERE name = '%s' AND sequence = %d`, previous, chain, rows[len(rows)-1].Sequence))
	b.tamper(t, statements...)
}

// T42: an old copy of the database in the place of the newer one.
func TestAnOldCopyIsFoundAndNeverForgotten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := setupIn(t, dir)
	b.write(t, 5)
	b.checkpoint(t)
	copied := filepath.Join(t.TempDir(), "main.db")
	b.tamper(t, `VACUUM INTO '`+copied+`'`)
	b.write(t, 5)
	b.checkpoint(t)
	if err := b.engine.Close(); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(copied)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.db"), old, 0o600); err != nil {
		t.Fatal(err)
	}

	b = setupIn(t, dir)
	if v := b.verify(t); v.Break() == nil || v.Break().Sequence != 6 || v.Break().Reason != audit.RowCutOff {
		t.Fatalf("found %+v, want row 6 cut off", v.Break())
	}
	// Rows and checkpoints that come later do not cover it up.
	b.write(t, 10)
	b.checkpoint(t)
	if v := b.verify(t); v.Break() == nil || v.Break().Sequence != 10 || v.Break().Reason != audit.RowRewritten {
		t.Errorf("later found %+v, want row 10 rewritten", v.Break())
	}
}

func TestCheckpointsCannotBeMadeByOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write(t, 3)
	b.checkpoint(t)
	good, err := os.ReadFile(b.Checkpoints)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		data   []byte
		reason audit.Reason
	}{
		"another row":      {bytes.Replace(good, []byte(`"sequence":3`), []byte(`"sequence":2`), 1), audit.CheckpointForged},
		"another chain":    {bytes.Replace(good, []byte(`"main"`), []byte(`"side"`), 1), audit.CheckpointForged},
		"no signature":     {[]byte(`{"chain":"main","sequence":1}` + "\n"), audit.CheckpointForged},
		"no checkpoint":    {append([]byte("{}}\n"), good...), audit.CheckpointsBroken},
		"no end":           {good[:len(good)-1], audit.CheckpointMissing},
		"half a line more": {append(bytes.Clone(good), good[:20]...), ""},
	} {
		if err := os.WriteFile(b.Checkpoints, test.data, 0o600); err != nil {
			t.Fatal(err)
		}
		v := b.verify(t)
		found := slices.ContainsFunc(v.Breaks, func(b *audit.Break) bool { return b.Reason == test.reason })
		if test.reason == "" && v.Break() != nil || test.reason != "" && !found {
			t.Errorf("%s: found %+v, want %q", name, v.Break(), test.reason)
		}
	}
}
