package v1

import (
	"testing"
	"time"

	"keepsake/internal/wire"
)

func TestTheHealthAnswerWritesWhatTheLibraryWould(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"healthy", "degraded"} {
		v := healthView{status, "12", wire.At(time.Date(2026, time.November, 21, 12, 0, 0, 7_654_321, time.UTC))}
		want, err := wire.Encode(&v)
		if got := string(v.append(nil)); err != nil || got != string(want) {
			t.Errorf("got %s, want %s, %v", got, want, err)
		}
	}
}
