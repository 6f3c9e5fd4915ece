package sqlite

import (
	"testing"

	"keepsake/internal/store"
	"keepsake/internal/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Engine { return open(t, t.TempDir()) })
}

func TestSideBySide(t *testing.T) {
	t.Parallel()
	storetest.RunSideBySide(t, func(t *testing.T) (a, b store.Engine) {
		e := open(t, t.TempDir()) // nobody else can have the folder open
		return e, e
	})
}
