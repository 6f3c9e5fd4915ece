package postgres

import (
	"context"

	"keepsake/internal/store"
)

const (
	moveAuditHead = `
	WITH moved AS (
		INSERT INTO audit_chain (name, sequence, hash) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET sequence = excluded.sequence, hash = excluded.hash WHERE audit_chain.sequence = $4
		RETURNING name
	)`
	appendAuditChanges = moveAuditHead + `
	INSERT INTO audit_log (` + store.AuditColumns + `)
	SELECT r.* FROM moved CROSS JOIN unnest($5::text[], $6::bigint[], $7::text[], $8::bigint[], $9::text[], $10::text[], $11::text[],
		$12::text[], $13::text[], $14::bigint[], $15::text[], $16::text[], $17::text[], $18::bytea[], $19::bytea[]) AS r`
	appendAuditReads = moveAuditHead + `
	INSERT INTO audit_read (` + store.AuditReadColumns + `)
	SELECT r.* FROM moved CROSS JOIN unnest($5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bytea[],
		$11::bytea[]) AS r`
)

// AppendAudit implements store.Dialect.
func (dialect) AppendAudit(ctx context.Context, db store.Database, a *store.AuditAppend) (moved, ok bool, err error) {
	text, rows := appendAuditChanges, a.Changes
	if len(rows) == 0 {
		text, rows = appendAuditReads, a.Reads
	} else if len(a.Reads) > 0 {
		return false, false, nil
	}
	n, err := db.Once(ctx, text, append([]any{a.Chain, a.Last, a.Hash, a.After}, arrays(rows)...)...)
	return n > 0, true, err
}

// arrays turns rows into one array per column, for unnest.
func arrays(rows [][]any) []any {
	list := make([]any, len(rows[0]))
	for i, first := range rows[0] {
		switch first.(type) {
		case int64:
			list[i] = array[int64](rows, i)
		case string:
			list[i] = array[string](rows, i)
		default:
			list[i] = array[[]byte](rows, i)
		}
	}
	return list
}

func array[T any](rows [][]any, column int) []T {
	list := make([]T, len(rows))
	for i, row := range rows {
		list[i] = row[column].(T)
	}
	return list
}
