package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/memory"
)

// Memories stores memories. It has the parts of memory.Store.
type Memories struct {
	*memoryRows
	*memorySubjects
	*memoryErasures
	*memoryVectors
	*Storage
	*ownKeys
}

var _ memory.Store = (*Memories)(nil)

func newMemories(main *DB, storage *Storage, own *ownKeys) *Memories {
	rows := &memoryRows{main: main, own: own, statements: newMemoryStatements(main.Dialect)}
	return &Memories{
		memoryRows: rows, memorySubjects: &memorySubjects{main}, memoryErasures: &memoryErasures{main, rows},
		memoryVectors: &memoryVectors{main}, Storage: storage, ownKeys: own,
	}
}

// memoryRows stores memories and their older revisions.
type memoryRows struct {
	main       *DB
	own        *ownKeys
	statements memoryStatements
}

// memoryStatements are the texts that contain a Dialect's parts.
type memoryStatements struct {
	byID string
	of   string
}

func newMemoryStatements(d Dialect) memoryStatements {
	memory, byID := d.ByID("memory", "m", "m.workspace_id = $1", 2, ListSize)
	memoryOf, byIDOf := d.ByID("memory", "m", "m.workspace_id = $1", 4, ListSize)
	return memoryStatements{
		byID: `SELECT ` + MemoryColumns + ` FROM ` + memory + ` WHERE ` + byID + ` AND ` + LivingMemory,
		of: `SELECT ` + MemoryColumns + `, s.change FROM ` + memoryOf + ` CROSS JOIN memory_subject s
			WHERE ` + byIDOf + ` AND s.workspace_id = $1 AND s.subject = $2 AND s.generation = $3
				AND ` + unindexed(`m.subject`) + ` = s.subject AND m.generation = s.generation`,
	}
}

// MemoryColumns are the columns of a memory m, with its key.
const MemoryColumns = `m.id, m.subject, m.generation, m.agent, m.session, m.kind, m.at, m.created_at, m.updated_at, m.expires_at,
	m.key_hash, m.same_hash, m.size, m.revision, m.change, m.sealed, m.key_slot,
	(SELECT k.key FROM erasable_key k WHERE k.slot = m.key_slot)`

// LivingMemory is the condition that a memory m belongs to the current generation of its subject.
const LivingMemory = `m.generation = (SELECT s.generation FROM memory_subject s WHERE s.workspace_id = m.workspace_id AND s.subject = m.subject)`

// MemoryByWorkspace is the condition that a memory m belongs to the workspace $1, for statements that find their rows by another
// condition. Its form stops a planner without statistics from scanning the whole workspace.
const MemoryByWorkspace = `m.workspace_id || '' = $1`

// unindexed is a column in a form that keeps a planner from using its index.
func unindexed(column string) string { return `coalesce(` + column + `, ` + column + `)` }

// UnexpiredMemory begins the condition that a memory m has not expired at a time, which follows. With the plain column, SQLite
// would plan a prepared statement again for each time.
const UnexpiredMemory = `coalesce(m.expires_at, 9223372036854775807) > `

// hashValue is how a hash is stored: NULL for none.
func hashValue(h memory.Hash) any {
	if h == (memory.Hash{}) {
		return nil
	}
	return h[:]
}

// hashOf reads what hashValue wrote.
func hashOf(b []byte) (h memory.Hash) {
	copy(h[:], b)
	return h
}

func scanMemory(row Row, more ...any) (*memory.Row, error) {
	var r memory.Row
	var subject, agent, session, key, same []byte
	var at, created, updated int64
	var expires *int64
	err := row.Scan(append([]any{
		&r.ID, &subject, &r.Generation, &agent, &session, &r.Kind, &at, &created, &updated, &expires, &key, &same,
		&r.Size, &r.Revision, &r.Change, &r.Sealed, &r.OwnKeySlot, &r.OwnKey,
	}, more...)...)
	if err != nil {
		return nil, err
	}
	r.Subject, r.Agent, r.Session, r.KeyHash, r.DedupHash = hashOf(subject), hashOf(agent), hashOf(session), hashOf(key), hashOf(same)
	r.At, r.CreatedAt, r.UpdatedAt, r.ExpiresAt = TimeOf(at), TimeOf(created), TimeOf(updated), maybeTime(expires)
	return &r, nil
}

