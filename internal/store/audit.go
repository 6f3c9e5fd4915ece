package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"keepsake/internal/base/unit"
	"keepsake/internal/govern/audit"
)

// Audit stores the audit log.
type Audit struct {
	main  *DB
	keys  *DB // of the records of chains
	names auditNames
}

// AuditHead implements audit.Store.
func (s *Audit) AuditHead(ctx context.Context, chain string) (audit.Head, error) {
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
func (s *Audit) AuditHeads(ctx context.Context) ([]audit.Head, error) {
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
func (s *Audit) AuditChains(ctx context.Context) ([]string, error) {
	rows, err := s.main.In(ctx).Query(ctx, `
		SELECT name FROM audit_chain UNION SELECT chain FROM audit_log
		UNION SELECT n.name FROM audit_name n WHERE EXISTS (
			SELECT 1 FROM audit_read r WHERE r.place > n.number * 1099511627776 AND r.place < (n.number + 1) * 1099511627776)
		ORDER BY 1`)
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

// AuditColumns are the columns of audit_log.
const AuditColumns = `chain, sequence, id, at, workspace_id, actor, action, target, outcome, count, details, address,
	request_id, previous_hash, hash`

// AppendAuditRows implements audit.Store.
func (s *Audit) AppendAuditRows(ctx context.Context, rows []*audit.Row) error {
	last := rows[len(rows)-1]
	a := &AuditAppend{Chain: last.Chain, After: rows[0].Sequence - 1, Last: last.Sequence, Hash: last.Hash[:]}
	for _, r := range rows {
		if !r.Packed {
			a.Changes = append(a.Changes, []any{
				r.Chain, r.Sequence, r.ID, Micros(r.At), r.WorkspaceID, r.Actor, string(r.Action), r.Target,
				string(r.Outcome), r.Count, r.Details, addressText(r.Address), r.RequestID, r.Previous[:], r.Hash[:],
			})
			continue
		}
		p, err := s.packAuditRow(ctx, r)
		if err != nil {
			return err
		}
		a.Reads = append(a.Reads, []any{p.place, p.at, p.workspace, p.actor, p.target, p.body, p.hash})
	}
	moved, ok, err := s.main.Dialect.AppendAudit(ctx, s.main, a)
	if !ok {
		moved, err = s.appendAudit(ctx, a)
	}
	if err != nil {
		return fmt.Errorf("add rows to audit chain %s: %w", a.Chain, err)
	}
	if !moved {
		return &unit.StaleError{Problem: fmt.Errorf("audit chain %s has other rows already", a.Chain)}
	}
	return nil
}

// appendAudit appends rows in a transaction.
func (s *Audit) appendAudit(ctx context.Context, a *AuditAppend) (moved bool, err error) {
	err = s.main.Run(ctx, func(ctx context.Context) error {
		n, err := s.main.In(ctx).Exec(ctx, `
			INSERT INTO audit_chain (name, sequence, hash) VALUES ($1, $2, $3)
			ON CONFLICT (name) DO UPDATE SET sequence = excluded.sequence, hash = excluded.hash
			WHERE audit_chain.sequence = $4`, a.Chain, a.Last, a.Hash, a.After)
		if moved = n > 0; err != nil || !moved {
			return err
		}
		_, err = s.main.Insert(ctx, insertAuditRows, len(a.Changes), func(i int, values []any) []any { return append(values, a.Changes[i]...) })
		if err != nil {
			return err
		}
		_, err = s.main.Insert(ctx, insertAuditReads, len(a.Reads), func(i int, values []any) []any { return append(values, a.Reads[i]...) })
		return err
	})
	return moved, err
}

var (
	insertAuditRows  = &Bulk{Into: `audit_log (` + AuditColumns + `)`, Columns: 15}
	insertAuditReads = &Bulk{Into: `audit_read (` + AuditReadColumns + `)`, Columns: 7}
)

func addressText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// administrative repeats the condition of the index by action word for word, so that the engine uses the index.
const administrative = `action NOT LIKE 'memory.%'`

// auditConditions are the conditions of a filter. Some indexes omit empty values; the engine uses them only if a condition
// excludes empty values, too.
func auditConditions(f *audit.Filter) *Conditions {
	c := &Conditions{}
	if f.Target != "" {
		c.Where("target = ? AND target <> ''", f.Target)
	}
	if f.Action != "" {
		c.Where("action = ?", string(f.Action))
		if !f.Action.Frequent() {
			c.all = append(c.all, administrative)
		}
	}
	if f.Actor != "" {
		c.Where("actor = ?", f.Actor)
		if f.Target == "" && (f.Action == "" || f.Action.Frequent()) { // else another index finds fewer rows
			c.all = append(c.all, "actor <> ''")
		}
	}
	if f.WorkspaceID != "" {
		c.Where("workspace_id = ?", f.WorkspaceID)
	}
	return c
}

// ListAuditRows implements audit.Store.
func (s *Audit) ListAuditRows(ctx context.Context, f audit.Filter) ([]*audit.Row, error) {
	// Reads come first, because they can be removed between the two statements: their removal is then in the rows of changes.
	var reads []*audit.Row
	if !f.Changes && (f.Action == "" || f.Action.IsRead()) {
		var err error
		if reads, err = s.listAuditReads(ctx, &f); err != nil {
			return nil, err
		}
	}
	rows, err := s.listAuditLog(ctx, &f)
	if err != nil || len(reads) == 0 {
		return rows, err
	}
	rows = append(rows, reads...)
	slices.SortFunc(rows, func(a, b *audit.Row) int { return strings.Compare(b.ID, a.ID) })
	return rows[:min(len(rows), f.Limit)], nil
}

// listAuditLog reads rows of audit_log, which are those of changes, newest first.
func (s *Audit) listAuditLog(ctx context.Context, f *audit.Filter) ([]*audit.Row, error) {
	c := auditConditions(f)
	if !f.From.IsZero() {
		c.Where("at >= ? AND id >= ?", Micros(f.From), audit.FirstID(f.From))
	}
	if !f.To.IsZero() {
		c.Where("at < ? AND id < ?", Micros(f.To), audit.FirstID(f.To))
	}
	if f.Before != "" {
		c.Where("id < ?", f.Before)
	}
	limit := c.Arg(f.Limit)
	return s.auditRows(ctx, `SELECT `+AuditColumns+`, 0 FROM audit_log`+c.Clause()+` ORDER BY id DESC LIMIT `+limit, c.Args...)
}

// AuditRowsAfter implements audit.Store. It is one statement, so that it reads one snapshot: between two, rows could be added,
// and a row would seem to be missing.
func (s *Audit) AuditRowsAfter(ctx context.Context, chain string, sequence int64, limit int) ([]*audit.Row, error) {
	return s.auditRows(ctx, `
		SELECT * FROM (SELECT `+AuditColumns+`, 0 FROM audit_log WHERE chain = $1 AND sequence > $2 ORDER BY sequence LIMIT $3) c
		UNION ALL
		SELECT CAST($1 AS TEXT), r.place % 1099511627776, '', r.at, coalesce(w.name, ''), coalesce(a.name, ''), '', '', '', r.target, '', '',
			'', r.body, r.hash, 1
		FROM (
			SELECT `+AuditReadColumns+` FROM audit_read
			WHERE place > (SELECT number * 1099511627776 FROM audit_name WHERE name = $1) + $2
				AND place < (SELECT (number + 1) * 1099511627776 FROM audit_name WHERE name = $1)
			ORDER BY place LIMIT $3
		) r LEFT JOIN audit_name w ON w.number = r.workspace LEFT JOIN audit_name a ON a.number = r.actor
		ORDER BY 2 LIMIT $3`, chain, sequence, limit)
}

// RemoveAuditReads implements audit.Store.
func (s *Audit) RemoveAuditReads(ctx context.Context, chain string, first, last int64) error {
	err := s.main.Run(ctx, func(ctx context.Context) error {
		_, err := s.main.In(ctx).Exec(ctx, `
			DELETE FROM audit_read WHERE place BETWEEN (SELECT number * 1099511627776 FROM audit_name WHERE name = $1) + $2
				AND (SELECT number * 1099511627776 FROM audit_name WHERE name = $1) + $3`, chain, first, last)
		return err
	})
	if err != nil {
		return fmt.Errorf("remove reads from audit chain %s: %w", chain, err)
	}
	return nil
}

// AuditRecords implements audit.Store.
func (s *Audit) AuditRecords(ctx context.Context) (map[string][]byte, error) {
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
func (s *Audit) SaveAuditRecord(ctx context.Context, chain string, sealed []byte) error {
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

func (s *Audit) auditRows(ctx context.Context, query string, args ...any) ([]*audit.Row, error) {
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
	var at, packed int64
	var address string
	var previous, hash []byte
	if err := row.Scan(&r.Chain, &r.Sequence, &r.ID, &at, &r.WorkspaceID, &r.Actor, &r.Action, &r.Target, &r.Outcome,
		&r.Count, &r.Details, &address, &r.RequestID, &previous, &hash, &packed); err != nil {
		return nil, err
	}
	if packed == 1 { // two columns have another meaning
		r.Packed = true
		p := packedRow{at: at, target: r.Count, body: previous, hash: hash}
		p.unpack(&r)
		return &r, nil
	}
	r.At = TimeOf(at)
	// An unreadable address is left empty: the hash will not match.
	r.Address, _ = netip.ParseAddr(address)
	copy(r.Previous[:], previous)
	copy(r.Hash[:], hash)
	return &r, nil
}
