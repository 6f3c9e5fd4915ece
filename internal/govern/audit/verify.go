package audit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"keepsake/internal/base/problem"
)

// Reason is the defect of a row or a chain.
type Reason string

// The reasons.
const (
	RowChanged        Reason = "changed"           // its hash does not match its content
	RowMissing        Reason = "missing"           // rows follow it
	RowUnlinked       Reason = "unlinked"          // it does not follow the row before
	RowCutOff         Reason = "cut_off"           // it once existed, and nothing follows it
	RowRewritten      Reason = "rewritten"         // the chain is consistent, but contradicts a checkpoint
	HeadWrong         Reason = "head_wrong"        // the stored end of the chain contradicts its rows
	CheckpointForged  Reason = "checkpoint_forged" // this instance has not signed it
	CheckpointsBroken Reason = "checkpoints_unreadable"
	RecordMissing     Reason = "record_missing"      // the chain has no record, but should have one
	RecordForged      Reason = "record_forged"       // this instance has not sealed it
	CheckpointMissing Reason = "checkpoints_missing" // the folder's file lacks the last checkpoint
)

// messages describe the reasons.
var messages = map[Reason]string{
	RowChanged:        "The row was changed: its hash does not match its content.",
	RowMissing:        "The row is missing.",
	RowUnlinked:       "The row does not follow the row before it: one of the two was replaced.",
	RowCutOff:         "The row and all rows after it are missing: the end of the log was cut off, or the log was replaced by an older copy.",
	RowRewritten:      "The row is not the one that the checkpoint was signed for: this row or an earlier one was rewritten, and the rows after it were changed to match.",
	HeadWrong:         "The stored end of the chain does not match its last row.",
	CheckpointForged:  "The checkpoint of the row was not signed by this instance.",
	CheckpointsBroken: "The file of checkpoints has a line that is not a checkpoint.",
	RecordMissing:     "The sealed record of the chain is missing beside the secrets: it was deleted, or the keys were replaced by an older copy.",
	RecordForged:      "The sealed record of the chain was not sealed by this instance.",
	CheckpointMissing: "The checkpoint is no longer in audit.checkpoints: the file was deleted, cut off or replaced by an older one. Put back a copy that has it.",
}

// Message describes r.
func (r Reason) Message() string { return messages[r] }

// Break is the first bad or missing row of a chain.
type Break struct {
	Chain    string
	Sequence int64
	ID       string // empty if there is no such row
	Reason   Reason
}

// Verified is what Verify found.
type Verified struct {
	Rows        int64      // that were read
	Heads       []Head     // the last verified row of each chain
	Checkpoints int        // that were compared
	Newest      *time.Time // of the checkpoints; no checkpoint covers the rows after it
	Breaks      []*Break   // the first bad or missing row of each such chain; empty if the log is intact
}

// Break returns the first break, or nil if the log is intact.
func (v *Verified) Break() *Break {
	if len(v.Breaks) == 0 {
		return nil
	}
	return v.Breaks[0]
}

// Verify reads the whole log and compares it with the checkpoints in a file; Log.Checkpoints is the instance's own. It leaves a
// chain at its first bad row and continues with the next chain. Rows that are written meanwhile do no harm. A second Verify
// at the same time is problem.Conflict.
func (l *Log) Verify(ctx context.Context, checkpoints string) (*Verified, error) {
	if !l.verifying.TryLock() {
		return nil, problem.Conflicts("A verification of the audit log is already running. Wait until it has finished.")
	}
	defer l.verifying.Unlock()
	v := &Verified{}
	records, err := l.records(ctx) // before the file, which always contains what they say
	if err != nil {
		return nil, err
	}
	points, err := readCheckpoints(checkpoints)
	if errors.Is(err, errUnreadable) {
		v.Breaks = append(v.Breaks, &Break{Reason: CheckpointsBroken}) // the chains are verified nevertheless
	} else if err != nil {
		return nil, err
	}
	v.Checkpoints = len(points)
	byChain := map[string][]*Checkpoint{}
	forged := map[string]*Break{} // the first of each chain
	for _, c := range points {
		if !l.genuine(c) {
			if forged[c.Chain] == nil || c.Sequence < forged[c.Chain].Sequence {
				forged[c.Chain] = &Break{Chain: c.Chain, Sequence: c.Sequence, Reason: CheckpointForged}
			}
			continue
		}
		byChain[c.Chain] = append(byChain[c.Chain], c)
		if v.Newest == nil || c.At.After(*v.Newest) {
			v.Newest = &c.At
		}
	}
	chains, err := l.chains(ctx, maps.Keys(byChain), maps.Keys(forged), maps.Keys(records))
	if err != nil {
		return nil, err
	}
	for _, chain := range chains {
		_, recorded := records[chain]
		w, bad, err := l.walk(ctx, chain, records[chain], byChain[chain])
		if err != nil {
			return nil, err
		}
		v.Rows += w.rows
		v.Heads = append(v.Heads, w.at)
		if f := forged[chain]; f != nil && (bad == nil || f.Sequence < bad.Sequence) {
			bad = f
		}
		switch lost := w.lost(byChain[chain]); {
		case bad != nil:
		case recorded && w.record == nil:
			bad = &Break{Chain: chain, Sequence: w.at.Sequence, Reason: RecordForged}
		case !recorded:
			bad = &Break{Chain: chain, Sequence: w.at.Sequence, Reason: RecordMissing}
		case chain == l.Chain && checkpoints == l.Checkpoints && lost != nil:
			bad = &Break{Chain: chain, Sequence: lost.Sequence, Reason: CheckpointMissing}
		}
		if bad != nil {
			v.Breaks = append(v.Breaks, bad)
		}
	}
	return v, nil
}

