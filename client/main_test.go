package client_test

import (
	"testing"

	"keepsake/internal/testing/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }
