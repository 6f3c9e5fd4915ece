package faulttest

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// TestErasedSubjectIsUnreadableInOlderBackups puts an older file of data back: with the newest file of keys the person is
// unreadable, with an older one the journal erases them once more, and everybody else is there each time.
func TestErasedSubjectIsUnreadableInOlderBackups(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "restores backups and starts the program several times")
	const jane, john = "jane@example.com", "john@example.com"
	dir := t.TempDir()
	s := start(t, dir, "")
	var ids []string
	for i := range 3 {
		ids = append(ids, s.remember(jane, fmt.Sprintf("Jane's remark %d", i), map[string]any{"key": fmt.Sprint("k", i)}))
	}
	s.Must(http.StatusOK, http.MethodPatch, memories+"/"+ids[0], map[string]any{"text": "Jane's other remark"})
	for i := range 2 {
		s.remember(john, fmt.Sprintf("John's remark %d", i), nil)
	}
	taken := s.remember(john, "John's remark that is taken back", nil)
	p := newBackupPlace(t, dir)
	if code, out := programtest.Run(t, p.backup(dir, "older")...); code != 0 {
		t.Fatalf("backup: %d %s", code, out)
	}
	oldKeys := filepath.Join(t.TempDir(), "keys")
	if data, err := os.ReadFile(p.keys); err != nil || os.WriteFile(oldKeys, data, 0o600) != nil {
		t.Fatal(err)
	}
	if receipt := s.erase(jane); receipt["memories"] != 3.0 || receipt["liveKeyDestroyed"] != true || receipt["keyBackupsBefore"] == nil {
		t.Errorf("the receipt is %v", receipt)
	}
	s.Must(http.StatusNoContent, http.MethodDelete, memories+"/"+taken, nil)
	if code, out := programtest.Run(t, p.backup(dir, "newer")...); code != 0 {
		t.Fatalf("backup: %d %s", code, out)
	}
	key := s.stopped()
	journal := []string{"--journal", filepath.Join(dir, "journal.ndjson")}

	for _, test := range []struct {
		name string
		keys string
		more []string
		gone bool
		john int
	}{
		{"the newest keys", p.keys, nil, true, 3},
		{"the newest keys and the journal", p.keys, journal, true, 2},
		{"the older keys and the journal", oldKeys, journal, true, 2},
		{"the older keys alone", oldKeys, nil, false, 3}, // so it is written in the receipt: those keys open that data
	} {
		into := filepath.Join(t.TempDir(), "restored")
		place := *p
		place.keys = test.keys
		if code, out := programtest.Run(t, place.restore(into, "older", test.more...)...); code != 0 {
			t.Fatalf("%s: restore: %d %s", test.name, code, out)
		}
		again := start(t, into, key)
		if texts := again.memoriesOf(john); len(texts) != test.john || len(again.recalled(john, "remark")) != test.john {
			t.Errorf("%s: John has %d memories, want %d", test.name, len(texts), test.john)
		}
		if !test.gone {
			if texts := again.memoriesOf(jane); len(texts) != 3 || len(again.recalled(jane, "remark")) != 3 {
				t.Errorf("%s: Jane has %d memories: nothing is shown by the other cases", test.name, len(texts))
			}
			again.Stop()
			continue
		}
		again.isGone(jane, "remark", ids...)
		// She can come back as a new subject.
		back := again.remember(jane, "Jane's first remark", nil)
		if texts := again.memoriesOf(jane); len(texts) != 1 || texts[back] == "" || len(again.recalled(jane, "remark")) != 1 {
			t.Errorf("%s: Jane came back and has %v", test.name, texts)
		}
		again.erase(jane)
		again.isGone(jane, "remark", back)
		again.Stop()
		if code, out := programtest.Run(t, "audit", "verify", "--data", into); code != 0 {
			t.Errorf("%s: the log: %d %s", test.name, code, out)
		}
	}
}
