package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"keepsake/internal/memory"
	"keepsake/internal/problem"
)

var _ memory.Store = (*Store)(nil)

const memoryColumns = `m.id, m.subject, m.generation, m.agent, m.session, m.kind, m.at, m.created_at, m.updated_at, m.expires_at,
	m.key_hash, m.same_hash, m.size, m.revision, m.change, m.sealed, coalesce(m.key_slot, 0),
	(SELECT k.key FROM erasable_key k WHERE k.slot = m.key_slot)`

// living leaves out what is of a generation that has ended. It is asked for each row, by the subject's key: the planner has
// nothing to decide about.
const living = `m.generation = (SELECT s.generation FROM memory_subject s WHERE s.workspace_id = m.workspace_id AND s.subject = m.subject)`

// ofWorkspace is m.workspace_id = $1 where another condition finds the rows: a planner that knows nothing of the table must
// not take a walk through the whole workspace for as good. So are the others for columns with an index.
const ofWorkspace = `m.workspace_id || '' = $1`

func beside(column string) string { return `coalesce(` + column + `, ` + column + `)` }

// notExpired stands before the moment that it is about. A range of an indexed column would have SQLite plan a prepared
// statement anew for each moment.
const notExpired = `coalesce(m.expires_at, 9223372036854775807) > `

// hashValue is how a hash lies in a column: NULL for none.
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
		&r.Size, &r.Revision, &r.Change, &r.Sealed, &r.OwnSlot, &r.Own,
	}, more...)...)
	if err != nil {
		return nil, err
	}
	r.Subject, r.Agent, r.Session, r.Key, r.Same = hashOf(subject), hashOf(agent), hashOf(session), hashOf(key), hashOf(same)
	r.At, r.CreatedAt, r.UpdatedAt, r.ExpiresAt = timeOf(at), timeOf(created), timeOf(updated), maybeTime(expires)
	return &r, nil
}

func (s *Store) memories(ctx context.Context, query string, args ...any) ([]*memory.Row, error) {
	var list []*memory.Row
	err := s.eachMemory(ctx, func(row Row) error {
		r, err := scanMemory(row)
		list = append(list, r)
		return err
	}, query, args...)
	return list, err
}

