// Package sqlitetest gives tests an instance on SQLite without the time that its migrations take.
package sqlitetest

import (
	"context"
	"testing"

	"keepsake/internal/enginetest"
	"keepsake/internal/store/sqlite"
)

// Dir is a folder of the test's own with an instance that holds nothing and was closed in order. All such folders of a test
// binary are copies of one, so they have the same instance id.
func Dir(t testing.TB) string {
	t.Helper()
	return enginetest.FolderCopy(t, "instance on SQLite", func(dir string) error {
		e, err := sqlite.Open(context.Background(), sqlite.Options{Dir: dir})
		if err != nil {
			return err
		}
		return e.Close()
	})
}
