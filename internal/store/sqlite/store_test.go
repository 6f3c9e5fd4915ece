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
