package client_test

import (
	"testing"

	"keepsake/internal/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }
