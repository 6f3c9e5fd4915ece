// Package memorytest creates memories for tests.
package memorytest

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"keepsake/internal/memory"
)

// Filled returns a revision of a memory of which every field is set, also fields that are added later. All of them differ
// between revisions, except the ID, the owners, CreatedAt, CreatedBy and ImportedBy. The memory expires an hour after now.
func Filled(t testing.TB, now time.Time, revision int64) *memory.Memory {
	t.Helper()
	m := &memory.Memory{
		ID: "mem_01kakakakafkhvayayayayayay", SubjectID: "ada", AgentID: "coach", SessionID: "s-1",
		Kind: memory.Kinds()[revision], CreatedAt: now.Add(-24 * time.Hour), CreatedBy: "usr_creator",
		ImportedBy: "usr_anna", Revision: revision,
	}
	v := reflect.ValueOf(m).Elem()
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		if !f.IsZero() {
			continue
		}
		at := now.Add(time.Hour - time.Duration(v.NumField()-i)*time.Minute + time.Duration(revision)*time.Second)
		switch f.Interface().(type) {
		case string:
			f.SetString(fmt.Sprint(name, " ", revision))
		case bool:
			f.SetBool(true)
		case int64:
			f.SetInt(revision)
		case *float64:
			f.Set(reflect.ValueOf(new(1 / float64(revision+1))))
		case time.Time:
			f.Set(reflect.ValueOf(at))
		case *time.Time:
			f.Set(reflect.ValueOf(&at))
		case []string:
			f.Set(reflect.ValueOf([]string{name, fmt.Sprint(revision)}))
		case map[string]any:
			f.Set(reflect.ValueOf(map[string]any{"text": name, "number": float64(revision), "flag": true}))
		default:
			t.Fatalf("memorytest.Filled does not know the type %s of the field %s: add a case", f.Type(), name)
		}
	}
	return m
}
