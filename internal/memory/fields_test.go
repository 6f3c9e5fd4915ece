package memory_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/govern/auth"
	"keepsake/internal/memory"
	"keepsake/internal/memory/memorytest"
)

// Fields of a memory that a change cannot set: owners come from the client, the others from the service.
var (
	owners = []string{"SubjectID", "AgentID", "SessionID"}
	given  = []string{"ID", "CreatedAt", "UpdatedAt", "CreatedBy", "UpdatedBy", "ImportedBy", "Revision"}
)

// TestEveryFieldIsStoredAndExported fails if a field of Memory is missing from content, contentOf or content.memory.
func TestEveryFieldIsStoredAndExported(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		want := &memory.Portable{Memory: memorytest.Filled(t, b.now(), 2), History: []*memory.Memory{memorytest.Filled(t, b.now(), 1)}}
		for _, p := range []*auth.Principal{anna, bert} {
			imported, err := b.Importer.Import(t.Context(), p, linesOf([]*memory.Portable{want}), true)
			noError(t, err)
			wantImported(t, imported, memory.Imported{Received: 1, Created: 1})
			read, err := b.Reader.Memory(t.Context(), p, want.Memory.ID)
			noError(t, err)
			if diff := cmp.Diff(want.Memory, read); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
			exported := b.export(t, p, "ada")
			if diff := cmp.Diff([]*memory.Portable{want}, exported); diff != "" {
				t.Fatalf("exported (-want +got):\n%s", diff)
			}
			want = exported[0]
			for _, m := range append(want.History, want.Memory) {
				m.ImportedBy = bert.UserID
			}
		}
	})
}

// TestEveryFieldIsCreatedAndChanged fails if a field of Memory is missing from Change or Change.apply.
func TestEveryFieldIsCreatedAndChanged(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		first, second := memorytest.Filled(t, b.now(), 1), memorytest.Filled(t, b.now(), 2)
		second.Pinned = false
		created, err := b.put(t.Context(), anna, *first)
		noError(t, err)
		wantFields(t, created.Memory, first)

		var change memory.Change
		fields, source := reflect.ValueOf(&change).Elem(), reflect.ValueOf(second).Elem()
		for i := range source.NumField() {
			name := source.Type().Field(i).Name
			if slices.Contains(owners, name) || slices.Contains(given, name) {
				continue
			}
			f := fields.FieldByName(name)
			if !f.IsValid() {
				t.Fatalf("memory.Change has no field %s", name)
			}
			value := source.Field(i)
			if value.Kind() == reflect.Pointer {
				value = value.Elem()
			}
			to := reflect.New(value.Type())
			to.Elem().Set(value)
			f.FieldByName("Set").SetBool(true)
			f.FieldByName("To").Set(to)
		}
		changed, err := b.Changer.Change(t.Context(), anna, created.Memory.ID, change, nil)
		noError(t, err)
		wantFields(t, changed, second)
	})
}

// wantFields compares the fields that a client writes.
func wantFields(t testing.TB, got, want *memory.Memory) {
	t.Helper()
	ignored := cmp.FilterPath(func(p cmp.Path) bool {
		f, ok := p.Last().(cmp.StructField)
		return ok && slices.Contains(given, f.Name())
	}, cmp.Ignore())
	if diff := cmp.Diff(want, got, ignored); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
