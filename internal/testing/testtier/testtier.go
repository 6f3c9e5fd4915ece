// Package testtier divides the tests into two tiers. The quick tier is what `make test` runs; `make test-all` runs every
// test. A test belongs to the quick tier unless it calls Long.
package testtier

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

// Variable is the environment variable that selects the tier: "all", or "quick", which is the default.
const Variable = "KEEPSAKE_TEST_TIER"

// SkipLong begins the message of every test that the quick tier leaves out.
const SkipLong = "long: "

// SkipMissing begins the message of every test that needs something this machine does not have.
const SkipMissing = "missing: "

// All reports whether every test runs.
func All() bool { return os.Getenv(Variable) == "all" }

// Long skips t in the quick tier. why says what makes the test long.
func Long(t testing.TB, why string) {
	t.Helper()
	if !All() {
		t.Skip(SkipLong + why)
	}
}

// Rounds is how often a test repeats what it tries: quick times in the quick tier, all times otherwise.
func Rounds(quick, all int) int {
	if All() {
		return all
	}
	return quick
}

// Checks sets how many cases rapid.Check tries of each property in the quick tier. A TestMain calls it before it runs the
// tests, so a flag on the command line takes precedence.
func Checks(quick int) {
	if All() {
		return
	}
	if err := flag.Set("rapid.checks", strconv.Itoa(quick)); err != nil {
		panic(err)
	}
}

// Missing skips t because this machine lacks what, a package or a privilege. If the environment variable CI is set, it fails
// t, because CI must run everything.
func Missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(SkipMissing + what)
	}
	t.Skip(SkipMissing + what)
}
