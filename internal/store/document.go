package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"keepsake/internal/document"
	"keepsake/internal/problem"
	"keepsake/internal/unit"
)

// documentHead is a workspace's row of document_head while a unit changes its documents.
//
// The unit's first change of a workspace reads it, and holds it where writers run side by side; numbers are then given
// out from memory, and the hook writes the row once before the commit. Numbers are so without gaps and in commit order,
// and the count of documents is exact, at the price of one statement a unit, not a document.
type documentHead struct {
	change    int64
	documents int64
}

type documentHeadKey struct{ workspaceID string }

func (s *Store) documentHead(ctx context.Context, workspaceID string) (*documentHead, error) {
	h := unit.Local(ctx, documentHeadKey{workspaceID}, func() *documentHead { return &documentHead{change: -1} })
	if h.change >= 0 {
		return h, nil
	}
	if err := s.main.Hold(ctx, `SELECT change FROM document_head WHERE workspace_id = $1`, workspaceID); err != nil {
		return nil, fmt.Errorf("hold change number: %w", err)
	}
	err := s.main.In(ctx).QueryRow(ctx, `SELECT change, documents FROM document_head WHERE workspace_id = $1`, workspaceID).
		Scan(&h.change, &h.documents)
	if errors.Is(err, sql.ErrNoRows) {
		h.change, err = 0, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read change number: %w", err)
	}
	unit.BeforeCommit(ctx, "document head "+workspaceID, func(ctx context.Context) error {
		_, err := s.main.In(ctx).Exec(ctx, `
			INSERT INTO document_head (workspace_id, change, documents) VALUES ($1, $2, $3)
			ON CONFLICT (workspace_id) DO UPDATE SET change = excluded.change, documents = excluded.documents`,
			workspaceID, h.change, h.documents)
		if err != nil {
			return fmt.Errorf("write change number: %w", err)
		}
		return nil
	})
	return h, nil
}

// standing is what is there under a document's id.
type standing struct {
	live      bool
	tombstone bool
	createdAt int64
	revision  int64
	tags      string
}

func (s *Store) standing(ctx context.Context, workspaceID, id string) (standing, error) {
	var st standing
	err := s.main.In(ctx).QueryRow(ctx, `
		SELECT 1, created_at, revision, tags FROM document WHERE workspace_id = $1 AND id = $2
		UNION ALL SELECT 0, 0, 0, '[]' FROM document_tombstone WHERE workspace_id = $1 AND id = $2`, workspaceID, id).
		Scan(&st.live, &st.createdAt, &st.revision, &st.tags)
	if errors.Is(err, sql.ErrNoRows) {
		return standing{tags: "[]"}, nil
	}
	if err != nil {
		return st, fmt.Errorf("read document's revision: %w", err)
	}
	st.tombstone = !st.live
	return st, nil
}

// PutDocument implements document.Store.
func (s *Store) PutDocument(ctx context.Context, workspaceID string, d *document.Document, p document.Put) (created bool, err error) {
	tags, err := listText(d.Tags)
	if err != nil {
		return false, err
	}
	metadata, err := metadataText(d.Metadata)
	if err != nil {
		return false, err
	}
	err = s.main.Run(ctx, func(ctx context.Context) error {
		head, err := s.documentHead(ctx, workspaceID)
		if err != nil {
			return err
		}
		old, err := s.standing(ctx, workspaceID, d.ID)
		if err != nil {
			return err
		}
		switch {
		case p.CreateOnly && old.live:
			return problem.Conflicts("There is a document with this id already.")
		case p.IfRevision != nil && (!old.live || old.revision != *p.IfRevision):
			return problem.RevisionMismatch()
		case !old.live && p.Max > 0 && head.documents >= p.Max:
			return problem.LimitReached("documents", "The workspace has as many documents as its tier allows.")
		}
		created = !old.live
		head.change++
		d.Change, d.Revision = head.change, old.revision+1
		if created {
			head.documents++
			d.CreatedAt = d.UpdatedAt
			err = s.insertDocument(ctx, workspaceID, d, tags, metadata, old.tombstone)
		} else {
			d.CreatedAt = timeOf(old.createdAt)
			err = s.replaceDocument(ctx, workspaceID, d, tags, metadata)
		}
		if err != nil {
			return err
		}
		return s.writeTags(ctx, workspaceID, d, old.tags, tags)
	})
	return created, err
}