func (s *memoryRows) memories(ctx context.Context, query string, args ...any) ([]*memory.Row, error) {
	var list []*memory.Row
	err := s.main.EachRow(ctx, query, args, func(row Row) error {
		r, err := scanMemory(row)
		list = append(list, r)
		return err
	})
	return list, err
}

// within adds the conditions of a caller's visibility.
func within(c *Conditions, visibility memory.Visibility) {
	if visibility.Subject != (memory.Hash{}) {
		c.Where(unindexed(`m.subject`)+` = ?`, hashValue(visibility.Subject))
	}
	if visibility.Agent != (memory.Hash{}) {
		c.Where(unindexed(`m.agent`)+` = ?`, hashValue(visibility.Agent))
	}
}

// Memory implements memory.Store.
func (s *memoryRows) Memory(ctx context.Context, workspaceID, id string, visibility memory.Visibility, now time.Time) (*memory.Row, error) {
	var c Conditions
	c.Where(`m.workspace_id = ? AND m.id = ?`, workspaceID, id)
	c.Where(UnexpiredMemory+`?`, Micros(now))
	within(&c, visibility)
	r, err := scanMemory(s.main.In(ctx).QueryRow(ctx, `SELECT `+MemoryColumns+` FROM memory m WHERE `+c.String()+` AND `+LivingMemory, c.Args...))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, problem.Missing()
	}
	if err != nil {
		return nil, fmt.Errorf("read memory: %w", err)
	}
	return r, nil
}

// MemoriesByID implements memory.Store.
func (s *memoryRows) MemoriesByID(ctx context.Context, workspaceID string, ids []string) ([]*memory.Row, error) {
	var list []*memory.Row
	for _, args := range s.main.Dialect.IDLists([]any{workspaceID}, ids, ListSize) {
		found, err := s.memories(ctx, s.statements.byID, args...)
		if err != nil {
			return nil, fmt.Errorf("read memories: %w", err)
		}
		list = append(list, found...)
	}
	return list, nil
}

// MemoriesOf implements memory.Store.
func (s *memoryRows) MemoriesOf(ctx context.Context, workspaceID string, subject memory.Hash, generation, change int64, ids []string) (list []*memory.Row, still bool, err error) {
	still = true
	for _, args := range s.main.Dialect.IDLists([]any{workspaceID, subject[:], generation}, ids, ListSize) {
		err := s.main.EachRow(ctx, s.statements.of, args, func(row Row) error {
			var now int64
			r, err := scanMemory(row, &now)
			list = append(list, r)
			still = still && now == change
			return err
		})
		if err != nil {
			return nil, false, fmt.Errorf("read memories: %w", err)
		}
	}
	return list, still && len(list) > 0, nil
}

// ListMemories implements memory.Store.
func (s *memoryRows) ListMemories(ctx context.Context, workspaceID string, f *memory.RowFilter) ([]*memory.Row, error) {
	c := listed(workspaceID, f)
	order := ` ORDER BY m.at DESC, m.id DESC LIMIT `
	if f.OldestFirst {
		order = ` ORDER BY m.at, m.id LIMIT `
	}
	if len(f.IDs) > 0 { // few rows are sorted; no index on the time is read for them
		order = strings.ReplaceAll(order, `m.at`, `m.at + 0`)
	}
	query := `SELECT ` + MemoryColumns + ` FROM memory m WHERE ` + c.String() + ` AND ` + LivingMemory + order + c.Arg(f.Limit)
	list, err := s.memories(ctx, query, c.Args...)
	if err != nil {
		return nil, fmt.Errorf("list memories: %w", err)
	}
	return list, nil
}

