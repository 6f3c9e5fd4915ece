package wire_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"keepsake/internal/base/wire"
)

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

func TestAChosenWholeSecondHasNoFraction(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-03-01T00:00:00Z": "2026-03-01T00:00:00Z", "2026-03-01T02:00:00.000+02:00": "2026-03-01T00:00:00Z",
		"2026-03-01T00:00:00.5Z": "2026-03-01T00:00:00.500Z", "2026-03-01T00:00:00.0009Z": "2026-03-01T00:00:00Z",
	} {
		var at wire.Time
		if err := at.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := string(wire.Chosen(at.Time).Append(nil)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	if wire.ChosenOrNull(nil) != nil {
		t.Error("nil is not null")
	}
}
