package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"keepsake/internal/base/problem"
	"keepsake/internal/search/document"
)

// PutDocuments implements document.Store. It takes few statements, because others wait for the head of the workspace.
func (s *Documents) PutDocuments(ctx context.Context, workspaceID string, writes []document.Write) ([]document.Written, error) {
	rows := make([]documentRow, len(writes))
	for i, w := range writes {
		v, err := documentValuesOf(w.Document)
		if err != nil {
			return nil, err
		}
		rows[i] = documentRow{Document: w.Document, put: w.Put, values: v}
	}
	mark := int64(0)
	err := s.main.Run(ctx, func(ctx context.Context) error {
		head, err := s.documentHead(ctx, workspaceID)
		if err != nil {
			return err
		}
		mark = head.mark
		for rest := rows; len(rest) > 0 && err == nil; {
			n := distinct(rest)
			err = s.putDistinct(ctx, workspaceID, head, rest[:n])
			rest = rest[n:]
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	written := make([]document.Written, len(rows))
	for i := range rows {
		written[i] = document.Written{Created: rows[i].refused == nil && !rows[i].old.live, Mark: mark, Refused: rows[i].refused}
	}
	return written, nil
}

// documentRow is a document to be written.
type documentRow struct {
	*document.Document
	put    document.Put
	values documentValues

	old     existing
	refused error
}

// refusedOf separates refusals from failures.
func refusedOf(err error) (refused, failed error) {
	if p, ok := problem.As(err); ok && (p.Kind == problem.Conflict || p.Kind == problem.Mismatch) {
		return p, nil
	}
	return nil, err
}

// distinct is the number of rows before an ID repeats.
func distinct(rows []documentRow) int {
	seen := make(map[string]bool, len(rows))
	for i := range rows {
		if seen[rows[i].ID] {
			return i
		}
		seen[rows[i].ID] = true
	}
	return len(rows)
}

// putDistinct writes documents with different IDs.
func (s *Documents) putDistinct(ctx context.Context, workspaceID string, head *documentHead, rows []documentRow) error {
	if err := s.readExisting(ctx, workspaceID, rows); err != nil {
		return err
	}
	for i := range rows {
		if err := s.roomFor(ctx, workspaceID, head, rows[i].put); err != nil {
			return err
		}
	}
	var write, buried, untag, tag []*documentRow
	for i := range rows {
		r := &rows[i]
		var err error
		if r.refused, err = refusedOf(head.put(r.Document, r.put, &r.old, r.values.bytes)); err != nil {
			return err
		}
		if r.refused != nil {
			continue
		}
		write = append(write, r)
		if r.old.tombstone {
			buried = append(buried, r)
		}
		if r.old.tags != r.values.tags {
			untag, tag = append(untag, r), append(tag, r)
		}
	}
	if err := s.removeTombstones(ctx, head, buried); err != nil {
		return err
	}
	if err := s.upsertDocuments(ctx, head, write); err != nil {
		return err
	}
	if err := s.removeTagsOf(ctx, head, untag); err != nil {
		return err
	}
	return s.insertTagsOf(ctx, head, tag)
}

func (s *Documents) readExisting(ctx context.Context, workspaceID string, rows []documentRow) error {
	byID := make(map[string]*documentRow, len(rows))
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
		byID[rows[i].ID] = &rows[i]
		rows[i].old = noDocument
	}
	for _, args := range s.main.Dialect.IDLists([]any{workspaceID}, ids, ListSize) {
		err := s.main.EachRow(ctx, s.statements.existing, args, func(row Row) error {
			var id string
			var st existing
			if err := row.Scan(&id, &st.live, &st.createdAt, &st.revision, &st.change, &st.tags, &st.bytes, &st.collection); err != nil {
				return err
			}
			st.tombstone = !st.live
			byID[id].old = st
			return nil
		})
		if err != nil {
			return fmt.Errorf("read documents' revisions: %w", err)
		}
	}
	return nil
}

var removeTombstones = `DELETE FROM document_tombstone WHERE workspace = $1 AND id IN (` + Parameters(2, ListSize) + `)`

func (s *Documents) removeTombstones(ctx context.Context, h *documentHead, rows []*documentRow) error {
	if err := s.eachIDList(ctx, removeTombstones, h, rows); err != nil {
		return fmt.Errorf("remove tombstones: %w", err)
	}
	return nil
}

var upsertDocuments = &Bulk{
	Into:    `document (workspace, id, collection, title, text, url, tags, metadata, created_at, updated_at, revision, change, language)`,
	Columns: 13,
	Rest: `ON CONFLICT (workspace, id) DO UPDATE SET collection = excluded.collection, title = excluded.title,
		text = excluded.text, url = excluded.url, tags = excluded.tags, metadata = excluded.metadata,
		created_at = excluded.created_at, updated_at = excluded.updated_at, revision = excluded.revision, change = excluded.change,
		language = excluded.language`,
}

func (s *Documents) upsertDocuments(ctx context.Context, h *documentHead, rows []*documentRow) error {
	_, err := s.main.Insert(ctx, upsertDocuments, len(rows), func(i int, values []any) []any {
		r := rows[i]
		return append(values, h.number, r.ID, r.Collection, r.Title, r.Text, r.URL, r.values.tags, r.values.metadata,
			documentTime(r.CreatedAt), documentTime(r.UpdatedAt), r.Revision, r.Change, r.Language)
	})
	if err != nil {
		return fmt.Errorf("write documents: %w", err)
	}
	return nil
}

var removeTags = `DELETE FROM document_tag WHERE workspace = $1 AND (tag, document_id) IN (VALUES ` + strings.Join(pairs(2, ListSize), ", ") + `)`

// pairs lists n pairs of parameters from $first on.
func pairs(first, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = "(" + Parameters(first+2*i, 2) + ")"
	}
	return list
}

// removeTagsOf removes the old tags of documents.
func (s *Documents) removeTagsOf(ctx context.Context, h *documentHead, rows []*documentRow) error {
	var all [][2]string
	for _, r := range rows {
		tags, err := listOf(r.old.tags)
		if err != nil {
			return err
		}
		for _, tag := range tags {
			all = append(all, [2]string{tag, r.ID})
		}
	}
	for some := range slices.Chunk(all, ListSize) {
		args := make([]any, 1, 2*ListSize+1)
		args[0] = h.number
		for i := range ListSize {
			pair := some[min(i, len(some)-1)]
			args = append(args, pair[0], pair[1])
		}
		if _, err := s.main.In(ctx).Exec(ctx, removeTags, args...); err != nil {
			return fmt.Errorf("remove tags: %w", err)
		}
	}
	return nil
}

var insertTags = &Bulk{
	Into: `document_tag (workspace, tag, document_id)`, Columns: 3, Rest: `ON CONFLICT DO NOTHING`,
}

func (s *Documents) insertTagsOf(ctx context.Context, h *documentHead, rows []*documentRow) error {
	var all [][2]string
	for _, r := range rows {
		for _, tag := range r.Tags {
			all = append(all, [2]string{tag, r.ID})
		}
	}
	_, err := s.main.Insert(ctx, insertTags, len(all), func(i int, values []any) []any {
		return append(values, h.number, all[i][0], all[i][1])
	})
	if err != nil {
		return fmt.Errorf("add tags: %w", err)
	}
	return nil
}

// DeleteDocuments implements document.Store. Each document leaves a tombstone, as with DeleteDocument.
func (s *Documents) DeleteDocuments(ctx context.Context, workspaceID string, ids []string) (deleted int, err error) {
	rows := make([]documentRow, len(ids))
	for i, id := range ids {
		rows[i].Document = &document.Document{ID: id}
	}
	err = s.main.Run(ctx, func(ctx context.Context) error {
		head, err := s.documentHead(ctx, workspaceID)
		if err != nil {
			return err
		}
		if err := s.readExisting(ctx, workspaceID, rows); err != nil {
			return err
		}
		var live []*documentRow
		for i := range rows {
			if r := &rows[i]; r.old.live {
				head.change++
				head.documents--
				head.countCollection(r.old.collection, -1)
				r.Change = head.change
				live = append(live, r)
			}
		}
		deleted = len(live)
		if err := s.removeTagsOf(ctx, head, live); err != nil {
			return err
		}
		return s.buryDocuments(ctx, head, live)
	})
	return deleted, err
}

var removeDocuments = `DELETE FROM document WHERE workspace = $1 AND id IN (` + Parameters(2, ListSize) + `)`

var insertTombstones = &Bulk{Into: `document_tombstone (workspace, id, change)`, Columns: 3}

// buryDocuments replaces documents with tombstones.
func (s *Documents) buryDocuments(ctx context.Context, h *documentHead, rows []*documentRow) error {
	if err := s.eachIDList(ctx, removeDocuments, h, rows); err != nil {
		return fmt.Errorf("delete documents: %w", err)
	}
	_, err := s.main.Insert(ctx, insertTombstones, len(rows), func(i int, values []any) []any {
		return append(values, h.number, rows[i].ID, rows[i].Change)
	})
	if err != nil {
		return fmt.Errorf("add tombstones: %w", err)
	}
	return nil
}

// eachIDList runs a statement for the IDs of rows, ListSize at a time.
func (s *Documents) eachIDList(ctx context.Context, statement string, h *documentHead, rows []*documentRow) error {
	for some := range slices.Chunk(rows, ListSize) {
		ids := make([]string, len(some))
		for i, r := range some {
			ids[i] = r.ID
		}
		if _, err := s.main.In(ctx).Exec(ctx, statement, Padded([]any{h.number}, ids)...); err != nil {
			return err
		}
	}
	return nil
}