// listed are the conditions of a list. One index determines the order of reading: that of the first given of IDs, session,
// subject, agent and workspace.
func listed(workspaceID string, f *memory.RowFilter) *Conditions {
	c := &Conditions{}
	walked := len(f.IDs) > 0 // the primary key finds them
	if walked {
		c.In(`m.id`, f.IDs)
	}
	for _, of := range []struct {
		column string
		hash   memory.Hash
	}{{`m.session`, f.Session}, {`m.subject`, f.Subject}, {`m.subject`, f.Visible.Subject}, {`m.agent`, f.Agent}, {`m.agent`, f.Visible.Agent}} {
		switch {
		case of.hash == (memory.Hash{}):
		case walked:
			c.Where(unindexed(of.column)+` = ?`, hashValue(of.hash))
		default:
			c.Where(of.column+` = ?`, hashValue(of.hash))
			walked = true
		}
	}
	if walked && len(f.IDs) == 0 {
		c.Where(`m.workspace_id || '' = ?`, workspaceID)
	} else {
		c.Where(`m.workspace_id = ?`, workspaceID)
	}
	c.Where(UnexpiredMemory+`?`, Micros(f.Now))
	if len(f.Kinds) > 0 {
		kinds := make([]string, len(f.Kinds))
		for i, kind := range f.Kinds {
			kinds[i] = c.Arg(string(kind))
		}
		c.Where(`m.kind IN (` + strings.Join(kinds, ", ") + `)`)
	}
	if f.From != nil {
		c.Where(`m.at >= ?`, Micros(*f.From))
	}
	if f.To != nil {
		c.Where(`m.at < ?`, Micros(*f.To))
	}
	if b := f.After; b != nil && f.OldestFirst {
		c.Where(`(m.at, m.id) > (?, ?)`, Micros(b.At), b.ID)
	} else if b != nil {
		c.Where(`(m.at, m.id) < (?, ?)`, Micros(b.At), b.ID)
	}
	return c
}

// MatchingMemories implements memory.Store.
func (s *memoryRows) MatchingMemories(ctx context.Context, workspaceID string, wanted []memory.MatchKey, limit int, now time.Time) ([]*memory.Row, error) {
	var keyed, same []memory.MatchKey
	for _, w := range wanted {
		if w.KeyHash != (memory.Hash{}) {
			keyed = append(keyed, w)
		} else {
			same = append(same, w)
		}
	}
	list, err := s.duplicates(ctx, keyed, func(w *memory.MatchKey) []byte { return w.KeyHash[:] },
		&Duplicates{WorkspaceID: workspaceID, Column: "key_hash", Now: Micros(now), Limit: 1})
	if err != nil {
		return nil, err
	}
	more, err := s.duplicates(ctx, same, func(w *memory.MatchKey) []byte { return w.DedupHash[:] },
		&Duplicates{WorkspaceID: workspaceID, Column: "same_hash", Now: Micros(now), Limit: limit})
	return append(list, more...), err
}