// chains names the chains in the database and those known from elsewhere. If there is none, it names that of this process: a
// log that was emptied has lost it.
func (l *Log) chains(ctx context.Context, known ...iter.Seq[string]) ([]string, error) {
	chains, err := l.Store.AuditChains(ctx)
	if err != nil {
		return nil, err
	}
	for _, names := range known {
		chains = slices.AppendSeq(chains, names)
	}
	if len(chains) == 0 {
		chains = []string{l.Chain}
	}
	slices.Sort(chains)
	return slices.Compact(chains), nil
}

// same reports whether two checkpoints are of the same row.
func (c *Checkpoint) same(other *Checkpoint) bool {
	return c.Sequence == other.Sequence && c.Hash == other.Hash
}

// Error makes a Break an error, which ends a walk.
func (b *Break) Error() string {
	return fmt.Sprintf("audit: row %d of chain %s: %s", b.Sequence, b.Chain, b.Reason)
}

// sequenced sorts checkpoints by their rows.
func sequenced(points []*Checkpoint) []*Checkpoint {
	slices.SortStableFunc(points, func(a, b *Checkpoint) int { return int(min(max(a.Sequence-b.Sequence, -1), 1)) })
	return points
}

// walk verifies one chain.
type walk struct {
	log    *Log
	at     Head          // the last good row, or one that a removal accounts for
	rows   int64         // that were good
	points []*Checkpoint // of the rows to come
	record *record       // nil if there is none that opens

	removed []*removal // current and later removals
	kept    *stays     // rows in the current removal; nil outside one
	gap     int64      // its first missing read; 0 for none yet
	blind   bool       // the previous row is missing, so its hash is unknown
}

// walk verifies a chain. It starts again if reads were removed meanwhile.
func (l *Log) walk(ctx context.Context, chain string, r *record, points []*Checkpoint) (*walk, *Break, error) {
	removed, err := l.removals(ctx, chain)
	for {
		if err != nil {
			return nil, nil, err
		}
		w := &walk{log: l, at: Head{Chain: chain}, record: r, removed: removed}
		bad, err := w.verify(ctx, points)
		if err != nil || bad == nil {
			return w, bad, err
		}
		known := len(removed)
		if removed, err = l.removals(ctx, chain); err == nil && len(removed) == known {
			return w, bad, nil
		}
	}
}

// last is the checkpoint in the record.
func (w *walk) last() *Checkpoint {
	if w.record == nil {
		return nil
	}
	return w.record.Last
}

// lost is a checkpoint of the record that is not among those of a file; nil if there is none.
func (w *walk) lost(points []*Checkpoint) *Checkpoint {
	if w.record == nil {
		return nil
	}
	for _, c := range []*Checkpoint{w.record.Lost, w.record.Last} {
		if c != nil && !slices.ContainsFunc(points, c.same) {
			return c
		}
	}
	return nil
}

// verify walks the chain and returns its first bad row, if there is one.
func (w *walk) verify(ctx context.Context, points []*Checkpoint) (*Break, error) {
	if last := w.last(); last != nil {
		points = append(slices.Clone(points), last)
	}
	w.points = sequenced(points)
	err := w.run(ctx)
	if bad, broken := errors.AsType[*Break](err); broken {
		return bad, nil
	}
	return nil, err
}