func (s *Store) eachMemory(ctx context.Context, do func(row Row) error, query string, args ...any) error {
	rows, err := s.main.In(ctx).Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := do(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// within adds what a caller is bound to.
func within(c *conditions, reach memory.Reach) {
	if reach.Subject != (memory.Hash{}) {
		c.where(beside(`m.subject`)+` = ?`, hashValue(reach.Subject))
	}
	if reach.Agent != (memory.Hash{}) {
		c.where(beside(`m.agent`)+` = ?`, hashValue(reach.Agent))
	}
}

// Memory implements memory.Store.
func (s *Store) Memory(ctx context.Context, workspaceID, id string, reach memory.Reach, now time.Time) (*memory.Row, error) {
	var c conditions
	c.where(`m.workspace_id = ? AND m.id = ?`, workspaceID, id)
	c.where(notExpired+`?`, micros(now))
	within(&c, reach)
	r, err := scanMemory(s.main.In(ctx).QueryRow(ctx, `SELECT `+memoryColumns+` FROM memory m WHERE `+c.String()+` AND `+living, c.args...))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, problem.Missing()
	}
	if err != nil {
		return nil, fmt.Errorf("read memory: %w", err)
	}
	return r, nil
}

// MemoriesByID implements memory.Store.
func (s *Store) MemoriesByID(ctx context.Context, workspaceID string, ids []string) ([]*memory.Row, error) {
	if s.shared {
		list, err := s.memories(ctx, memoriesOneByOne, workspaceID, ids)
		if err != nil {
			return nil, fmt.Errorf("read memories: %w", err)
		}
		return list, nil
	}
	var list []*memory.Row
	for len(ids) > 0 {
		n := min(len(ids), idsAtOnce)
		found, err := s.memories(ctx, memoriesByIDs, filled(workspaceID, ids[:n])...)
		if err != nil {
			return nil, fmt.Errorf("read memories: %w", err)
		}
		list = append(list, found...)
		ids = ids[n:]
	}
	return list, nil
}

// memoriesOneByOne is for the reason of standingsByIDs.
const memoriesOneByOne = `SELECT ` + memoryColumns + ` FROM unnest($2::text[]) AS wanted(id)
	CROSS JOIN LATERAL (SELECT * FROM memory WHERE workspace_id = $1 AND memory.id = wanted.id LIMIT 1) m WHERE ` + living

var memoriesByIDs = `SELECT ` + memoryColumns + ` FROM memory m
	WHERE m.workspace_id = $1 AND m.id IN (` + parameters(2, idsAtOnce) + `) AND ` + living

// MemoriesOf implements memory.Store.
func (s *Store) MemoriesOf(ctx context.Context, workspaceID string, subject memory.Hash, generation, change int64, ids []string) (list []*memory.Row, still bool, err error) {
	if len(ids) == 0 {
		return nil, false, nil
	}
	still = true
	add := func(row Row) error {
		var now int64
		r, err := scanMemory(row, &now)
		list = append(list, r)
		still = still && now == change
		return err
	}
	if s.shared {
		err = s.eachMemory(ctx, add, memoriesOfOneByOne, workspaceID, ids, subject[:], generation)
	}
	for some := range slices.Chunk(ids, idsAtOnce) {
		if err == nil && !s.shared {
			err = s.eachMemory(ctx, add, memoriesOf, append(filled(workspaceID, some), subject[:], generation)...)
		}
	}
	if err != nil {
		return nil, false, fmt.Errorf("read memories: %w", err)
	}
	return list, still && len(list) > 0, nil
}

const memoriesOfOneByOne = `SELECT ` + memoryColumns + `, s.change FROM memory_subject s CROSS JOIN unnest($2::text[]) AS wanted(id)
	CROSS JOIN LATERAL (SELECT * FROM memory WHERE workspace_id = $1 AND memory.id = wanted.id LIMIT 1) m
	WHERE s.workspace_id = $1 AND s.subject = $3 AND s.generation = $4 AND m.subject = s.subject AND m.generation = s.generation`

var memoriesOf = `SELECT ` + memoryColumns + `, s.change FROM memory m CROSS JOIN memory_subject s
	WHERE m.workspace_id = $1 AND m.id IN (` + parameters(2, idsAtOnce) + `)
		AND s.workspace_id = $1 AND s.subject = $` + strconv.Itoa(idsAtOnce+2) + ` AND s.generation = $` + strconv.Itoa(idsAtOnce+3) + `
		AND ` + beside(`m.subject`) + ` = s.subject AND m.generation = s.generation`

// ListMemories implements memory.Store.
func (s *Store) ListMemories(ctx context.Context, workspaceID string, f *memory.RowFilter) ([]*memory.Row, error) {
	c := listed(workspaceID, f)
	order := ` ORDER BY m.at DESC, m.id DESC LIMIT `
	if f.Rising {
		order = ` ORDER BY m.at, m.id LIMIT `
	}
	query := `SELECT ` + memoryColumns + ` FROM memory m WHERE ` + c.String() + ` AND ` + living + order + c.arg(f.Limit)
	list, err := s.memories(ctx, query, c.args...)
	if err != nil {
		return nil, fmt.Errorf("list memories: %w", err)
	}
	return list, nil
}

// listed are the conditions of a list. It is walked along one index: that of the session, the subject, the agent or the
// workspace, whichever of them comes first.
func listed(workspaceID string, f *memory.RowFilter) *conditions {
	c := &conditions{}
	walked := false
	for _, of := range []struct {
		column string
		hash   memory.Hash
	}{{`m.session`, f.Session}, {`m.subject`, f.Subject}, {`m.subject`, f.Reach.Subject}, {`m.agent`, f.Agent}, {`m.agent`, f.Reach.Agent}} {
		switch {
		case of.hash == (memory.Hash{}):
		case walked:
			c.where(beside(of.column)+` = ?`, hashValue(of.hash))
		default:
			c.where(of.column+` = ?`, hashValue(of.hash))
			walked = true
		}
	}
	if walked {
		c.where(`m.workspace_id || '' = ?`, workspaceID)
	} else {
		c.where(`m.workspace_id = ?`, workspaceID)
	}
	c.where(notExpired+`?`, micros(f.Now))
	if len(f.Kinds) > 0 {
		kinds := make([]string, len(f.Kinds))
		for i, kind := range f.Kinds {
			kinds[i] = c.arg(string(kind))
		}
		c.where(`m.kind IN (` + strings.Join(kinds, ", ") + `)`)
	}
	if f.From != nil {
		c.where(`m.at >= ?`, micros(*f.From))
	}
	if f.To != nil {
		c.where(`m.at < ?`, micros(*f.To))
	}
	if b := f.Beyond; b != nil && f.Rising {
		c.where(`(m.at, m.id) > (?, ?)`, micros(b.At), b.ID)
	} else if b != nil {
		c.where(`(m.at, m.id) < (?, ?)`, micros(b.At), b.ID)
	}
	return c
}

// MemoriesAlike implements memory.Store.
func (s *Store) MemoriesAlike(ctx context.Context, workspaceID string, wanted []memory.Alike, limit int, now time.Time) ([]*memory.Row, error) {
	var keyed, same []memory.Alike
	for _, w := range wanted {
		if w.Key != (memory.Hash{}) {
			keyed = append(keyed, w)
		} else {
			same = append(same, w)
		}
	}
	list, err := s.alike(ctx, workspaceID, keyed, 1, now, memoryByKey, memoriesByKeys, func(w memory.Alike) []byte { return w.Key[:] })
	if err != nil {
		return nil, err
	}
	more, err := s.alike(ctx, workspaceID, same, limit, now, memoryAlike, memoriesAlike, func(w memory.Alike) []byte { return w.Same[:] })
	return append(list, more...), err
}

const (
	memoryByKey = `SELECT ` + memoryColumns + ` FROM memory m
		WHERE ` + ofWorkspace + ` AND m.subject = $2 AND m.generation = $3 AND m.key_hash = $4
			AND ` + notExpired + `$5 AND ` + living + ` LIMIT `
	memoryAlike = `SELECT ` + memoryColumns + ` FROM memory m
		WHERE ` + ofWorkspace + ` AND m.subject = $2 AND m.generation = $3 AND m.same_hash = $4
			AND ` + notExpired + `$5 AND ` + living + ` ORDER BY m.created_at, m.id LIMIT `
	// For an engine that is a way away.
	memoriesByKeys = `SELECT ` + memoryColumns + ` FROM unnest($2::bytea[], $3::bigint[], $4::bytea[]) AS wanted(subject, generation, hash)
		CROSS JOIN LATERAL (SELECT * FROM memory WHERE memory.subject = wanted.subject AND memory.key_hash = wanted.hash
			AND memory.generation = wanted.generation AND coalesce(memory.expires_at, 9223372036854775807) > $5 LIMIT $6) m
		WHERE ` + ofWorkspace + ` AND ` + living
	memoriesAlike = `SELECT ` + memoryColumns + ` FROM unnest($2::bytea[], $3::bigint[], $4::bytea[]) AS wanted(subject, generation, hash)
		CROSS JOIN LATERAL (SELECT * FROM memory WHERE memory.subject = wanted.subject AND memory.same_hash = wanted.hash
			AND memory.generation = wanted.generation AND coalesce(memory.expires_at, 9223372036854775807) > $5
			ORDER BY memory.created_at, memory.id LIMIT $6) m
		WHERE ` + ofWorkspace + ` AND ` + living
)

func (s *Store) alike(ctx context.Context, workspaceID string, wanted []memory.Alike, limit int, now time.Time, one, many string, hash func(memory.Alike) []byte) ([]*memory.Row, error) {
	var list []*memory.Row
	if s.shared && len(wanted) > 1 {
		subjects, hashes := make([][]byte, len(wanted)), make([][]byte, len(wanted))
		generations := make([]int64, len(wanted))
		for i, w := range wanted {
			subjects[i], generations[i], hashes[i] = w.Subject[:], w.Generation, hash(w)
		}
		list, err := s.memories(ctx, many, workspaceID, subjects, generations, hashes, micros(now), limit)
		if err != nil {
			return nil, fmt.Errorf("look memories up: %w", err)
		}
		return list, nil
	}
	one += strconv.Itoa(limit) // as a parameter it would have SQLite plan the statement anew each time
	for _, w := range wanted {
		found, err := s.memories(ctx, one, workspaceID, w.Subject[:], w.Generation, hash(w), micros(now))
		if err != nil {
			return nil, fmt.Errorf("look a memory up: %w", err)
		}
		list = append(list, found...)
	}
	return list, nil
}

// MemoryRevisions implements memory.Store.
func (s *Store) MemoryRevisions(ctx context.Context, workspaceID string, ids []string, before int64, limit int) ([]*memory.Row, error) {
	var list []*memory.Row
	for len(ids) > 0 {
		n := min(len(ids), idsAtOnce)
		var c conditions
		c.where(`m.workspace_id = ?`, workspaceID)
		if len(ids) == 1 {
			c.where(`m.memory_id = ?`, ids[0])
		} else {
			c.args = filled(workspaceID, ids[:n])
			c.all = append(c.all, `m.memory_id IN (`+parameters(2, idsAtOnce)+`)`)
		}
		if before > 0 {
			c.where(`m.revision < ?`, before)
		}
		query := `SELECT m.memory_id, m.subject, m.generation, m.revision, m.sealed,
				(SELECT k.key FROM memory c JOIN erasable_key k ON k.slot = c.key_slot WHERE c.workspace_id = m.workspace_id AND c.id = m.memory_id)
			FROM memory_revision m
			WHERE ` + c.String() + ` AND ` + living + ` ORDER BY m.memory_id, m.revision DESC`
		if limit > 0 {
			query += ` LIMIT ` + c.arg(limit)
		}
		found, err := s.memoryRevisions(ctx, query, c.args...)
		if err != nil {
			return nil, fmt.Errorf("read revisions: %w", err)
		}
		list = append(list, found...)
		ids = ids[n:]
	}
	return list, nil
}

func (s *Store) memoryRevisions(ctx context.Context, query string, args ...any) ([]*memory.Row, error) {
	rows, err := s.main.In(ctx).Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []*memory.Row
	for rows.Next() {
		r, subject := &memory.Row{}, []byte(nil)
		if err := rows.Scan(&r.ID, &subject, &r.Generation, &r.Revision, &r.Sealed, &r.Own); err != nil {
			return nil, err
		}
		r.Subject = hashOf(subject)
		list = append(list, r)
	}
	return list, rows.Err()
}

// memoryChanges asks once whether the generation lives, not for each row.
const memoryChanges = `SELECT ` + memoryColumns + ` FROM memory m
	WHERE ` + ofWorkspace + ` AND m.subject = $2 AND m.change > $3 AND m.generation = $4
		AND EXISTS (SELECT 1 FROM memory_subject s WHERE s.workspace_id = $1 AND s.subject = $2 AND s.generation = $4)`

// MemoryChanges implements memory.Store.
func (s *Store) MemoryChanges(ctx context.Context, workspaceID string, subject memory.Hash, generation, after int64) (list []*memory.Row, erased []string, err error) {
	text := memoryChanges
	if !s.shared {
		text += ` ORDER BY m.change` // the index has them in order; a server that fetches ten thousand sorts them on its disk
	}
	list, err = s.memories(ctx, text, workspaceID, subject[:], after, generation)
	if err != nil {
		return nil, nil, fmt.Errorf("list changes: %w", err)
	}
	if s.shared {
		slices.SortFunc(list, func(a, b *memory.Row) int { return cmp.Compare(a.Change, b.Change) })
	}
	if after == 0 {
		return list, nil, nil // who begins has nothing that could be gone
	}
	erased, err = s.names(ctx, `SELECT m.memory_id FROM memory_tombstone m
		WHERE `+ofWorkspace+` AND m.subject = $2 AND m.change > $3 ORDER BY m.change`, workspaceID, subject[:], after)
	if err != nil {
		return nil, nil, fmt.Errorf("list erased memories: %w", err)
	}
	return list, erased, nil
}

// names reads one column of texts.
func (s *Store) names(ctx context.Context, query string, args ...any) ([]string, error) {
	rows, err := s.main.In(ctx).Query(ctx, query, args...)
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
