package sqlite

import (
	"context"
	"fmt"
	"slices"

	"keepsake/internal/store"
)

var (
	_ store.Cataloged = (*database)(nil)
	_ store.Cataloged = (*viewed)(nil)
)

// Tables implements store.Cataloged.
func (d *database) Tables(ctx context.Context) ([]store.Table, error) { return tables(ctx, &d.readers) }

// Tables implements store.Cataloged.
func (v *viewed) Tables(ctx context.Context) ([]store.Table, error) { return tables(ctx, &v.readers) }

// kinds maps the column types of our STRICT tables.
var kinds = map[string]store.Kind{"INTEGER": store.Number, "TEXT": store.Text, "BLOB": store.Bytes}

func tables(ctx context.Context, q store.Querier) ([]store.Table, error) {
	list, err := columns(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("read the tables: %w", err)
	}
	if err := references(ctx, q, list); err != nil {
		return nil, fmt.Errorf("read what the tables refer to: %w", err)
	}
	return store.InOrder(list), nil
}

func columns(ctx context.Context, q store.Querier) ([]store.Table, error) {
	rows, err := q.Query(ctx, `
		SELECT t.name, c.name, c.type, c."notnull", c.pk FROM sqlite_master t JOIN pragma_table_info(t.name) c
		WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\' AND t.name <> 'schema_migration'
		ORDER BY t.name, c.cid`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []store.Table
	var key []int64 // of the table at the end of list: the place of each of its columns in the key
	for rows.Next() {
		var (
			name, kind string
			c          store.Column
			filled     bool
			place      int64
		)
		if err := rows.Scan(&name, &c.Name, &kind, &filled, &place); err != nil {
			return nil, err
		}
		if c.Kind, c.Null = kinds[kind], !filled; c.Kind == 0 {
			return nil, fmt.Errorf("column %s of table %s has the type %s", c.Name, name, kind)
		}
		if len(list) == 0 || list[len(list)-1].Name != name {
			list, key = append(list, store.Table{Name: name}), nil
		}
		t := &list[len(list)-1]
		t.Columns = append(t.Columns, c)
		if place > 0 {
			at, _ := slices.BinarySearch(key, place)
			key, t.Key = slices.Insert(key, at, place), slices.Insert(t.Key, at, c.Name)
		}
	}
	return list, rows.Err()
}

func references(ctx context.Context, q store.Querier, list []store.Table) error {
	rows, err := q.Query(ctx, `
		SELECT DISTINCT t.name, r."table" FROM sqlite_master t JOIN pragma_foreign_key_list(t.name) r
		WHERE t.type = 'table' AND r."table" <> t.name ORDER BY 1, 2`)
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
