package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/revision"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/limit"
	"keepsake/internal/search/document"
)

// Documents stores documents.
type Documents struct {
	main       *DB
	storage    *Storage
	statements documentStatements
}

// ofWorkspace is the condition that rows of documents belong to the workspace $1. They contain its number, which is shorter than
// its ID.
const ofWorkspace = `workspace = (SELECT h.number FROM document_head h WHERE h.workspace_id = $1)`

// documentHead is the row of document_head of a workspace during a transaction.
type documentHead struct {
	held      bool
	number    int64 // of the workspace
	change    int64
	documents int64
	mark      int64 // of the transaction

	collections map[string]int64 // how many documents more they have

	limited bool // room was read
	room    int64
}

// documentStatements are the texts that contain a Dialect's parts.
type documentStatements struct {
	byID     string
	fewByID  string // at most ShortListSize
	existing string
}

func newDocumentStatements(d Dialect) documentStatements {
	document, byID := d.ByID("document", "d", "d."+ofWorkspace, 2, ListSize)
	few, byFewIDs := d.ByID("document", "d", "d."+ofWorkspace, 2, ShortListSize)
	tombstone, byTombstoneID := d.ByID("document_tombstone", "t", "t."+ofWorkspace, 2, ListSize)
	return documentStatements{
		byID:    `SELECT ` + documentColumns + ` FROM ` + document + ` WHERE ` + byID,
		fewByID: `SELECT ` + documentColumns + ` FROM ` + few + ` WHERE ` + byFewIDs,
		existing: `SELECT d.id, true, d.created_at, d.revision, d.change, d.tags, ` + documentBytes + `, d.collection FROM ` + document + ` WHERE ` + byID + `
			UNION ALL SELECT t.id, false, 0, 0, 0, '[]', 0, '' FROM ` + tombstone + ` WHERE ` + byTombstoneID,
	}
}

// roomFor reads and locks the bytes that the workspace can still store, at the first document that is written under a limit.
func (s *Documents) roomFor(ctx context.Context, workspaceID string, h *documentHead, p document.Put) (err error) {
	if h.limited || p.MaxBytes == nil {
		return nil
	}
	h.limited = true
	h.room, err = s.storage.StorageRoom(ctx, workspaceID, *p.MaxBytes)
	return err
}

type documentHeadKey struct{ workspaceID string }

func (s *Documents) documentHead(ctx context.Context, workspaceID string) (*documentHead, error) {
	h := unit.Local(ctx, documentHeadKey{workspaceID}, func() *documentHead { return &documentHead{} })
	if h.held {
		return h, nil
	}
	for {
		found, err := s.holdDocumentHead(ctx, workspaceID, h)
		if err != nil {
			return nil, fmt.Errorf("read change number: %w", err)
		}
		if found {
			break
		}
		// This is the first change of the workspace. The statement waits for another transaction that inserts the same workspace or
		// number, and inserts nothing if that commits.
		if _, err := s.main.In(ctx).Exec(ctx, `
			INSERT INTO document_head (number, workspace_id, change, documents, mark)
			SELECT coalesce(max(number), 0) + 1, $1, 0, 0, 0 FROM document_head WHERE true ON CONFLICT DO NOTHING`, workspaceID); err != nil {
			return nil, fmt.Errorf("number a workspace: %w", err)
		}
	}
	h.held, h.mark = true, newMark()
	unit.BeforeCommit(ctx, "document head "+workspaceID, func(ctx context.Context) error {
		_, err := s.main.In(ctx).Exec(ctx, `
			UPDATE document_head SET change = $1, documents = $2, mark = CASE WHEN change = $1 THEN mark ELSE $4 END WHERE number = $3`,
			h.change, h.documents, h.number, h.mark)
		if err != nil {
			return fmt.Errorf("write change number: %w", err)
		}
		return s.saveCollections(ctx, h)
	})
	return h, nil
}

