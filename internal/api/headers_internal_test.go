package api

import (
	"testing"

	"pgregory.net/rapid"

	"keepsake/internal/limit"
)

// Headers that are changed where they stand read as if they had been written anew.
func TestHeadersThatStayAreTheHeadersOfTheAnswer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.OneOf(
			rapid.Int64Range(-1, 12), rapid.Int64Range(95, 105), rapid.Int64Range(9_999_990, 10_000_010),
			rapid.SampledFrom([]int64{0, 1<<63 - 1, 1<<63 - 10, 999_999_999_999_999_999, 1_000_000_000_000_000_000}),
		)
		var kept answerHeaders
		of, v := steadily{version: "1", limit: 100, reset: 1_800_000_000}, limit.Verdict{}
		for range 20 {
			switch rapid.IntRange(0, 9).Draw(t, "what changes") {
			case 0:
				of.private = !of.private
			case 1:
				of.hasKey, of.keyLimit = !of.hasKey, numbers.Draw(t, "limit")
			case 2:
				v.DailyRemaining, v.MonthlyRemaining = numbers.Draw(t, "day"), numbers.Draw(t, "month")
			default:
				v.Remaining, v.KeyRemaining = numbers.Draw(t, "minute"), numbers.Draw(t, "key")
			}
			v.HasKey = of.hasKey
			kept.set(&of, &v)
			var fresh answerHeaders
			fresh.set(&of, &v)
			if string(kept.text) != string(fresh.text) {
				t.Fatalf("got\n%s\nwant\n%s", kept.text, fresh.text)
			}
			kept.text = kept.text.text("X-Request-Id: ", rapid.StringMatching("[a-z]{0,70}").Draw(t, "id"))
		}
	})
}
