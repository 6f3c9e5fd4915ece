package sqlite

import (
	"context"
	"slices"
	"strconv"

	"keepsake/internal/store"
)

// ReuseKeySlots implements store.Dialect.
func (dialect) ReuseKeySlots(ctx context.Context, q store.Querier, keys [][]byte) (slots []int64, err error) {
	err = each(ctx, q, func(row store.Row) error {
		var slot int64
		err := row.Scan(&slot)
		slots = append(slots, slot)
		return err
	}, `SELECT slot FROM erasable_key WHERE free = 1 LIMIT $1`, len(keys))
	if err != nil {
		return nil, err
	}
	for i, slot := range slots {
		if _, err := q.Exec(ctx, `UPDATE erasable_key SET key = $1, free = 0 WHERE slot = $2`, keys[i], slot); err != nil {
			return nil, err
		}
	}
	return slots, nil
}

// NextKeySlot implements store.Dialect. The one writer appends.
func (dialect) NextKeySlot(ctx context.Context, q store.Querier) (next int64, err error) {
	err = q.QueryRow(ctx, `SELECT coalesce(max(slot), 0) + 1 FROM erasable_key`).Scan(&next)
	return next, err
}

// EraseKeys implements store.Dialect. It overwrites the keys and frees the slots.
func (dialect) EraseKeys(ctx context.Context, q store.Querier, slots string, args ...any) error {
	args = append(slices.Clip(args), make([]byte, store.KeySize))
	_, err := q.Exec(ctx, `UPDATE erasable_key SET key = $`+strconv.Itoa(len(args))+`, free = 1 WHERE slot IN (`+slots+`)`, args...)
	return err
}
