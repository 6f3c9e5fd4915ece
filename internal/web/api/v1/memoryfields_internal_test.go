package v1

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/memory"
	"keepsake/internal/memory/memorytest"
	"keepsake/internal/web/endpoint"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// TestAnExportedLineIsImportedWhole fails if a field is missing from a representation of a memory or from a conversion.
func TestAnExportedLineIsImportedWhole(t *testing.T) {
	t.Parallel()
	want := memory.Portable{Memory: memorytest.Filled(t, noon, 2), History: []*memory.Memory{memorytest.Filled(t, noon, 1)}}
	line, err := json.Marshal(viewOfPortable(&want))
	if err != nil {
		t.Fatal(err)
	}
	var read portableMemory
	if err := endpoint.NewDecoder[portableMemory]().Decode(line, &read); err != nil {
		t.Fatal(err)
	}
	got := read.line()
	older := want.History[0]                          // the import sets what all revisions share
	want.Memory.ImportedBy, older.ImportedBy = "", "" // and who imports
	older.ID, older.SubjectID, older.AgentID, older.SessionID, older.CreatedAt, older.CreatedBy = "", "", "", "", time.Time{}, ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestEveryFieldIsCreatedAndPatched reads what a view of a memory shows as a new memory and as a change.
func TestEveryFieldIsCreatedAndPatched(t *testing.T) {
	t.Parallel()
	m := memorytest.Filled(t, noon, 2)
	shown, err := json.Marshal(struct {
		SubjectID, AgentID, SessionID string
		memoryFields
	}{m.SubjectID, m.AgentID, m.SessionID, fieldsOfMemory(m)})
	if err != nil {
		t.Fatal(err)
	}
	var created newMemory
	if err := json.Unmarshal(shown, &created); err != nil {
		t.Fatal(err)
	}
	want := *m
	want.ID, want.CreatedAt, want.UpdatedAt, want.CreatedBy, want.UpdatedBy, want.ImportedBy, want.Revision = "", time.Time{}, time.Time{}, "", "", "", 0
	if diff := cmp.Diff(memory.Item{Memory: want}, created.item()); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}

	shown, err = json.Marshal(fieldsOfMemory(m))
	if err != nil {
		t.Fatal(err)
	}
	var patch changeMemory
	if err := endpoint.NewDecoder[changeMemoryBody]().Decode(shown, &patch.Body); err != nil {
		t.Fatal(err)
	}
	change := reflect.ValueOf(patch.change())
	for i := range change.NumField() {
		if name := change.Type().Field(i).Name; !change.Field(i).FieldByName("Set").Bool() {
			t.Errorf("%s is not changed", name)
		}
	}
}

func TestDuplicatesAreAllowedIfAskedFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   newMemory
		want memory.Duplicates
	}{
		{newMemory{}, memory.DefaultDuplicates},
		{newMemory{Deduplicate: true}, memory.Deduplicate},
		{newMemory{AllowDuplicate: true}, memory.AllowDuplicates},
		{newMemory{AllowDuplicate: true, Deduplicate: true}, memory.AllowDuplicates},
	} {
		if got := c.in.item().Duplicates; got != c.want {
			t.Errorf("%v and %v: got %d, want %d", c.in.AllowDuplicate, c.in.Deduplicate, got, c.want)
		}
	}
}
