package sqlite

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"keepsake/internal/store"
)

// dialect is what the statements of the portable store leave to SQLite, which is a function call away: short statements, which
// stay prepared.
type dialect struct{}

var _ store.Dialect = dialect{}

// Dialect implements store.Engine.
func (*Engine) Dialect() store.Dialect { return dialect{} }

// Dialect implements store.Engine.
func (*View) Dialect() store.Dialect { return dialect{} }

// Insert implements store.Dialect. A transaction ends with its first error in any case. With OR FAIL, SQLite needs no journal
// for undoing the first rows of a statement that fails at a later one. It needs one for several updates.
func (dialect) Insert(updates bool) (verb string, maxRows int) {
	if updates {
		return "INSERT OR FAIL", 1
	}
	return "INSERT OR FAIL", 8
}

// InsertRow implements store.Dialect. The driver asks SQLite for the name of every parameter that has a number, and parses it.
func (dialect) InsertRow(_, n int) string { return strings.Repeat("?, ", n-1) + "?" }

// ByID implements store.Dialect.
func (dialect) ByID(table, as, of string, list, size int) (from, where string) {
	return table + ` ` + as, of + ` AND ` + as + `.id IN (` + store.Parameters(list, size) + `)`
}

// IDLists implements store.Dialect.
func (dialect) IDLists(args []any, ids []string, size int) (lists [][]any) {
	for some := range slices.Chunk(ids, size) {
		lists = append(lists, store.PaddedTo(slices.Clip(args), some, size))
	}
	return lists
}

const subject = `SELECT ` + store.SubjectColumns + ` FROM memory_subject s WHERE s.workspace_id = $1 AND s.subject = $2`

// Subjects implements store.Dialect.
func (dialect) Subjects(ctx context.Context, q store.Querier, workspaceID string, hashes [][]byte, row func(store.Row) error) error {
	for _, hash := range hashes {
		if err := each(ctx, q, row, subject, workspaceID, hash); err != nil {
			return err
		}
	}
	return nil
}

// Duplicates implements store.Dialect. The limit is part of the text, because SQLite would plan the statement again for each
// value of a parameter.
func (dialect) Duplicates(ctx context.Context, q store.Querier, d *store.Duplicates, row func(store.Row) error) error {
	text := `SELECT ` + store.MemoryColumns + ` FROM memory m
		WHERE ` + store.MemoryByWorkspace + ` AND m.subject = $2 AND m.generation = $3 AND m.` + d.Column + ` = $4
			AND ` + store.UnexpiredMemory + `$5 AND ` + store.LivingMemory + `
		ORDER BY m.created_at, m.id LIMIT ` + strconv.Itoa(d.Limit)
	for i := range d.Subjects {
		if err := each(ctx, q, row, text, d.WorkspaceID, d.Subjects[i], d.Generations[i], d.Hashes[i], d.Now); err != nil {
			return err
		}
	}
	return nil
}

// each calls row for every row of a query.
func each(ctx context.Context, q store.Querier, row func(store.Row) error, query string, args ...any) error {
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	return store.ForEach(rows, row)
}

// Clock implements store.Dialect.
func (dialect) Clock() string { return "CAST(unixepoch('subsec') * 1000000 AS INTEGER)" }

// Relax implements store.Dialect. It does nothing, because transactions share the wait.
func (dialect) Relax(context.Context, store.Querier) error { return nil }

// DeleteSome implements store.Dialect.
func (dialect) DeleteSome(table, key, where string, limit int) string {
	return `DELETE FROM ` + table + ` WHERE (` + key + `) IN (SELECT ` + key + ` FROM ` + table + ` WHERE ` + where + ` LIMIT ` + strconv.Itoa(limit) + `)`
}