func (s *Store) insertDocument(ctx context.Context, workspaceID string, d *document.Document, tags, metadata string, tombstone bool) error {
	q := s.main.In(ctx)
	if tombstone {
		if _, err := q.Exec(ctx, `DELETE FROM document_tombstone WHERE workspace_id = $1 AND id = $2`, workspaceID, d.ID); err != nil {
			return fmt.Errorf("remove tombstone: %w", err)
		}
	}
	_, err := q.Exec(ctx, `
		INSERT INTO document (workspace_id, id, collection, title, text, url, tags, metadata, created_at, updated_at, revision, change)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		workspaceID, d.ID, d.Collection, d.Title, d.Text, d.URL, tags, metadata, micros(d.CreatedAt), micros(d.UpdatedAt),
		d.Revision, d.Change)
	if err != nil {
		return fmt.Errorf("add document: %w", err)
	}
	return nil
}

func (s *Store) replaceDocument(ctx context.Context, workspaceID string, d *document.Document, tags, metadata string) error {
	_, err := s.main.In(ctx).Exec(ctx, `
		UPDATE document SET collection = $1, title = $2, text = $3, url = $4, tags = $5, metadata = $6, updated_at = $7,
			revision = $8, change = $9 WHERE workspace_id = $10 AND id = $11`,
		d.Collection, d.Title, d.Text, d.URL, tags, metadata, micros(d.UpdatedAt), d.Revision, d.Change, workspaceID, d.ID)
	if err != nil {
		return fmt.Errorf("replace document: %w", err)
	}
	return nil
}

// writeTags brings document_tag in line with a document's tags if they differ from the old ones.
func (s *Store) writeTags(ctx context.Context, workspaceID string, d *document.Document, old, tags string) error {
	if old == tags {
		return nil
	}
	if old != "[]" {
		if err := s.removeTags(ctx, workspaceID, d.ID, old); err != nil {
			return err
		}
	}
	for _, tag := range d.Tags {
		_, err := s.main.In(ctx).Exec(ctx, `
			INSERT INTO document_tag (workspace_id, tag, document_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
			workspaceID, tag, d.ID)
		if err != nil {
			return fmt.Errorf("add tag: %w", err)
		}
	}
	return nil
}

func (s *Store) removeTags(ctx context.Context, workspaceID, id, tags string) error {
	list, err := listOf(tags)
	if err != nil {
		return err
	}
	for _, tag := range list {
		_, err := s.main.In(ctx).Exec(ctx, `
			DELETE FROM document_tag WHERE workspace_id = $1 AND tag = $2 AND document_id = $3`, workspaceID, tag, id)
		if err != nil {
			return fmt.Errorf("remove tag: %w", err)
		}
	}
	return nil
}

// DeleteDocument implements document.Store. What stays is a tombstone with the id and the change.
func (s *Store) DeleteDocument(ctx context.Context, workspaceID, id string, ifRevision *int64) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		head, err := s.documentHead(ctx, workspaceID)
		if err != nil {
			return err
		}
		old, err := s.standing(ctx, workspaceID, id)
		switch {
		case err != nil:
			return err
		case !old.live:
			return problem.Missing()
		case ifRevision != nil && *ifRevision != old.revision:
			return problem.RevisionMismatch()
		}
		head.change++
		head.documents--
		if err := s.removeTags(ctx, workspaceID, id, old.tags); err != nil {
			return err
		}
		q := s.main.In(ctx)
		if _, err := q.Exec(ctx, `DELETE FROM document WHERE workspace_id = $1 AND id = $2`, workspaceID, id); err != nil {
			return fmt.Errorf("delete document: %w", err)
		}
		_, err = q.Exec(ctx, `INSERT INTO document_tombstone (workspace_id, id, change) VALUES ($1, $2, $3)`, workspaceID, id, head.change)
		if err != nil {
			return fmt.Errorf("add tombstone: %w", err)
		}
		return nil
	})
}

const documentColumns = `d.id, d.collection, d.title, d.text, d.url, d.tags, d.metadata, d.created_at, d.updated_at, d.revision, d.change`

// scanDocument reads documentColumns.
func scanDocument(row Row) (document.Document, error) {
	var d document.Document
	var tags, metadata string
	var created, updated int64
	err := row.Scan(&d.ID, &d.Collection, &d.Title, &d.Text, &d.URL, &tags, &metadata, &created, &updated, &d.Revision, &d.Change)
	if err != nil {
		return d, err
	}
	d.CreatedAt, d.UpdatedAt = timeOf(created), timeOf(updated)
	if d.Tags, err = listOf(tags); err != nil {
		return d, err
	}
	d.Metadata, err = metadataOf(metadata)
	return d, err
}

