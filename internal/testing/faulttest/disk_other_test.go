//go:build !linux

package faulttest

import (
	"testing"

	"keepsake/internal/testing/testtier"
)

// smallDisk mounts a small file system. The test is skipped if it cannot.
func smallDisk(t *testing.T, _ string) string {
	t.Helper()
	testtier.Missing(t, "Linux, to mount a small disk")
	return ""
}

func enlarge(*testing.T, string, string) {}