// HoldDocuments implements document.Store.
func (s *Documents) HoldDocuments(ctx context.Context, workspaceID string) error {
	_, err := s.documentHead(ctx, workspaceID)
	return err
}

func (s *Documents) holdDocumentHead(ctx context.Context, workspaceID string, h *documentHead) (found bool, err error) {
	const query = `SELECT number, change, documents FROM document_head WHERE workspace_id = $1`
	err = s.main.HoldRow(ctx, query, workspaceID).Scan(&h.number, &h.change, &h.documents)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// existing is what exists under a document's ID.
type existing struct {
	live       bool
	tombstone  bool
	createdAt  int64
	revision   int64
	change     int64  // that wrote the revision
	tags       string // the column
	bytes      int64
	collection string
}

var noDocument = existing{tags: "[]"}

const existingDocument = `
	SELECT true, created_at, revision, change, tags, ` + documentBytes + `, collection FROM document d WHERE workspace = $1 AND id = $2
	UNION ALL SELECT false, 0, 0, 0, '[]', 0, '' FROM document_tombstone WHERE workspace = $1 AND id = $2`

func (s *Documents) existing(ctx context.Context, h *documentHead, id string) (existing, error) {
	var st existing
	err := s.main.In(ctx).QueryRow(ctx, existingDocument, h.number, id).
		Scan(&st.live, &st.createdAt, &st.revision, &st.change, &st.tags, &st.bytes, &st.collection)
	if errors.Is(err, sql.ErrNoRows) {
		return noDocument, nil
	}
	if err != nil {
		return st, fmt.Errorf("read document's revision: %w", err)
	}
	st.tombstone = !st.live
	return st, nil
}

// PutDocument implements document.Store.
func (s *Documents) PutDocument(ctx context.Context, workspaceID string, d *document.Document, p document.Put) (created bool, err error) {
	v, err := documentValuesOf(d)
	if err != nil {
		return false, err
	}
	err = s.main.Run(ctx, func(ctx context.Context) error {
		head, err := s.documentHead(ctx, workspaceID)
		if err != nil {
			return err
		}
		old, err := s.existing(ctx, head, d.ID)
		if err != nil {
			return err
		}
		if err := s.roomFor(ctx, workspaceID, head, p); err != nil {
			return err
		}
		if err := head.put(d, p, &old, v.bytes); err != nil {
			return err
		}
		if created = !old.live; created {
			err = s.insertDocument(ctx, head, d, &v, old.tombstone)
		} else {
			err = s.replaceDocument(ctx, head, d, &v)
		}
		if err != nil {
			return err
		}
		return s.writeTags(ctx, head, d, old.tags, v.tags)
	})
	return created, err
}

// put decides whether d, of a size in bytes, replaces what exists, and sets its numbers.
func (h *documentHead) put(d *document.Document, p document.Put, old *existing, bytes int64) error {
	grows := bytes - old.bytes
	switch {
	case p.CreateOnly && old.live:
		return problem.Conflicts("A document with this ID already exists.")
	case p.IfChange != nil && old.live && old.change > *p.IfChange:
		return document.ErrRepeated
	case (p.Exists || p.IfRevision != nil) && !old.live, !p.IfRevision.Allows(old.revision),
		old.live && (p.Absent || slices.Contains(p.IfNotRevision, old.revision)):
		return problem.RevisionMismatch()
	case !old.live && limit.Full(p.Max, h.documents):
		return problem.LimitReached("documents", "The workspace has reached the number of documents that its tier allows.")
	case h.limited && grows > 0 && grows > h.room:
		return problem.StorageFull()
	}
	h.room -= grows
	h.change++
	d.Change, d.Revision = h.change, old.revision+1
	if old.live {
		d.CreatedAt = documentTimeOf(old.createdAt)
		h.countCollection(old.collection, -1)
	} else {
		d.CreatedAt = d.UpdatedAt
		h.documents++
	}
	h.countCollection(d.Collection, 1)
	return nil
}

func (s *Documents) insertDocument(ctx context.Context, h *documentHead, d *document.Document, v *documentValues, tombstone bool) error {
	q := s.main.In(ctx)
	if tombstone {
		if _, err := q.Exec(ctx, `DELETE FROM document_tombstone WHERE workspace = $1 AND id = $2`, h.number, d.ID); err != nil {
			return fmt.Errorf("remove tombstone: %w", err)
		}
	}
	_, err := q.Exec(ctx, `
		INSERT INTO document (workspace, id, collection, title, text, url, tags, metadata, created_at, updated_at, revision, change, language)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		h.number, d.ID, d.Collection, d.Title, d.Text, d.URL, v.tags, v.metadata, documentTime(d.CreatedAt), documentTime(d.UpdatedAt), d.Revision, d.Change, d.Language)
	if err != nil {
		return fmt.Errorf("add document: %w", err)
	}
	return nil
}

func (s *Documents) replaceDocument(ctx context.Context, h *documentHead, d *document.Document, v *documentValues) error {
	_, err := s.main.In(ctx).Exec(ctx, `
		UPDATE document SET collection = $1, title = $2, text = $3, url = $4, tags = $5, metadata = $6, created_at = $7,
			updated_at = $8, revision = $9, change = $10, language = $11 WHERE workspace = $12 AND id = $13`,
		d.Collection, d.Title, d.Text, d.URL, v.tags, v.metadata, documentTime(d.CreatedAt), documentTime(d.UpdatedAt), d.Revision, d.Change, d.Language, h.number, d.ID)
	if err != nil {
		return fmt.Errorf("replace document: %w", err)
	}
	return nil
}

// writeTags updates document_tag if the tags of a document changed.
func (s *Documents) writeTags(ctx context.Context, h *documentHead, d *document.Document, old, tags string) error {
	if old == tags {
		return nil
	}
	if err := s.removeTags(ctx, h, d.ID, old); err != nil {
		return err
	}
	for _, tag := range d.Tags {
		_, err := s.main.In(ctx).Exec(ctx, `
			INSERT INTO document_tag (workspace, tag, document_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
			h.number, tag, d.ID)
		if err != nil {
			return fmt.Errorf("add tag: %w", err)
		}
	}
	return nil
}

func (s *Documents) removeTags(ctx context.Context, h *documentHead, id, tags string) error {
	list, err := listOf(tags)
	if err != nil {
		return err
	}
	for _, tag := range list {
		_, err := s.main.In(ctx).Exec(ctx, `
			DELETE FROM document_tag WHERE workspace = $1 AND tag = $2 AND document_id = $3`, h.number, tag, id)
		if err != nil {
			return fmt.Errorf("remove tag: %w", err)
		}
	}
	return nil
}

// DeleteDocument implements document.Store. It leaves a tombstone with the ID and the change.
func (s *Documents) DeleteDocument(ctx context.Context, workspaceID, id string, ifRevision revision.Expected) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		head, err := s.documentHead(ctx, workspaceID)
		if err != nil {
			return err
		}
		old, err := s.existing(ctx, head, id)
		switch {
		case err != nil:
			return err
		case !old.live:
			return problem.Missing()
		case !ifRevision.Allows(old.revision):
			return problem.RevisionMismatch()
		}
		head.change++
		head.documents--
		head.countCollection(old.collection, -1)
		if err := s.removeTags(ctx, head, id, old.tags); err != nil {
			return err
		}
		q := s.main.In(ctx)
		if _, err := q.Exec(ctx, `DELETE FROM document WHERE workspace = $1 AND id = $2`, head.number, id); err != nil {
			return fmt.Errorf("delete document: %w", err)
		}
		_, err = q.Exec(ctx, `INSERT INTO document_tombstone (workspace, id, change) VALUES ($1, $2, $3)`, head.number, id, head.change)
		if err != nil {
			return fmt.Errorf("add tombstone: %w", err)
		}
		return nil
	})
}
