package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"keepsake/internal/base/problem"
	"keepsake/internal/search/collection"
)

// countCollection records that a collection has so many documents more.
func (h *documentHead) countCollection(name string, documents int64) {
	if h.collections == nil {
		h.collections = map[string]int64{}
	}
	h.collections[name] += documents
}

var upsertCollections = &Bulk{
	Into:    `collection (workspace, name, documents, revision, change, updated_at, synonyms, settings)`,
	Columns: 8,
	Rest:    `ON CONFLICT (workspace, name) DO UPDATE SET documents = collection.documents + excluded.documents`,
}

// saveCollections writes how many documents the collections have. A collection without documents and without settings is removed, if
// it never had settings.
func (s *Documents) saveCollections(ctx context.Context, h *documentHead) error {
	maps.DeleteFunc(h.collections, func(_ string, documents int64) bool { return documents == 0 })
	names := slices.Sorted(maps.Keys(h.collections))
	_, err := s.main.Insert(ctx, upsertCollections, len(names), func(i int, values []any) []any {
		return append(values, h.number, names[i], h.collections[names[i]], 0, 0, nil, 0, "")
	})
	if err != nil {
		return fmt.Errorf("count documents of collections: %w", err)
	}
	for _, name := range names {
		if h.collections[name] > 0 {
			continue
		}
		if _, err := s.main.In(ctx).Exec(ctx, `
			DELETE FROM collection WHERE workspace = $1 AND name = $2 AND documents = 0 AND change = 0`, h.number, name); err != nil {
			return fmt.Errorf("remove an empty collection: %w", err)
		}
	}
	return nil
}

const collectionColumns = `c.name, c.documents, c.revision, c.updated_at, c.settings`

func scanCollection(row Row) (c collection.Collection, err error) {
	var updated *int64
	var settings string
	if err := row.Scan(&c.Name, &c.Documents, &c.Revision, &updated, &settings); err != nil {
		return c, err
	}
	if settings == "" {
		return c, nil
	}
	if updated != nil {
		at := documentTimeOf(*updated)
		c.UpdatedAt = &at
	}
	c.Settings = &collection.Settings{}
	if err := json.Unmarshal([]byte(settings), c.Settings); err != nil {
		return c, fmt.Errorf("decode settings: %w", err)
	}
	return c, nil
}

// Collection implements collection.Store.
func (s *Documents) Collection(ctx context.Context, workspaceID, name string) (*collection.Collection, error) {
	c, err := scanCollection(s.main.In(ctx).QueryRow(ctx, `
		SELECT `+collectionColumns+` FROM collection c WHERE c.`+ofWorkspace+` AND c.name = $2`, workspaceID, name))
	if errors.Is(err, sql.ErrNoRows) || err == nil && c.Documents == 0 && c.Settings == nil {
		return nil, problem.Missing()
	}
	if err != nil {
		return nil, fmt.Errorf("read collection: %w", err)
	}
	return &c, nil
}

// ListCollections implements collection.Store.
func (s *Documents) ListCollections(ctx context.Context, workspaceID, after string, limit int) ([]collection.Collection, error) {
	return s.collections(ctx, `
		SELECT `+collectionColumns+` FROM collection c
		WHERE c.`+ofWorkspace+` AND c.name > $2 AND (c.documents > 0 OR c.updated_at IS NOT NULL) ORDER BY c.name LIMIT $3`, workspaceID, after, limit)
}

// CollectionSettings implements collection.Store.
func (s *Documents) CollectionSettings(ctx context.Context, workspaceID string) ([]collection.Collection, error) {
	return s.collections(ctx, `
		SELECT `+collectionColumns+` FROM collection c
		WHERE c.`+ofWorkspace+` AND c.change > 0 AND c.updated_at IS NOT NULL ORDER BY c.name`, workspaceID)
}