// verifyPage is how many rows are read at a time: a statement that ran on would keep the write-ahead log from being
// folded into the database.
const verifyPage = 1000

func (w *walk) run(ctx context.Context) error {
	for {
		before := w.at.Sequence
		if err := w.toLast(ctx); err != nil {
			return err
		}
		// The end is read after the rows, so that a row written meanwhile does not look like one that is missing.
		head, err := w.log.Store.AuditHead(ctx, w.at.Chain)
		switch {
		case err != nil:
			return err
		case head == w.at && len(w.points) > 0:
			return w.bad(w.at.Sequence+1, "", RowCutOff)
		case head == w.at:
			return nil
		case head.Sequence > w.at.Sequence && w.at.Sequence == before:
			return w.bad(w.at.Sequence+1, "", RowCutOff)
		case head.Sequence <= w.at.Sequence:
			return w.bad(w.at.Sequence, "", HeadWrong)
		}
	}
}

// toLast walks to the last row.
func (w *walk) toLast(ctx context.Context) error {
	for {
		rows, err := w.log.Store.AuditRowsAfter(ctx, w.at.Chain, w.at.Sequence, verifyPage)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := w.step(r); err != nil {
				return err
			}
		}
		if len(rows) < verifyPage {
			return w.skip(math.MaxInt64)
		}
	}
}

func (w *walk) step(r *Row) error {
	if err := w.skip(r.Sequence); err != nil {
		return err
	}
	next := w.at.Sequence + 1
	if r.Packed {
		r.Previous = w.at.Hash
	}
	switch {
	case r.Sequence != next:
		return w.bad(next, "", RowMissing)
	case w.gap > 0 && r.Action.IsRead(): // a removal removes the last reads first
		return w.bad(w.gap, "", RowMissing)
	case w.log.sum(r) != r.Hash:
		return w.bad(next, r.ID, RowChanged)
	case !w.blind && r.Previous != w.at.Hash:
		return w.bad(next, r.ID, RowUnlinked)
	}
	for ; len(w.points) > 0 && w.points[0].Sequence <= next; w.points = w.points[1:] {
		if w.points[0].Hash != r.Hash {
			return w.bad(next, r.ID, RowRewritten)
		}
	}
	w.at.Sequence, w.at.Hash, w.blind = r.Sequence, r.Hash, false
	w.rows++
	if w.kept != nil && !r.Action.IsRead() {
		w.kept.add(r)
	}
	return w.leave()
}

// skip moves on to the row before to, as far as removals account for the missing rows.
func (w *walk) skip(to int64) error {
	for {
		next := w.at.Sequence + 1
		if err := w.enter(next); err != nil {
			return err
		}
		if next >= to || w.kept == nil {
			return nil
		}
		if w.gap == 0 {
			w.gap = next
		}
		w.blind = true
		w.at.Sequence = min(to-1, w.removed[0].Last)
		for len(w.points) > 0 && w.points[0].Sequence <= w.at.Sequence && w.points[0].Sequence < w.removed[0].Last {
			w.points = w.points[1:]
		}
		if err := w.leave(); err != nil {
			return err
		}
	}
}

// enter begins the stretch of a removal if the next row is its first.
func (w *walk) enter(next int64) error {
	if w.kept != nil || len(w.removed) == 0 || w.removed[0].First != next {
		return nil
	}
	w.kept = newStays()
	if w.at.Hash != w.removed[0].Previous {
		return w.bad(next, "", RowUnlinked)
	}
	return nil
}

// leave ends the stretch of a removal if the walk is at its last row.
func (w *walk) leave() error {
	if w.kept == nil || w.at.Sequence < w.removed[0].Last {
		return nil
	}
	m, kept := w.removed[0], w.kept
	w.removed, w.kept, w.gap = w.removed[1:], nil, 0
	if kept.rows != m.Kept || kept.sum() != m.Digest {
		return w.bad(m.First, "", RowMissing) // a row of a change, somewhere in the stretch
	}
	if w.blind {
		w.at.Hash, w.blind = m.Hash, false
	}
	for ; len(w.points) > 0 && w.points[0].Sequence <= m.Last; w.points = w.points[1:] {
		if w.points[0].Hash != m.Hash {
			return w.bad(m.Last, "", RowRewritten)
		}
	}
	return nil
}

func (w *walk) bad(sequence int64, id string, reason Reason) error {
	return &Break{Chain: w.at.Chain, Sequence: sequence, ID: id, Reason: reason}
}
