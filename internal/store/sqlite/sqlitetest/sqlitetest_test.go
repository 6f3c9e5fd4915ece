package sqlitetest

import (
	"testing"

	"keepsake/internal/store"
	"keepsake/internal/store/sqlite"
)

// TestCopiesAreDifferentInstances opens two copies. If they had the same ID, tests of a file of another instance would show
// nothing.
func TestCopiesAreDifferentInstances(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 2 {
		e, err := sqlite.Open(t.Context(), sqlite.Options{Dir: Dir(t)})
		if err != nil {
			t.Fatal(err)
		}
		id, err := store.New(e).Secrets.InstanceID(t.Context())
		if err != nil || id == "" || seen[id] {
			t.Errorf("the instance ID is %q, %v; others have %v", id, err, seen)
		}
		seen[id] = true
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
