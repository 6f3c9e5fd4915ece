package apikey

import (
	"context"
	"fmt"
	"time"

	"keepsake/internal/auth"
	"keepsake/internal/usage"
)

// Uses is what the service reads of usage. A usage.Store is one.
type Uses interface {
	LastUses(ctx context.Context, keyIDs []string) ([]usage.LastUse, error)
	KeySeries(ctx context.Context, workspaceID, keyID string, from, to time.Time, step time.Duration) ([]usage.Point, error)
}

// Usage is a key's use from a moment up to another, in steps.
type Usage struct {
	KeyID    string
	From, To time.Time
	Step     time.Duration
	Points   []usage.Point // one for each step, also where nothing happened; rising
}

// Usage reads a key's use in the window that ends now, begun at a whole step. The last step is still open.
func (s *Service) Usage(ctx context.Context, p *auth.Principal, keyID string, window, step time.Duration) (*Usage, error) {
	k, err := s.visible(ctx, p, keyID)
	if err != nil {
		return nil, err
	}
	now := s.now()
	end := now.Truncate(step).Add(step) // of the open step
	from := end.Add(-window)
	stored, err := s.Uses.KeySeries(ctx, k.WorkspaceID, k.ID, from, end, step)
	if err != nil {
		return nil, fmt.Errorf("read the use of API key %s: %w", k.ID, err)
	}
	u := &Usage{KeyID: k.ID, From: from, To: now, Step: step}
	for at := from; at.Before(end); at = at.Add(step) {
		point := usage.Point{At: at}
		if len(stored) > 0 && stored[0].At.Equal(at) {
			point, stored = stored[0], stored[1:]
		}
		u.Points = append(u.Points, point)
	}
	return u, nil
}
