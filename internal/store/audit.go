package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/netip"

	"keepsake/internal/audit"
	"keepsake/internal/unit"
)

// AuditHead implements audit.Store.
func (s *Store) AuditHead(ctx context.Context, chain string) (audit.Head, error) {
	const query = `SELECT sequence, hash FROM audit_chain WHERE name = $1`
	head := audit.Head{Chain: chain}
	var hash []byte
	err := s.main.HoldRow(ctx, query, chain).Scan(&head.Sequence, &hash)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return head, fmt.Errorf("read audit chain %s: %w", chain, err)
	}
	copy(head.Hash[:], hash)
	return head, nil
}

// AuditHeads implements audit.Store.
func (s *Store) AuditHeads(ctx context.Context) ([]audit.Head, error) {
	rows, err := s.main.In(ctx).Query(ctx, `SELECT name, sequence, hash FROM audit_chain ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("list the heads of audit chains: %w", err)
	}
	defer rows.Close()
	var list []audit.Head
	for rows.Next() {
		var head audit.Head
		var hash []byte
		if err := rows.Scan(&head.Chain, &head.Sequence, &hash); err != nil {
			return nil, fmt.Errorf("read the head of an audit chain: %w", err)
		}
		copy(head.Hash[:], hash)
		list = append(list, head)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list the heads of audit chains: %w", err)
	}
	return list, nil
}

// AuditChains implements audit.Store.
func (s *Store) AuditChains(ctx context.Context) ([]string, error) {
	rows, err := s.main.In(ctx).Query(ctx, `SELECT name FROM audit_chain UNION SELECT chain FROM audit_log ORDER BY 1`)
	if err != nil {
		return nil, fmt.Errorf("list audit chains: %w", err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("read audit chain: %w", err)
		}
		list = append(list, name)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list audit chains: %w", err)
	}
	return list, nil
}

const auditColumns = `chain, sequence, id, at, workspace_id, actor, action, target, outcome, count, details, address,
	request_id, previous_hash, hash`

// AppendAuditRows implements audit.Store.
func (s *Store) AppendAuditRows(ctx context.Context, rows []*audit.Row) error {
	if s.shared {
		return s.appendAuditRowsAtOnce(ctx, rows)
	}
	return s.main.Run(ctx, func(ctx context.Context) error {
		first, last := rows[0], rows[len(rows)-1]
		n, err := s.main.In(ctx).Exec(ctx, `
			INSERT INTO audit_chain (name, sequence, hash) VALUES ($1, $2, $3)
			ON CONFLICT (name) DO UPDATE SET sequence = excluded.sequence, hash = excluded.hash
			WHERE audit_chain.sequence = $4`, last.Chain, last.Sequence, last.Hash[:], first.Sequence-1)
		if err != nil {
			return fmt.Errorf("move the head of audit chain %s: %w", last.Chain, err)
		}
		if n == 0 {
			return otherAuditRows(last.Chain)
		}
		err = insertAuditRows.each(s.shared, len(rows), func(i int, values []any) []any {
			r := rows[i]
			return append(values, r.Chain, r.Sequence, r.ID, micros(r.At), r.WorkspaceID, r.Actor, string(r.Action), r.Target,
				string(r.Outcome), r.Count, r.Details, addressText(r.Address), r.RequestID, r.Previous[:], r.Hash[:])
		}, func(text string, values []any) error {
			_, err := s.main.In(ctx).Exec(ctx, text, values...)
			return err
		})
		if err != nil {
			return fmt.Errorf("add audit rows: %w", err)
		}
		return nil
	})
}

// otherAuditRows is for the first rows of a chain, which are the only ones that nothing was held for.
func otherAuditRows(chain string) error {
	return &unit.StaleError{Problem: fmt.Errorf("audit chain %s has other rows already", chain)}
}

func addressText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

const appendAuditRows = `
	WITH moved AS (
		INSERT INTO audit_chain (name, sequence, hash) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET sequence = excluded.sequence, hash = excluded.hash WHERE audit_chain.sequence = $4
		RETURNING name
	)
	INSERT INTO audit_log (` + auditColumns + `)
	SELECT moved.name, r.* FROM moved CROSS JOIN unnest($5::bigint[], $6::text[], $7::bigint[], $8::text[], $9::text[], $10::text[],
		$11::text[], $12::text[], $13::bigint[], $14::text[], $15::text[], $16::text[], $17::bytea[], $18::bytea[]) AS r`

// appendAuditRowsAtOnce is for an engine that is a way away: one statement, which every unit waits for that is logged.
func (s *Store) appendAuditRowsAtOnce(ctx context.Context, rows []*audit.Row) error {
	last := rows[len(rows)-1]
	var (
		sequences, times, counts                  []int64
		ids, workspaces, actors, actions, targets []string
		outcomes, details, addresses, requests    []string
		previous, hashes                          [][]byte
	)
	for _, r := range rows {
		sequences, times, counts = append(sequences, r.Sequence), append(times, micros(r.At)), append(counts, r.Count)
		ids, workspaces, actors = append(ids, r.ID), append(workspaces, r.WorkspaceID), append(actors, r.Actor)
		actions, targets = append(actions, string(r.Action)), append(targets, r.Target)
		outcomes, details = append(outcomes, string(r.Outcome)), append(details, r.Details)
		addresses, requests = append(addresses, addressText(r.Address)), append(requests, r.RequestID)
		previous, hashes = append(previous, r.Previous[:]), append(hashes, r.Hash[:])
	}
	n, err := s.main.Once(ctx, appendAuditRows, last.Chain, last.Sequence, last.Hash[:], rows[0].Sequence-1,
		sequences, ids, times, workspaces, actors, actions, targets, outcomes, counts, details, addresses, requests, previous, hashes)
	if err != nil {
		return fmt.Errorf("add rows to audit chain %s: %w", last.Chain, err)
	}
	if n == 0 {
		return otherAuditRows(last.Chain)
	}
	return nil
}

var insertAuditRows = &bulk{insert: `INSERT INTO audit_log (` + auditColumns + `) VALUES`, columns: 15}

// administrative is the condition of the index by action, word for word: what says it is found among millions of rows
// about memories.
const administrative = `action NOT LIKE 'memory.%'`

// auditConditions are those of what a filter names. An index that leaves out empty values is used only by whoever says
// that there are none.
func auditConditions(f *audit.Filter) *conditions {
	c := &conditions{}
	if f.Target != "" {
		c.where("target = ? AND target <> ''", f.Target)
	}
	if f.Action != "" {
		c.where("action = ?", string(f.Action))
		if !f.Action.Frequent() {
			c.all = append(c.all, administrative)
		}
	}
	if f.Actor != "" {
		c.where("actor = ?", f.Actor)
		if f.Target == "" && (f.Action == "" || f.Action.Frequent()) { // else there are fewer rows by those
			c.all = append(c.all, "actor <> ''")
		}
	}
	if f.WorkspaceID != "" {
		c.where("workspace_id = ?", f.WorkspaceID)
	}
	return c
}

// ListAuditRows implements audit.Store.
func (s *Store) ListAuditRows(ctx context.Context, f audit.Filter) ([]*audit.Row, error) {
	c := auditConditions(&f)
	if !f.From.IsZero() {
		c.where("at >= ? AND id >= ?", micros(f.From), audit.FirstID(f.From))
	}
	if !f.To.IsZero() {
		c.where("at < ? AND id < ?", micros(f.To), audit.FirstID(f.To))
	}
	if f.Before != "" {
		c.where("id < ?", f.Before)
	}
	where := ""
	if len(c.all) > 0 {
		where = " WHERE " + c.String()
	}
	limit := c.arg(f.Limit)
	return s.auditRows(ctx, `SELECT `+auditColumns+` FROM audit_log`+where+` ORDER BY id DESC LIMIT `+limit, c.args...)
}

// AuditRowsAfter implements audit.Store.
func (s *Store) AuditRowsAfter(ctx context.Context, chain string, sequence int64, limit int) ([]*audit.Row, error) {
	return s.auditRows(ctx, `
		SELECT `+auditColumns+` FROM audit_log WHERE chain = $1 AND sequence > $2 ORDER BY sequence LIMIT $3`,
		chain, sequence, limit)
}

// AuditRecords implements audit.Store.
func (s *Store) AuditRecords(ctx context.Context) (map[string][]byte, error) {
	rows, err := s.keys.In(ctx).Query(ctx, `SELECT chain, sealed FROM audit_record`)
	if err != nil {
		return nil, fmt.Errorf("list audit records: %w", err)
	}
	defer rows.Close()
	list := map[string][]byte{}
	for rows.Next() {
		var chain string
		var sealed []byte
		if err := rows.Scan(&chain, &sealed); err != nil {
			return nil, fmt.Errorf("read audit record: %w", err)
		}
		list[chain] = sealed
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list audit records: %w", err)
	}
	return list, nil
}

// SaveAuditRecord implements audit.Store.
func (s *Store) SaveAuditRecord(ctx context.Context, chain string, sealed []byte) error {
	err := s.keys.Run(ctx, func(ctx context.Context) error {
		_, err := s.keys.In(ctx).Exec(ctx, `
			INSERT INTO audit_record (chain, sealed) VALUES ($1, $2) ON CONFLICT (chain) DO UPDATE SET sealed = excluded.sealed`,
			chain, sealed)
		return err
	})
	if err != nil {
		return fmt.Errorf("save audit record of chain %s: %w", chain, err)
	}
	return nil
}

func (s *Store) auditRows(ctx context.Context, query string, args ...any) ([]*audit.Row, error) {
	rows, err := s.main.In(ctx).Query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list audit rows: %w", err)
	}
	defer rows.Close()
	var list []*audit.Row
	for rows.Next() {
		r, err := scanAuditRow(rows)
		if err != nil {
			return nil, fmt.Errorf("read audit row: %w", err)
		}
		list = append(list, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list audit rows: %w", err)
	}
	return list, nil
}

func scanAuditRow(row Row) (*audit.Row, error) {
	var r audit.Row
	var at int64
	var address string
	var previous, hash []byte
	if err := row.Scan(&r.Chain, &r.Sequence, &r.ID, &at, &r.WorkspaceID, &r.Actor, &r.Action, &r.Target, &r.Outcome,
		&r.Count, &r.Details, &address, &r.RequestID, &previous, &hash); err != nil {
		return nil, err
	}
	r.At = timeOf(at)
	// An address that somebody has made unreadable is as good as none: the hash tells.
	r.Address, _ = netip.ParseAddr(address)
	copy(r.Previous[:], previous)
	copy(r.Hash[:], hash)
	return &r, nil
}
