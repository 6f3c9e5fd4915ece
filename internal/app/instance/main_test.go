package instance_test

import (
	"os"
	"runtime/debug"
	"testing"

	"keepsake/internal/testing/enginetest"
)

func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // dozens of programs start here, and garbage collection would be half of the cost
	}
	enginetest.Main(m)
}
