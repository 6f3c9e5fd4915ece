package apikey

import (
	"context"
	"fmt"
	"time"

	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/usage"
)

// UsageStore reads usage. A usage.Store is one.
type UsageStore interface {
	LastUses(ctx context.Context, keyIDs []string) ([]usage.LastUse, error)
	KeySeries(ctx context.Context, workspaceID, keyID string, from, to time.Time, step time.Duration) ([]usage.Point, error)
}

// Usage is a key's usage over a time, in steps.
type Usage struct {
	KeyID    string
	From, To time.Time
	Step     time.Duration
	Points   []usage.Point // one for each step, oldest first
}

// Usage reads a key's usage in the window that ends now. window is a multiple of step. Steps begin at multiples of step,
// and the last one is not over yet.
func (s *Service) Usage(ctx context.Context, p *auth.Principal, keyID string, window, step time.Duration) (*Usage, error) {
	k, err := s.visible(ctx, p, keyID)
	if err != nil {
		return nil, err
	}
	now := s.stamp()
	end := now.Truncate(step).Add(step) // of the current step
	from := end.Add(-window)
	stored, err := s.o.Uses.KeySeries(ctx, k.WorkspaceID, k.ID, from, end, step)
	if err != nil {
		return nil, fmt.Errorf("read usage of API key %s: %w", k.ID, err)
	}
	byStart := make(map[int64]usage.Point, len(stored))
	for _, point := range stored {
		byStart[point.At.Unix()] = point
	}
	u := &Usage{KeyID: k.ID, From: from, To: now, Step: step}
	for at := from; at.Before(end); at = at.Add(step) {
		point := byStart[at.Unix()]
		point.At = at
		u.Points = append(u.Points, point)
	}
	return u, nil
}
