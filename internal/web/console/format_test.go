package console

import (
	"testing"
	"time"
)

func TestNumbersAreShort(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ got, want string }{
		{count(0), "0"},
		{count(999), "999"},
		{count(1000), "1,000"},
		{count(-123456), "-123,456"},
		{count(1500000), "1,500,000"},
		{brief(1500), "1.5k"},
		{brief(1234), "1,234"},
		{brief(1_000_000_000), "1B"},
		{short(999), "999"},
		{short(1000), "1k"},
		{short(1_550_000), "1.6M"},
		{short(30_000_000_000), "30B"},
		{percent(1, 0), "0%"},
		{percent(1, 3), "33.3%"},
		{percent(1, 100_000), "<0.1%"},
		{percent(5, 5), "100%"},
		{millis(nil), "–"},
		{millis(new(1.234)), "1.23 ms"},
		{millis(new(12.6)), "13 ms"},
		{millis(new(1500.0)), "1.50 s"},
		{duration(90 * time.Second), "2 minutes"},
		{duration(25 * time.Hour), "1 day"},
		{duration(time.Second), "1 second"},
		{plural(2, "key"), "2 keys"},
		{plural(2, "entry"), "2 entries"},
	} {
		if tc.got != tc.want {
			t.Errorf("got %s, want %s", tc.got, tc.want)
		}
	}
}
