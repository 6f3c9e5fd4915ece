package wire_test

import (
	"math"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"keepsake/internal/wire"
)

func TestAppendNumberWritesWhatStrconvDoes(t *testing.T) {
	t.Parallel()
	check := func(n int64) {
		t.Helper()
		if got, want := string(wire.AppendNumber([]byte("n="), n)), "n="+strconv.FormatInt(n, 10); got != want {
			t.Errorf("AppendNumber(%d) = %s", n, got)
		}
	}
	check(0)
	check(math.MaxInt64)
	check(math.MinInt64)
	for power := int64(1); power <= math.MaxInt64/10; power *= 10 {
		for _, n := range []int64{power - 1, power, power + 1, 10*power - 1, -power} {
			check(n)
		}
	}
	rapid.Check(t, func(t *rapid.T) { check(rapid.Int64().Draw(t, "n")) })
}

func TestAppendTimeWritesWhatTheLayoutDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(-70_000_000_000, 300_000_000_000).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		if rapid.Bool().Draw(t, "elsewhere") {
			at = at.In(time.FixedZone("", rapid.IntRange(-50_000, 50_000).Draw(t, "offset")))
		}
		got, want := string(wire.AppendTime(nil, at)), at.UTC().Format("2006-01-02T15:04:05.000Z")
		if got != want {
			t.Fatalf("AppendTime(%v) = %s, want %s", at, got, want)
		}
	})
}
