package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"keepsake/internal/store"
)

// HoldUsage implements store.Dialect.
func (dialect) HoldUsage(ctx context.Context, q store.Querier, alone bool) error {
	lock := "pg_advisory_xact_lock_shared"
	if alone {
		lock = "pg_advisory_xact_lock"
	}
	class, key := lockNumbers("usage hours")
	if _, err := q.Exec(ctx, "SELECT "+lock+"($1, $2)", class, key); err != nil {
		return fmt.Errorf("lock the hours of usage: %w", err)
	}
	return nil
}

const (
	// A partition is named after its table and the date of its day.
	minutes       = "usage_packed_minute"
	oldMinutes    = "usage_minute" // of earlier releases
	partitionDate = "20060102"

	partitionsAhead = 2 // days
)

func partition(table string, day time.Time) string { return table + "_" + day.Format(partitionDate) }

// partitionLock is how long a change of partitions waits for statements that use them. Flushes wait behind it.
const partitionLock = "SET LOCAL lock_timeout = '500ms'"

// PartitionUsage implements store.Dialect. Days without a partition are in the default one, so a failure refuses no flush.
func (dialect) PartitionUsage(ctx context.Context, db store.Database, now, from time.Time) error {
	for _, table := range []string{minutes, oldMinutes} {
		days, err := partitions(ctx, db, table)
		if err != nil {
			return fmt.Errorf("list the partitions of usage: %w", err)
		}
		today := now.UTC().Truncate(24 * time.Hour)
		for n := range partitionsAhead {
			day := today.AddDate(0, 0, n+1)
			if days[day] || table == oldMinutes {
				continue
			}
			if err := createPartition(ctx, db, table, day); err != nil {
				return fmt.Errorf("create the partition of usage of %s: %w", day.Format(time.DateOnly), err)
			}
		}
		for day := range days {
			if day.AddDate(0, 0, 1).After(from) {
				continue
			}
			err := db.Run(ctx, func(ctx context.Context) error {
				return execAll(ctx, db, partitionLock, "DROP TABLE IF EXISTS "+partition(table, day))
			})
			if err != nil {
				return fmt.Errorf("drop the partition of usage of %s: %w", day.Format(time.DateOnly), err)
			}
		}
	}
	return nil
}

// partitions returns the days for which a table has a partition.
func partitions(ctx context.Context, db store.Database, table string) (map[time.Time]bool, error) {
	rows, err := db.In(ctx).Query(ctx, `SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = '`+table+`'::regclass`)
	if err != nil {
		return nil, err
	}
	days := map[time.Time]bool{}
	err = store.ForEach(rows, func(row store.Row) error {
		var name string
		if err := row.Scan(&name); err != nil {
			return err
		}
		if day, err := time.Parse(partitionDate, strings.TrimPrefix(name, table+"_")); err == nil {
			days[day] = true
		}
		return nil
	})
	return days, err
}

// createPartition creates the partition of a day, unless the default partition already has rows of it. Rows that are written
// again each second need room next to their old version.
func createPartition(ctx context.Context, db store.Database, table string, day time.Time) error {
	name, from := partition(table, day), day.Unix()/60
	err := db.Run(ctx, func(ctx context.Context) error {
		return execAll(ctx, db, partitionLock,
			// A table that is attached locks less than one that is created as a partition.
			"CREATE TABLE "+name+" (LIKE "+table+" INCLUDING DEFAULTS INCLUDING INDEXES INCLUDING STORAGE) WITH (fillfactor = 45)",
			fmt.Sprintf("ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%d) TO (%d)", table, name, from, from+24*60))
	})
	const violated = "23514" // check_violation
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == violated {
		return nil
	}
	return err
}

func execAll(ctx context.Context, db store.Database, statements ...string) error {
	for _, text := range statements {
		if _, err := db.In(ctx).Exec(ctx, text); err != nil {
			return err
		}
	}
	return nil
}