func (s *Documents) collections(ctx context.Context, query string, args ...any) ([]collection.Collection, error) {
	rows, err := s.main.In(ctx).Query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list collections: %w", err)
	}
	var list []collection.Collection
	err = ForEach(rows, func(row Row) error {
		c, err := scanCollection(row)
		if err == nil {
			list = append(list, c)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list collections: %w", err)
	}
	return list, nil
}

// HoldCollection implements collection.Store. It locks the head of the workspace, which every change of its documents does.
func (s *Documents) HoldCollection(ctx context.Context, workspaceID, name string) (*collection.Collection, error) {
	if _, err := s.documentHead(ctx, workspaceID); err != nil {
		return nil, err
	}
	c, err := s.Collection(ctx, workspaceID, name)
	if p, ok := problem.As(err); ok && p.Kind == problem.NotFound {
		c, err = &collection.Collection{Name: name}, nil
		revision := s.main.In(ctx).QueryRow(ctx, `
			SELECT c.revision FROM collection c WHERE c.`+ofWorkspace+` AND c.name = $2`, workspaceID, name).Scan(&c.Revision)
		if revision != nil && !errors.Is(revision, sql.ErrNoRows) {
			return nil, fmt.Errorf("read the revision of a collection: %w", revision)
		}
	}
	return c, err
}

// SynonymRows implements collection.Store.
func (s *Documents) SynonymRows(ctx context.Context, workspaceID, without string) (rows int64, err error) {
	err = s.main.In(ctx).QueryRow(ctx, `
		SELECT CAST(coalesce(sum(c.synonyms), 0) AS BIGINT) FROM collection c
		WHERE c.`+ofWorkspace+` AND c.change > 0 AND c.name <> $2`, workspaceID, without).Scan(&rows)
	if err != nil {
		return 0, fmt.Errorf("count synonyms: %w", err)
	}
	return rows, nil
}

// SaveSettings implements collection.Store. The row of removed settings stays, for search indexes that have not read the change
// yet, and so that no revision is used twice.
func (s *Documents) SaveSettings(ctx context.Context, workspaceID string, c *collection.Collection, maxBytes *int64) (change int64, err error) {
	settings, rows := "", 0
	var updated *int64
	if c.Settings != nil {
		text, err := json.Marshal(c.Settings)
		if err != nil {
			return 0, fmt.Errorf("encode settings: %w", err)
		}
		settings, rows = string(text), len(c.Settings.Synonyms)
		at := documentTime(*c.UpdatedAt)
		updated = &at
	}
	err = s.main.Run(ctx, func(ctx context.Context) error {
		head, err := s.documentHead(ctx, workspaceID)
		if err != nil {
			return err
		}
		if err := s.checkRoom(ctx, workspaceID, head, c.Name, int64(len(settings)), maxBytes); err != nil {
			return err
		}
		head.change++
		change = head.change
		_, err = s.main.In(ctx).Exec(ctx, `
			INSERT INTO collection (workspace, name, documents, revision, change, updated_at, synonyms, settings)
			VALUES ($1, $2, 0, $3, $4, $5, $6, $7)
			ON CONFLICT (workspace, name) DO UPDATE SET revision = excluded.revision, change = excluded.change,
				updated_at = excluded.updated_at, synonyms = excluded.synonyms, settings = excluded.settings`,
			head.number, c.Name, c.Revision, change, updated, rows, settings)
		if err != nil {
			return fmt.Errorf("store settings of a collection: %w", err)
		}
		return nil
	})
	return change, err
}

// checkRoom refuses settings for which the workspace has no room.
func (s *Documents) checkRoom(ctx context.Context, workspaceID string, h *documentHead, name string, bytes int64, maxBytes *int64) error {
	if maxBytes == nil {
		return nil
	}
	room, err := s.storage.StorageRoom(ctx, workspaceID, *maxBytes)
	if err != nil {
		return err
	}
	var old int64
	err = s.main.In(ctx).QueryRow(ctx, `SELECT octet_length(settings) FROM collection WHERE workspace = $1 AND name = $2`, h.number, name).Scan(&old)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("read the size of settings: %w", err)
	}
	if grows := bytes - old; grows > 0 && grows > room {
		return problem.StorageFull()
	}
	return nil
}