// Document implements document.Store.
func (s *Store) Document(ctx context.Context, workspaceID, id string) (*document.Document, error) {
	d, err := scanDocument(s.main.In(ctx).QueryRow(ctx, `
		SELECT `+documentColumns+` FROM document d WHERE d.workspace_id = $1 AND d.id = $2`, workspaceID, id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, problem.Missing()
	}
	if err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	return &d, nil
}

// idsAtOnce is how many ids one statement names. Fewer are filled up, so that there is one text.
const idsAtOnce = 100

// Documents implements document.Store.
func (s *Store) Documents(ctx context.Context, workspaceID string, ids []string) ([]document.Document, error) {
	var list []document.Document
	for len(ids) > 0 {
		n := min(len(ids), idsAtOnce)
		args := make([]any, 1, idsAtOnce+1)
		args[0] = workspaceID
		for i := range idsAtOnce {
			args = append(args, ids[min(i, n-1)])
		}
		found, err := s.documents(ctx, documentsByIDs, args...)
		if err != nil {
			return nil, fmt.Errorf("read documents: %w", err)
		}
		list = append(list, found...)
		ids = ids[n:]
	}
	return list, nil
}

var documentsByIDs = `SELECT ` + documentColumns + ` FROM document d WHERE d.workspace_id = $1 AND d.id IN (` + parameters(2, idsAtOnce) + `)`

// parameters lists n parameters from $first on.
func parameters(first, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("$" + strconv.Itoa(first+i))
	}
	return b.String()
}

func (s *Store) documents(ctx context.Context, query string, args ...any) ([]document.Document, error) {
	rows, err := s.main.In(ctx).Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []document.Document
	for rows.Next() {
		d, err := scanDocument(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, rows.Err()
}

// ListDocuments implements document.Store.
func (s *Store) ListDocuments(ctx context.Context, workspaceID string, f document.Filter) ([]document.Document, error) {
	var c conditions
	from := `document d`
	c.where(`d.workspace_id = ?`, workspaceID)
	if len(f.Tags) == 0 {
		c.where(`d.id > ?`, f.AfterID)
	}
	for i, tag := range f.Tags {
		if i == 0 { // the list is walked along the first tag
			from = `document_tag t JOIN document d ON d.workspace_id = t.workspace_id AND d.id = t.document_id`
			c.where(`t.workspace_id = ?`, workspaceID)
			c.where(`t.tag = ?`, tag)
			c.where(`t.document_id > ?`, f.AfterID)
			continue
		}
		c.where(`EXISTS (SELECT 1 FROM document_tag x WHERE x.workspace_id = d.workspace_id AND x.tag = ? AND x.document_id = d.id)`, tag)
	}
	if f.Collection != "" {
		c.where(`d.collection = ?`, f.Collection)
	}
	order := `d.id`
	if len(f.Tags) > 0 {
		order = `t.document_id`
	}
	list, err := s.documents(ctx, `SELECT `+documentColumns+` FROM `+from+` WHERE `+c.String()+` ORDER BY `+order+` LIMIT `+c.arg(f.Limit), c.args...)
	if err != nil {
		return nil, fmt.Errorf("list documents: %w", err)
	}
	return list, nil
}

// DocumentChanges implements document.Store.
func (s *Store) DocumentChanges(ctx context.Context, workspaceID string, after int64, limit int) ([]document.Change, error) {
	// One statement, so that both halves show the same moment.
	rows, err := s.main.In(ctx).Query(ctx, `
		SELECT 1, `+documentColumns+` FROM document d WHERE d.workspace_id = $1 AND d.change > $2
		UNION ALL
		SELECT 0, b.id, '', '', '', '', '[]', '{}', 0, 0, 0, b.change FROM document_tombstone b WHERE b.workspace_id = $1 AND b.change > $2
		ORDER BY 12 LIMIT $3`, workspaceID, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list changes: %w", err)
	}
	defer rows.Close()
	var list []document.Change
	for rows.Next() {
		var live bool
		d, err := scanDocument(prefixed{rows, &live})
		if err != nil {
			return nil, fmt.Errorf("read change: %w", err)
		}
		c := document.Change{Number: d.Change, ID: d.ID}
		if live {
			c.Document = &d
		}
		list = append(list, c)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list changes: %w", err)
	}
	return list, nil
}

// prefixed is a row with one more column before those that a scan function knows.
type prefixed struct {
	row   Row
	first any
}

func (p prefixed) Scan(dest ...any) error { return p.row.Scan(append([]any{p.first}, dest...)...) }

// DocumentChange implements document.Store.
func (s *Store) DocumentChange(ctx context.Context, workspaceID string) (int64, error) {
	var n int64
	err := s.main.In(ctx).QueryRow(ctx, `SELECT change FROM document_head WHERE workspace_id = $1`, workspaceID).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read change number: %w", err)
	}
	return n, nil
}

// ChangedWorkspaces implements document.Store.
func (s *Store) ChangedWorkspaces(ctx context.Context) (map[string]int64, error) {
	rows, err := s.main.In(ctx).Query(ctx, `SELECT workspace_id, change FROM document_head WHERE change > 0`)
	if err != nil {
		return nil, fmt.Errorf("list change numbers: %w", err)
	}
	defer rows.Close()
	last := map[string]int64{}
	for rows.Next() {
		var id string
		var n int64
		if err := rows.Scan(&id, &n); err != nil {
			return nil, fmt.Errorf("read change number: %w", err)
		}
		last[id] = n
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list change numbers: %w", err)
	}
	return last, nil
}
