package problem_test

import (
	"testing"
	"time"

	"keepsake/internal/base/problem"
)

func TestAWaitIsInHoursAndMinutes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 16, 39, 10, 400_000_000, time.UTC)
	for seconds, want := range map[int64]string{
		1:         "in 1 second",
		40:        "in 40 seconds",
		119:       "in 119 seconds",
		120:       "in 2 min (120 seconds), at 16:42 UTC",
		901:       "in 16 min (901 seconds), at 16:55 UTC",
		3600:      "in 1 h (3600 seconds), at 17:40 UTC",
		26450:     "in 7 h 21 min (26450 seconds), at 00:00 UTC",
		86_399:    "in 1 d (86399 seconds), at 16:40 UTC",
		112_850:   "in 1 d 7 h (112850 seconds), on 2026-12-01 at 00:00 UTC",
		2_592_000: "in 30 d (2592000 seconds), on 2026-12-29 at 16:40 UTC",
	} {
		if got := problem.Wait(seconds, now); got != want {
			t.Errorf("%d: got %q, want %q", seconds, got, want)
		}
	}
	if got := problem.Wait(900, time.Time{}); got != "in 15 min (900 seconds)" {
		t.Errorf("without a time: got %q", got)
	}
	if got := problem.Wait(26450, now.In(time.FixedZone("CET", 3600))); got != "in 7 h 21 min (26450 seconds), at 00:00 UTC" {
		t.Errorf("in another zone: got %q", got)
	}
}
