package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"keepsake/internal/base/problem"
	"keepsake/internal/search/document"
)

// Document implements document.Store.
func (s *Documents) Document(ctx context.Context, workspaceID, id string) (*document.Document, error) {
	d, err := scanDocument(s.main.In(ctx).QueryRow(ctx, `
		SELECT `+documentColumns+` FROM document d WHERE d.`+ofWorkspace+` AND d.id = $2`, workspaceID, id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, problem.Missing()
	}
	if err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	return &d, nil
}

// Documents implements document.Store.
func (s *Documents) Documents(ctx context.Context, workspaceID string, ids []string) ([]document.Document, error) {
	var list []document.Document
	statement, size := s.statements.byID, ListSize
	if len(ids) <= ShortListSize {
		statement, size = s.statements.fewByID, ShortListSize
	}
	for _, args := range s.main.Dialect.IDLists([]any{workspaceID}, ids, size) {
		found, err := s.documents(ctx, statement, args...)
		if err != nil {
			return nil, fmt.Errorf("read documents: %w", err)
		}
		list = append(list, found...)
	}
	return list, nil
}

func (s *Documents) documents(ctx context.Context, query string, args ...any) ([]document.Document, error) {
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
func (s *Documents) ListDocuments(ctx context.Context, workspaceID string, f document.Filter) ([]document.Document, error) {
	c := Conditions{Args: []any{workspaceID}} // for ofWorkspace
	from, id := `document d`, `d.id`
	if len(f.Tags) > 0 {
		id = `t.document_id`
	}
	c.Where(`d.` + ofWorkspace)
	if f.IDs != nil {
		c.In(`d.id`, f.IDs)
	}
	for i, tag := range f.Tags {
		if i == 0 { // the first tag determines the index
			from = `document_tag t JOIN document d ON d.workspace = t.workspace AND d.id = t.document_id`
			c.Where(`t.` + ofWorkspace)
			c.Where(`t.tag = ?`, tag)
			continue
		}
		c.Where(`EXISTS (SELECT 1 FROM document_tag x WHERE x.workspace = d.workspace AND x.tag = ? AND x.document_id = d.id)`, tag)
	}
	if f.Collection != "" {
		c.Where(`d.collection = ?`, f.Collection)
	}
	order := id
	switch f.Sort {
	case document.Newest:
		order = `d.updated_at DESC, ` + id + ` DESC`
		if f.After != nil {
			c.Where(`(d.updated_at, `+id+`) < (?, ?)`, documentTime(f.After.UpdatedAt), f.After.ID)
		}
	case document.Oldest:
		order = `d.updated_at, ` + id
		if f.After != nil {
			c.Where(`(d.updated_at, `+id+`) > (?, ?)`, documentTime(f.After.UpdatedAt), f.After.ID)
		}
	default:
		if f.After != nil {
			c.Where(id+` > ?`, f.After.ID)
		}
	}
	columns := documentColumns
	if f.Brief {
		columns = briefColumns
	}
	list, err := s.documents(ctx, `SELECT `+columns+` FROM `+from+` WHERE `+c.String()+` ORDER BY `+order+` LIMIT `+c.Arg(f.Limit), c.Args...)
	if err != nil {
		return nil, fmt.Errorf("list documents: %w", err)
	}
	return list, nil
}

// DocumentCount implements document.Store.
func (s *Documents) DocumentCount(ctx context.Context, workspaceID string) (n int64, err error) {
	err = s.main.In(ctx).QueryRow(ctx, `SELECT documents FROM document_head WHERE workspace_id = $1`, workspaceID).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("count documents: %w", err)
	}
	return n, nil
}
