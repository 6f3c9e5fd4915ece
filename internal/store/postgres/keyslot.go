package postgres

import (
	"context"
	"crypto/rand"
	"math/big"
	"time"

	"keepsake/internal/store"
)

// ReuseKeySlots implements store.Dialect. No slot is free, because EraseKeys deletes rows.
func (dialect) ReuseKeySlots(context.Context, store.Querier, [][]byte) ([]int64, error) {
	return nil, nil
}

// NextKeySlot implements store.Dialect. Concurrent transactions take numbers from the time and a random number, far enough
// apart for the keys of a transaction. If two take the same, one of them runs again.
func (dialect) NextKeySlot(context.Context, store.Querier) (int64, error) {
	random, err := rand.Int(rand.Reader, big.NewInt(1<<20))
	if err != nil {
		return 0, err
	}
	return time.Now().UnixMilli()<<21 | random.Int64(), nil
}

// EraseKeys implements store.Dialect.
func (dialect) EraseKeys(ctx context.Context, q store.Querier, slots string, args ...any) error {
	_, err := q.Exec(ctx, `DELETE FROM erasable_key WHERE slot IN (`+slots+`)`, args...)
	return err
}
