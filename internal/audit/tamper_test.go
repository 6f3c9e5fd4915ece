package audit_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"keepsake/internal/audit"
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

// Whoever knows how the rows are hashed can make a chain that fits together, but not one that fits the checkpoints.
func TestARewrittenChainContradictsItsCheckpoint(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write(t, 10)
	b.checkpoint(t)
	b.write(t, 1)
	rows := b.rows(t)
	rows[3].Actor = "key_b"
	rewrite(t, b, rows)
	v := b.verify(t)
	if v.Break() == nil || v.Break().Sequence != 10 || v.Break().Reason != audit.RowRewritten || v.Break().ID != rows[9].ID {
		t.Errorf("found %+v, want row 10 rewritten", v.Break())
	}
	if err := os.Remove(b.Checkpoints); err != nil {
		t.Fatal(err)
	}
	if v := b.verify(t); v.Break() != nil {
		t.Errorf("without checkpoints: %+v; the chain was not rewritten well", v.Break())
	}
}

// rewrite makes the database hold these rows, hashed anew by a second reading of the format, which it holds still by that.
func rewrite(t *testing.T, b *bundle, rows []*audit.Row) {
	t.Helper()
	var previous audit.Hash
	var statements []string
	for _, r := range rows {
		var m bytes.Buffer
		text := func(s string) {
			binary.Write(&m, binary.BigEndian, uint64(len(s)))
			m.WriteString(s)
		}
		text("keepsake audit row 1")
		text(r.Chain)
		binary.Write(&m, binary.BigEndian, r.Sequence)
		m.Write(previous[:])
		text(r.ID)
		binary.Write(&m, binary.BigEndian, r.At.UnixMicro())
		for _, s := range []string{
			r.WorkspaceID, r.Actor, string(r.Action), r.Target, string(r.Outcome), r.Details, r.Address.String(), r.RequestID,
		} {
			text(s)
		}
		binary.Write(&m, binary.BigEndian, r.Count)
		hash := audit.Hash(sha256.Sum256(m.Bytes()))
		statements = append(statements, fmt.Sprintf(
			`UPDATE audit_log SET actor = '%s', previous_hash = x'%s', hash = x'%s' WHERE sequence = %d`,
			r.Actor, previous, hash, r.Sequence))
		previous = hash
	}
	b.tamper(t, append(statements, fmt.Sprintf(`UPDATE audit_chain SET hash = x'%s'`, previous))...)
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
		"no end":           {good[:len(good)-1], ""},
		"half a line more": {append(bytes.Clone(good), good[:20]...), ""},
	} {
		if err := os.WriteFile(b.Checkpoints, test.data, 0o600); err != nil {
			t.Fatal(err)
		}
		v := b.verify(t)
		switch {
		case test.reason == "" && v.Break() != nil, test.reason != "" && (v.Break() == nil || v.Break().Reason != test.reason):
			t.Errorf("%s: found %+v, want %q", name, v.Break(), test.reason)
		}
	}
}
