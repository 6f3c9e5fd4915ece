package postgres

import (
	"context"

	"keepsake/internal/cluster"
)

// Look reads the table of members once, for whoever is none.
func Look(ctx context.Context, connect Connect) (*cluster.Muster, error) {
	conn, err := connect(ctx)
	if err != nil {
		return nil, readable(err)
	}
	defer goodbye(conn)
	return ReadMuster(ctx, conn)
}
