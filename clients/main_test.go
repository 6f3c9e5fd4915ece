// Package clients_test tests the clients in other languages: against the API's description, and on the program.
package clients_test

import (
	"testing"

	"keepsake/internal/testing/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
