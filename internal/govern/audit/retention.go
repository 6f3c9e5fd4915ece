package audit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"log/slog"
	"slices"
	"strconv"
	"time"
)

// ReadsRemoved is the action of a row that records a removal of old reads. Its target is their chain.
//
// A removal is recorded before any row goes. The record, chained and keyed like every row, names a stretch of the chain, how
// many reads are in it, a digest of the rows that stay, and the hashes at both sides. Then the reads go in small steps, the
// last ones first. So wherever a removal is interrupted, the reads that are left follow the row before them, and the record
// stands for the rest of the stretch. A read that is missing anywhere else was not removed by this package.
const ReadsRemoved Action = "audit.reads_removed"

const (
	maxStretch    = 100_000   // rows of one removal
	removedAtOnce = 512       // sequence numbers of one transaction
	removeEvery   = time.Hour // how often Run looks for old reads
	day           = 24 * time.Hour
)

// removal is a stretch of a chain whose reads were removed.
type removal struct {
	Reads    int64 `json:"-"`
	First    int64 `json:"first,string"` // sequence number of a read
	Last     int64 `json:"last,string"`
	Kept     int64 `json:"kept,string"` // how many rows stay
	Digest   Hash  `json:"digest"`      // of the rows that stay
	Previous Hash  `json:"previous"`    // hash of the row before First
	Hash     Hash  `json:"hash"`        // hash of Last
}

func (m *removal) has(sequence int64) bool { return m.First <= sequence && sequence <= m.Last }

func (m *removal) entry(chain string) Entry {
	decimal := func(n int64) string { return strconv.FormatInt(n, 10) }
	return Entry{Action: ReadsRemoved, Target: chain, Count: m.Reads, Details: map[string]string{
		"first": decimal(m.First), "last": decimal(m.Last), "kept": decimal(m.Kept), "digest": m.Digest.String(),
		"previous": m.Previous.String(), "hash": m.Hash.String(),
	}}
}

// stays counts the rows of a stretch that are kept.
type stays struct {
	rows   int64
	digest hash.Hash // SHA-256 of their sequence numbers and hashes
}

func newStays() *stays { return &stays{digest: sha256.New()} }

func (s *stays) add(r *Row) {
	s.rows++
	number(s.digest, r.Sequence)
	s.digest.Write(r.Hash[:])
}

func (s *stays) sum() (sum Hash) {
	s.digest.Sum(sum[:0])
	return sum
}

// removals reads the removals of a chain, in its order. It ignores a row that was forged; Verify reports it in the chain of
// that row.
func (l *Log) removals(ctx context.Context, chain string) ([]*removal, error) {
	var list []*removal
	f := Filter{Action: ReadsRemoved, Target: chain, Limit: exportPage}
	for {
		rows, err := l.Store.ListAuditRows(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			m := &removal{Reads: r.Count}
			if l.sum(r) == r.Hash && json.Unmarshal([]byte(r.Details), m) == nil {
				list = append(list, m)
			}
		}
		if len(rows) < f.Limit {
			break
		}
		f.Before = rows[len(rows)-1].ID
	}
	slices.SortFunc(list, func(a, b *removal) int { return cmp.Compare(a.First, b.First) })
	return list, nil
}

// RemoveReads removes the reads of all whole days (UTC) that Options.ReadDays leaves behind. Rows of changes stay. One process
// does this at a time. A chain that does not verify is left as it is, and so is a log that contradicts its checkpoints.
func (l *Log) RemoveReads(ctx context.Context) error {
	l.mu.Lock()
	disputed := l.disputed
	l.mu.Unlock()
	if l.ReadDays == 0 || disputed {
		return nil
	}
	l.removing.Lock()
	defer l.removing.Unlock()
	alone := l.Alone
	if alone == nil {
		alone = func(ctx context.Context, fn func(ctx context.Context) error) error { return fn(ctx) }
	}
	return alone(ctx, func(ctx context.Context) error {
		heads, err := l.Store.AuditHeads(ctx)
		if err != nil {
			return err
		}
		for _, head := range heads {
			if err := l.removeReads(ctx, head.Chain); err != nil {
				return fmt.Errorf("remove old reads from audit chain %s: %w", head.Chain, err)
			}
		}
		return nil
	})
}

