package postgres

import (
	"context"
	"strconv"

	"keepsake/internal/store"
)

// dialect contains the SQL for PostgreSQL. The server is a round trip away, so one statement handles many rows. Each
// value of a list is looked up by a subquery of its own: for a list in a condition, a planner that last saw an empty
// table can choose to scan a whole workspace.
type dialect struct{}

var _ store.Dialect = dialect{}

// Dialect implements store.Engine.
func (*Engine) Dialect() store.Dialect { return dialect{} }

// Dialect implements store.Engine.
func (*View) Dialect() store.Dialect { return dialect{} }

// Insert implements store.Dialect.
func (dialect) Insert(bool) (verb string, maxRows int) { return "INSERT", 512 }

// InsertRow implements store.Dialect.
func (dialect) InsertRow(first, n int) string { return store.Parameters(first, n) }

// ByID implements store.Dialect.
func (dialect) ByID(table, as, of string, list, _ int) (from, where string) {
	return `unnest($` + strconv.Itoa(list) + `::text[]) AS wanted(id)
		CROSS JOIN LATERAL (SELECT * FROM ` + table + ` ` + as + ` WHERE ` + of + ` AND ` + as + `.id = wanted.id LIMIT 1) ` + as, `true`
}

// IDLists implements store.Dialect.
func (dialect) IDLists(args []any, ids []string, _ int) [][]any {
	if len(ids) == 0 {
		return nil
	}
	return [][]any{append(args, ids)}
}

const subjects = `SELECT ` + store.SubjectColumns + ` FROM unnest($2::bytea[]) AS wanted(subject)
	CROSS JOIN LATERAL (SELECT * FROM memory_subject WHERE workspace_id = $1 AND memory_subject.subject = wanted.subject LIMIT 1) s`

// Subjects implements store.Dialect.
func (dialect) Subjects(ctx context.Context, q store.Querier, workspaceID string, hashes [][]byte, row func(store.Row) error) error {
	return each(ctx, q, row, subjects, workspaceID, hashes)
}

// Duplicates implements store.Dialect.
func (dialect) Duplicates(ctx context.Context, q store.Querier, d *store.Duplicates, row func(store.Row) error) error {
	return each(ctx, q, row, `
		SELECT `+store.MemoryColumns+` FROM unnest($2::bytea[], $3::bigint[], $4::bytea[]) AS wanted(subject, generation, hash)
		CROSS JOIN LATERAL (
			SELECT * FROM memory m WHERE m.subject = wanted.subject AND m.`+d.Column+` = wanted.hash
				AND m.generation = wanted.generation AND `+store.UnexpiredMemory+`$5
			ORDER BY m.created_at, m.id LIMIT $6) m
		WHERE `+store.MemoryByWorkspace+` AND `+store.LivingMemory,
		d.WorkspaceID, d.Subjects, d.Generations, d.Hashes, d.Now, d.Limit)
}

// each calls row for every row of a query.
func each(ctx context.Context, q store.Querier, row func(store.Row) error, query string, args ...any) error {
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	return store.ForEach(rows, row)
}

// Clock implements store.Dialect. It is not the time at which the transaction began, because the transaction can have
// waited for a row since.
func (dialect) Clock() string { return "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint" }

// Relax implements store.Dialect. Other transactions see the commit at once. Only a crash of the server can lose it,
// within three times wal_writer_delay (200 ms) after the commit.
func (dialect) Relax(ctx context.Context, q store.Querier) error {
	_, err := q.Exec(ctx, "SET LOCAL synchronous_commit = off")
	return err
}

// DeleteSome implements store.Dialect.
func (dialect) DeleteSome(table, _, where string, limit int) string {
	return `DELETE FROM ` + table + ` WHERE ctid = ANY(ARRAY(SELECT ctid FROM ` + table + ` WHERE ` + where + ` LIMIT ` + strconv.Itoa(limit) + `))`
}
