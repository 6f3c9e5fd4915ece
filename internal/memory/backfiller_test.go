package memory

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"keepsake/internal/memory/embedding"
)

// failing is an endpoint that fails as often as it says.
type failing int

func (f *failing) Encode(_ context.Context, texts []string) ([][]float32, error) {
	if *f--; *f >= 0 {
		return nil, &embedding.Error{Reason: embedding.Connection}
	}
	return slices.Repeat([][]float32{{1, 2}}, len(texts)), nil
}

// TestABackfillWaitsForThePauseOnly runs on the clock of its bubble.
func TestABackfillWaitsForThePauseOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		endpoint := failing(2)
		client := embedding.NewClient(embedding.Options{
			Encoder: &endpoint, Model: "m", DailyTexts: 100, Now: time.Now, Log: slog.New(slog.DiscardHandler),
			Count: func(_ context.Context, _ int64, _ string, grant func(texts, own int64) (int64, int64)) (int64, error) {
				granted, _ := grant(0, 0)
				return granted, nil
			},
		})
		b := &Backfiller{embeddings: &Embeddings{Client: client}}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		begin := time.Now()
		var at []time.Duration
		b.repeat(ctx, nil, func(ctx context.Context) error {
			if at = append(at, time.Since(begin)); len(at) == 4 {
				stop()
			}
			_, err := client.Memories(ctx, "wsp_a", []string{"text"})
			return err
		})
		if want := []time.Duration{0, time.Second, 3 * time.Second, 3*time.Second + backfillEvery}; !slices.Equal(at, want) {
			t.Errorf("it asks after %v, want %v", at, want)
		}
	})
}
