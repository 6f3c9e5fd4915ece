package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"keepsake/internal/base/unit"
	"keepsake/internal/govern/audit"
	"keepsake/internal/store/auditpack"
)

// Reads of memories make up most of the audit log, so they are packed: repeated names are numbers, IDs are bytes, and what no
// statement filters by is one column (see auditpack.Pack).

// chainSize is how many sequence numbers a chain can have. The place of a packed row is the number of its chain times chainSize,
// plus its sequence number.
const chainSize = 1 << 40

// auditNames caches the numbers of names.
type auditNames struct {
	mu      sync.RWMutex
	numbers map[string]int64
}

// maxAuditNames is how many numbers are cached. A full cache is emptied.
const maxAuditNames = 1 << 16

func (n *auditNames) get(name string) (number int64, ok bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	number, ok = n.numbers[name]
	return number, ok
}

func (n *auditNames) put(name string, number int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.numbers == nil || len(n.numbers) >= maxAuditNames {
		n.numbers = map[string]int64{}
	}
	n.numbers[name] = number
}

// auditNumber returns the number of a name. It adds names that have none.
func (s *Audit) auditNumber(ctx context.Context, name string) (number int64, err error) {
	if number, ok := s.names.get(name); ok {
		return number, nil
	}
	err = s.main.Run(ctx, func(ctx context.Context) error {
		for {
			const query = `SELECT number FROM audit_name WHERE name = $1`
			err := s.main.In(ctx).QueryRow(ctx, query, name).Scan(&number)
			if err == nil {
				unit.AfterCommit(ctx, func() { s.names.put(name, number) })
			}
			if !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			// If another process takes the number or adds the name first, nothing is inserted, and the next SELECT decides.
			_, err = s.main.In(ctx).Exec(ctx, `
				INSERT INTO audit_name (number, name) SELECT coalesce(max(number), -1) + 1, CAST($1 AS TEXT) FROM audit_name WHERE true
				ON CONFLICT DO NOTHING`, name)
			if err != nil {
				return err
			}
		}
	})
	if err != nil {
		return 0, fmt.Errorf("number a name of the audit log: %w", err)
	}
	return number, nil
}

// packedRow is a packed row as it is stored.
type packedRow struct {
	place, at, workspace, actor, target int64
	body, hash                          []byte
}

// packedHash is how many bytes of the hash of a packed row are stored; the others are zero.
const packedHash = 16

// packAuditRow encodes a read.
func (s *Audit) packAuditRow(ctx context.Context, r *audit.Row) (p packedRow, err error) {
	key, _ := auditpack.TargetKey(r.Target)
	p = packedRow{at: r.At.UnixMilli(), target: auditpack.TargetColumn(key), body: auditpack.Pack(r), hash: r.Hash[:packedHash]}
	for _, n := range []struct {
		name   string
		number *int64
	}{{r.Chain, &p.place}, {r.WorkspaceID, &p.workspace}, {r.Actor, &p.actor}} {
		if *n.number, err = s.auditNumber(ctx, n.name); err != nil {
			return p, err
		}
	}
	p.place = p.place*chainSize + r.Sequence
	return p, nil
}

// AuditReadColumns are the columns of audit_read.
const AuditReadColumns = `place, at, workspace, actor, target, body, hash`

// listAuditReads reads packed rows newest first.
func (s *Audit) listAuditReads(ctx context.Context, f *audit.Filter) ([]*audit.Row, error) {
	const numberOf = `(SELECT number FROM audit_name WHERE name = ?)`
	c := &Conditions{}
	if f.Target != "" {
		key, _ := auditpack.TargetKey(f.Target)
		c.Where("target = ? AND substr(body, 1, 12) = ?", auditpack.TargetColumn(key), key[4:])
	}
	if f.Actor != "" {
		c.Where("actor = "+numberOf, f.Actor)
	}
	if f.WorkspaceID != "" {
		c.Where("workspace = "+numberOf, f.WorkspaceID)
	}
	if f.Action != "" {
		c.Where("substr(body, 13, 1) = ?", []byte{auditpack.ActionByte(f.Action)})
	}
	from := int64(math.MinInt64) // without a bound, a planner can sort all rows instead of using the index by time
	if !f.From.IsZero() {
		from = f.From.UnixMilli()
	}
	c.Where("at >= ?", from)
	if !f.To.IsZero() {
		c.Where("at < ?", f.To.UnixMilli())
	}
	if f.Before != "" {
		at, sequence, hash, ok := audit.IDPosition(f.Before)
		if !ok {
			return nil, nil
		}
		c.Where("at <= ? AND (at, place & 4095, hash) < (?, ?, ?)", at.UnixMilli(), at.UnixMilli(), sequence, hash)
	}
	where := c.String()
	limit := c.Arg(f.Limit)
	rows, err := s.main.In(ctx).Query(ctx, `
		SELECT c.name, r.place, r.at, coalesce(w.name, ''), coalesce(a.name, ''), r.target, r.body, r.hash, coalesce(p.hash, l.hash)
		FROM (SELECT `+AuditReadColumns+` FROM audit_read WHERE `+where+` ORDER BY at DESC, place & 4095 DESC, hash DESC LIMIT `+limit+`) r
			LEFT JOIN audit_name c ON c.number = r.place / 1099511627776
			LEFT JOIN audit_name w ON w.number = r.workspace
			LEFT JOIN audit_name a ON a.number = r.actor
			LEFT JOIN audit_read p ON p.place = r.place - 1
			LEFT JOIN audit_log l ON l.chain = c.name AND l.sequence = r.place % 1099511627776 - 1`, c.Args...)
	if err != nil {
		return nil, fmt.Errorf("list reads in the audit log: %w", err)
	}
	defer rows.Close()
	var list []*audit.Row
	for rows.Next() {
		var p packedRow
		var previous []byte
		var chain sql.NullString
		r := &audit.Row{Packed: true}
		if err := rows.Scan(&chain, &p.place, &p.at, &r.WorkspaceID, &r.Actor, &p.target, &p.body, &p.hash, &previous); err != nil {
			return nil, fmt.Errorf("read a read in the audit log: %w", err)
		}
		r.Chain, r.Sequence = chain.String, p.place%chainSize
		p.unpack(r)
		copy(r.Previous[:], previous)
		list = append(list, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list reads in the audit log: %w", err)
	}
	return list, nil
}

// unpack sets the fields of r that follow from at, target, body and hash.
func (p *packedRow) unpack(r *audit.Row) {
	r.At = time.UnixMilli(p.at).UTC()
	auditpack.Unpack(r, p.target, p.body)
	copy(r.Hash[:], p.hash)
	r.SetID()
}
