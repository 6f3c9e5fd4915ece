package apikey_test

import (
	"os"
	"testing"

	"keepsake/internal/testing/testtier"
)

func TestMain(m *testing.M) {
	testtier.Checks(20) // a case writes to a real database
	os.Exit(m.Run())
}
