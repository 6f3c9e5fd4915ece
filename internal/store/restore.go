package store

import (
	"context"
	"fmt"
	"time"

	"keepsake/internal/cluster"
)

// EndAllSessions ends every session there is and says how many there were.
func (s *Store) EndAllSessions(ctx context.Context, at time.Time) (ended int64, err error) {
	err = s.main.Run(ctx, func(ctx context.Context) error {
		ended, err = s.main.In(ctx).Exec(ctx, `UPDATE session SET ended_at = $1 WHERE ended_at IS NULL`, micros(at))
		if err != nil {
			return fmt.Errorf("end all sessions: %w", err)
		}
		s.tell(ctx, cluster.Everything, "")
		return nil
	})
	return ended, err
}
