package openapi_test

import (
	"flag"
	"strconv"
	"testing"

	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

// requests is how many requests rapid makes for each operation, unless the flag -rapid.checks says otherwise.
var requests = testtier.Rounds(30, 100)

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", strconv.Itoa(requests)); err != nil {
		panic(err) // a flag of rapid
	}
	enginetest.Main(m)
}
