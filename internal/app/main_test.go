package app_test

import (
	"os"
	"runtime/debug"
	"testing"

	"keepsake/internal/testing/enginetest"
)

func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // dozens of programs start here: half of what a test costs would be collecting garbage
	}
	enginetest.Main(m)
}
