package page_test

import (
	"encoding/base64"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"keepsake/internal/base/page"
	"keepsake/internal/base/problem"
)

type position struct {
	At string `json:"at"`
	N  int64  `json:"n"`
}

var secret = []byte("0123456789abcdef0123456789abcdef")

func isInvalidCursor(err error) bool {
	p, ok := problem.As(err)
	return ok && p.Kind == problem.Invalid && p.Details.Field == "cursor" && p.Details.Issue == problem.InvalidVal
}

func TestACursorOpensInItsOwnListOnly(t *testing.T) {
	t.Parallel()
	sealer := page.NewSealer(secret)
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.StringN(0, 5, -1), 2, 5)
		mine, other := parts.Draw(t, "mine"), parts.Draw(t, "other")
		scope := page.Scope(mine[0], mine[1], mine[2:]...)
		want := position{At: rapid.String().Draw(t, "at"), N: rapid.Int64().Draw(t, "n")}
		cursor := sealer.Seal(scope, want)
		var got position
		if err := sealer.Open(scope, cursor, &got); err != nil || got != want {
			t.Fatalf("got %+v, %v, want %+v", got, err, want)
		}
		if err := sealer.Open(page.Scope(other[0], other[1], other[2:]...), cursor, &got); slices.Equal(mine, other) != (err == nil) {
			t.Fatalf("a cursor of %q opened for %q: %v", mine, other, err)
		}
	})
}

func TestAChangedCursorIsRefused(t *testing.T) {
	t.Parallel()
	sealer := page.NewSealer(secret)
	cursor := sealer.Seal("list", position{At: "a", N: 7})
	sealed, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		t.Fatalf("the cursor %q is not base64: %v", cursor, err)
	}
	for i := range sealed {
		changed := slices.Clone(sealed)
		changed[i] ^= 1
		if err := sealer.Open("list", base64.RawURLEncoding.EncodeToString(changed), new(position)); !isInvalidCursor(err) {
			t.Errorf("byte %d changed: got %v, want cursor, invalid", i, err)
		}
	}
	for _, text := range []string{"", "x", "!", cursor + "=", cursor[:20], cursor + "A"} {
		if err := sealer.Open("list", text, new(position)); !isInvalidCursor(err) {
			t.Errorf("cursor %q: got %v, want cursor, invalid", text, err)
		}
	}
}

func TestACursorOfAnotherInstanceOrReleaseIsRefused(t *testing.T) {
	t.Parallel()
	cursor := page.NewSealer([]byte("another")).Seal("list", position{})
	if err := page.NewSealer(secret).Open("list", cursor, new(position)); !isInvalidCursor(err) {
		t.Errorf("another secret: got %v", err)
	}
	older := page.NewSealer(secret).Seal("list", map[string]int{"offset": 3})
	if err := page.NewSealer(secret).Open("list", older, new(position)); !isInvalidCursor(err) {
		t.Errorf("another shape: got %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	sealer := page.NewSealer(secret)
	f.Add(sealer.Seal("list", position{N: 1}))
	f.Fuzz(func(t *testing.T, cursor string) {
		var got position
		if err := sealer.Open("list", cursor, &got); err != nil && !isInvalidCursor(err) {
			t.Fatalf("Open(%q) = %v", cursor, err)
		} else if err == nil && got != (position{N: 1}) {
			t.Fatalf("Open(%q) gave %+v, which was never sealed", cursor, got)
		}
	})
}
