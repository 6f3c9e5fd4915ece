package postgres

import (
	"context"
	"fmt"
	"slices"

	"keepsake/internal/store"
)

var (
	_ store.Cataloged = (*database)(nil)
	_ store.Cataloged = (*snapshot)(nil)
)

// Tables implements store.Cataloged.
func (d *database) Tables(ctx context.Context) ([]store.Table, error) {
	return tables(ctx, d.readers())
}

// kinds maps the column types of our schemas.
var kinds = map[string]store.Kind{"bigint": store.Number, "text": store.Text, "bytea": store.Bytes, "boolean": store.Truth}

func tables(ctx context.Context, q store.Querier) ([]store.Table, error) {
	list, err := columns(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("read the tables: %w", err)
	}
	if err := references(ctx, q, list); err != nil {
		return nil, fmt.Errorf("read the foreign keys: %w", err)
	}
	return store.InOrder(list), nil
}

func columns(ctx context.Context, q store.Querier) ([]store.Table, error) {
	rows, err := q.Query(ctx, `
		SELECT t.relname::text, c.attname::text, format_type(c.atttypid, NULL), NOT c.attnotnull, coalesce(array_position(k.indkey::int2[], c.attnum), -1)
		FROM pg_class t
			JOIN pg_attribute c ON c.attrelid = t.oid AND c.attnum > 0 AND NOT c.attisdropped
			LEFT JOIN pg_index k ON k.indrelid = t.oid AND k.indisprimary
		WHERE t.relnamespace = current_schema()::regnamespace AND t.relkind IN ('r', 'p') AND NOT t.relispartition AND t.relname <> 'schema_migration'
		ORDER BY t.relname COLLATE "C", c.attnum`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []store.Table
	var key []int64 // key positions of the columns in the last table's primary key
	for rows.Next() {
		var (
			name, kind string
			c          store.Column
			place      int64
		)
		if err := rows.Scan(&name, &c.Name, &kind, &c.Null, &place); err != nil {
			return nil, err
		}
		if c.Kind = kinds[kind]; c.Kind == 0 {
			return nil, fmt.Errorf("column %s of table %s has the type %s", c.Name, name, kind)
		}
		if len(list) == 0 || list[len(list)-1].Name != name {
			list, key = append(list, store.Table{Name: name}), nil
		}
		t := &list[len(list)-1]
		t.Columns = append(t.Columns, c)
		if place >= 0 {
			at, _ := slices.BinarySearch(key, place)
			key, t.Key = slices.Insert(key, at, place), slices.Insert(t.Key, at, c.Name)
		}
	}
	return list, rows.Err()
}

func references(ctx context.Context, q store.Querier, list []store.Table) error {
	rows, err := q.Query(ctx, `
		SELECT DISTINCT t.relname::text, r.relname::text
		FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid JOIN pg_class r ON r.oid = c.confrelid
		WHERE c.contype = 'f' AND t.oid <> r.oid AND t.relnamespace = current_schema()::regnamespace ORDER BY 1, 2`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name, to string
		if err := rows.Scan(&name, &to); err != nil {
			return err
		}
		for i := range list {
			if list[i].Name == name {
				list[i].Refers = append(list[i].Refers, to)
			}
		}
	}
	return rows.Err()
}