func (s *memoryRows) duplicates(ctx context.Context, wanted []memory.MatchKey, hash func(*memory.MatchKey) []byte, d *Duplicates) (list []*memory.Row, err error) {
	if len(wanted) == 0 {
		return nil, nil
	}
	for i := range wanted {
		w := &wanted[i]
		d.Subjects, d.Generations, d.Hashes = append(d.Subjects, w.Subject[:]), append(d.Generations, w.Generation), append(d.Hashes, hash(w))
	}
	err = s.main.Dialect.Duplicates(ctx, s.main.In(ctx), d, func(row Row) error {
		r, err := scanMemory(row)
		list = append(list, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look up memories: %w", err)
	}
	return list, nil
}

// MemoryRevisions implements memory.Store.
func (s *memoryRows) MemoryRevisions(ctx context.Context, workspaceID string, ids []string, before int64, limit int) ([]*memory.Row, error) {
	var list []*memory.Row
	for len(ids) > 0 {
		n := min(len(ids), ListSize)
		var c Conditions
		c.Where(`m.workspace_id = ?`, workspaceID)
		if len(ids) == 1 {
			c.Where(`m.memory_id = ?`, ids[0])
		} else {
			c.Args = Padded(c.Args, ids[:n])
			c.all = append(c.all, `m.memory_id IN (`+Parameters(2, ListSize)+`)`)
		}
		if before > 0 {
			c.Where(`m.revision < ?`, before)
		}
		query := `SELECT m.memory_id, m.subject, m.generation, m.revision, m.sealed,
				(SELECT k.key FROM memory c JOIN erasable_key k ON k.slot = c.key_slot WHERE c.workspace_id = m.workspace_id AND c.id = m.memory_id)
			FROM memory_revision m
			WHERE ` + c.String() + ` AND ` + LivingMemory + ` ORDER BY m.memory_id, m.revision DESC`
		if limit > 0 {
			query += ` LIMIT ` + c.Arg(limit)
		}
		found, err := s.memoryRevisions(ctx, query, c.Args...)
		if err != nil {
			return nil, fmt.Errorf("read revisions: %w", err)
		}
		list = append(list, found...)
		ids = ids[n:]
	}
	return list, nil
}

func (s *memoryRows) memoryRevisions(ctx context.Context, query string, args ...any) ([]*memory.Row, error) {
	rows, err := s.main.In(ctx).Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []*memory.Row
	for rows.Next() {
		r, subject := &memory.Row{}, []byte(nil)
		if err := rows.Scan(&r.ID, &subject, &r.Generation, &r.Revision, &r.Sealed, &r.OwnKey); err != nil {
			return nil, err
		}
		r.Subject = hashOf(subject)
		list = append(list, r)
	}
	return list, rows.Err()
}

// memoryChanges reads only what is needed to decrypt. It checks once whether the generation is current, not for each row.
const memoryChanges = `SELECT m.id, m.expires_at, m.size, m.revision, m.change, m.sealed,
		(SELECT k.key FROM erasable_key k WHERE k.slot = m.key_slot)
	FROM memory m
	WHERE ` + MemoryByWorkspace + ` AND m.subject = $2 AND m.change > $3 AND m.change <= $4 AND m.generation = $5
		AND EXISTS (SELECT 1 FROM memory_subject s WHERE s.workspace_id = $1 AND s.subject = $2 AND s.generation = $5)`

// MemoryChanges implements memory.Store.
func (s *memoryRows) MemoryChanges(ctx context.Context, workspaceID string, subject memory.Hash, generation, after, upTo int64) ([]*memory.Row, error) {
	var list []*memory.Row
	var next memory.Row
	var expires *int64
	fields := []any{&next.ID, &expires, &next.Size, &next.Revision, &next.Change, &next.Sealed, &next.OwnKey}
	err := s.main.EachRow(ctx, memoryChanges, []any{workspaceID, subject[:], after, upTo, generation}, func(row Row) error {
		next = memory.Row{Subject: subject, Generation: generation}
		if err := row.Scan(fields...); err != nil {
			return err
		}
		next.ExpiresAt = maybeTime(expires)
		r := next
		list = append(list, &r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list changes: %w", err)
	}
	// Sorted here, because a server would sort ten thousand rows on its disk.
	slices.SortStableFunc(list, func(a, b *memory.Row) int { return cmp.Compare(a.Change, b.Change) })
	return list, nil
}

// ErasedMemories implements memory.Store.
func (s *memoryRows) ErasedMemories(ctx context.Context, workspaceID string, subject memory.Hash, after int64) ([]string, error) {
	erased, err := names(ctx, s.main, `SELECT m.memory_id FROM memory_tombstone m
		WHERE `+MemoryByWorkspace+` AND m.subject = $2 AND m.change > $3 ORDER BY m.change`, workspaceID, subject[:], after)
	if err != nil {
		return nil, fmt.Errorf("list erased memories: %w", err)
	}
	return erased, nil
}

// names reads one column of texts.
func names(ctx context.Context, main *DB, query string, args ...any) ([]string, error) {
	rows, err := main.In(ctx).Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		list = append(list, name)
	}
	return list, rows.Err()
}