func (l *Log) removeReads(ctx context.Context, chain string) error {
	for {
		done, err := l.removals(ctx, chain)
		if err != nil {
			return err
		}
		if len(done) > 0 {
			if err := l.finishRemoval(ctx, chain, done[len(done)-1]); err != nil {
				return err
			}
		}
		next, err := l.nextRemoval(ctx, chain, done)
		if err != nil || next == nil {
			return err
		}
		if err := l.Record(ctx, next.entry(chain)); err != nil {
			return err
		}
		if err := l.Checkpoint(ctx); err != nil { // it covers the record before the reads are removed
			return err
		}
		l.Log.InfoContext(ctx, "removing old reads from the audit log", "chain", chain, "reads", next.Reads, "first", next.First, "last", next.Last)
	}
}

// finishRemoval removes the remaining reads of a removal, the last ones first.
func (l *Log) finishRemoval(ctx context.Context, chain string, m *removal) error {
	rows, err := l.Store.AuditRowsAfter(ctx, chain, m.First-1, 1)
	if err != nil || len(rows) == 0 || rows[0].Sequence != m.First { // the first read is removed last
		return err
	}
	for last := m.Last; last >= m.First; last -= removedAtOnce {
		if err := l.Store.RemoveAuditReads(ctx, chain, max(m.First, last-removedAtOnce+1), last); err != nil {
			return err
		}
	}
	return nil
}

// nextRemoval returns the next removal of old reads after the previous ones, or nil.
func (l *Log) nextRemoval(ctx context.Context, chain string, done []*removal) (*removal, error) {
	records, err := l.records(ctx)
	if err != nil {
		return nil, err
	}
	w := &walk{log: l, at: l.scanned[chain], record: records[chain]}
	if len(done) > 0 && done[len(done)-1].Last > w.at.Sequence {
		m := done[len(done)-1]
		w.at = Head{Sequence: m.Last, Hash: m.Hash}
	}
	w.at.Chain = chain
	now := l.Now()
	before := now.UTC().Truncate(day).AddDate(0, 0, -l.ReadDays)
	var m *removal
	kept := newStays()
	for {
		rows, err := l.Store.AuditRowsAfter(ctx, chain, w.at.Sequence, verifyPage)
		if err != nil {
			return nil, err
		}
		newer := false
		for _, r := range rows {
			// A row with a future time was written while the clock was wrong. Its neighbours show its age.
			if newer = !r.At.Before(before) && !r.At.After(now); newer {
				break
			}
			previous := w.at.Hash
			if err := w.step(r); err != nil {
				return nil, unremovable(ctx, l.Log, err)
			}
			if m == nil && r.Action.IsRead() {
				m = &removal{First: r.Sequence, Previous: previous}
			}
			switch {
			case m == nil:
			case r.Action.IsRead():
				m.Reads++
			default:
				kept.add(r)
			}
		}
		if m == nil {
			l.scanned[chain] = w.at
		}
		if newer || len(rows) < verifyPage || m != nil && m.Reads+kept.rows >= maxStretch {
			break
		}
	}
	if m != nil {
		m.Last, m.Hash, m.Kept, m.Digest = w.at.Sequence, w.at.Hash, kept.rows, kept.sum()
	}
	return m, nil
}

// unremovable logs a chain that does not verify, and returns other errors.
func unremovable(ctx context.Context, log *slog.Logger, err error) error {
	if bad, broken := errors.AsType[*Break](err); broken {
		log.ErrorContext(ctx, "old reads stay because the audit log does not verify: run keepsake audit verify",
			slog.String("chain", bad.Chain), slog.Int64("sequence", bad.Sequence), slog.String("reason", string(bad.Reason)))
		return nil
	}
	return err
}

// holds reports whether the row of a checkpoint is in the log, or was removed as a read.
func (l *Log) holds(ctx context.Context, c *Checkpoint) (bool, error) {
	rows, err := l.Store.AuditRowsAfter(ctx, c.Chain, c.Sequence-1, 1)
	if err != nil {
		return false, err
	}
	if len(rows) > 0 && rows[0].Sequence == c.Sequence {
		return rows[0].Hash == c.Hash, nil
	}
	done, err := l.removals(ctx, c.Chain)
	if err != nil {
		return false, err
	}
	for _, m := range done {
		if m.has(c.Sequence) {
			return c.Sequence < m.Last || c.Hash == m.Hash, nil
		}
	}
	return false, nil
}
