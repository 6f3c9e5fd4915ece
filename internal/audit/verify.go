package audit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"keepsake/internal/problem"
)

// Reason is what is wrong with a row.
type Reason string

// The reasons.
const (
	RowChanged        Reason = "changed"           // its hash is not that of what it says
	RowMissing        Reason = "missing"           // there are rows behind it
	RowUnlinked       Reason = "unlinked"          // it does not follow the row before
	RowCutOff         Reason = "cut_off"           // it was there once, and nothing is behind it
	RowRewritten      Reason = "rewritten"         // the chain fits together, but a checkpoint says otherwise
	HeadWrong         Reason = "head_wrong"        // the record of where the chain ends says otherwise
	CheckpointForged  Reason = "checkpoint_forged" // this instance has not signed it
	CheckpointsBroken Reason = "checkpoints_unreadable"
)

// messages say the reasons to people.
var messages = map[Reason]string{
	RowChanged:        "The row was changed: its hash is not that of what it says.",
	RowMissing:        "The row is missing.",
	RowUnlinked:       "The row does not follow the one before it: one of the two was exchanged.",
	RowCutOff:         "The row is missing, and so is everything behind it: the end of the log was cut off, or an old copy was put in its place.",
	RowRewritten:      "The row is not the one that was here when the checkpoint was signed: it or one before it was rewritten, and those behind it to fit.",
	HeadWrong:         "The record of where the chain ends does not fit its last row.",
	CheckpointForged:  "The checkpoint of the row was not signed by this instance.",
	CheckpointsBroken: "The file of checkpoints holds something else.",
}

// Message says r to people.
func (r Reason) Message() string { return messages[r] }

// Break is the first bad or missing row of a chain.
type Break struct {
	Chain    string
	Sequence int64
	ID       string // empty where there is no such row
	Reason   Reason
}

// Verified is what Verify found.
type Verified struct {
	Rows        int64      // that were looked at
	Heads       []Head     // the last row of each chain, as far as it was looked at
	Checkpoints int        // that were compared
	Newest      *time.Time // of the checkpoints; rows after it are vouched for by the chain alone
	Breaks      []*Break   // the first bad or missing row of each chain that has one; empty: all is as it was written
}

// Break is the first of the breaks; nil: all is as it was written.
func (v *Verified) Break() *Break {
	if len(v.Breaks) == 0 {
		return nil
	}
	return v.Breaks[0]
}

// Verify reads the whole log and compares it with the checkpoints in a file; Log.Checkpoints is the instance's own. It
// leaves a chain at its first row that is bad, and goes on with the next chain. Rows written meanwhile are none. One at a
// time: another is problem.Conflict.
func (l *Log) Verify(ctx context.Context, checkpoints string) (*Verified, error) {
	if !l.verifying.TryLock() {
		return nil, problem.Conflicts("The log is being verified already; wait for that.")
	}
	defer l.verifying.Unlock()
	v := &Verified{}
	points, err := readCheckpoints(checkpoints)
	if errors.Is(err, errUnreadable) {
		v.Breaks = append(v.Breaks, &Break{Reason: CheckpointsBroken}) // the chains are looked at all the same
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
	chains, err := l.Store.AuditChains(ctx)
	if err != nil {
		return nil, err
	}
	chains = slices.AppendSeq(slices.AppendSeq(chains, maps.Keys(byChain)), maps.Keys(forged))
	slices.Sort(chains)
	chains = slices.Compact(chains)
	for _, chain := range chains {
		w := &walk{log: l, at: Head{Chain: chain}, points: sequenced(byChain[chain])}
		err := w.run(ctx)
		v.Rows += w.at.Sequence
		v.Heads = append(v.Heads, w.at)
		bad, broken := errors.AsType[*Break](err)
		if err != nil && !broken {
			return nil, err
		}
		if f := forged[chain]; f != nil && (bad == nil || f.Sequence < bad.Sequence) {
			bad = f
		}
		if bad != nil {
			v.Breaks = append(v.Breaks, bad)
		}
	}
	return v, nil
}

// Error makes a Break what ends a walk.
func (b *Break) Error() string {
	return fmt.Sprintf("audit: row %d of chain %s: %s", b.Sequence, b.Chain, b.Reason)
}

// sequenced sorts checkpoints by the rows they are of.
func sequenced(points []*Checkpoint) []*Checkpoint {
	slices.SortStableFunc(points, func(a, b *Checkpoint) int { return int(min(max(a.Sequence-b.Sequence, -1), 1)) })
	return points
}

// walk goes through one chain.
type walk struct {
	log    *Log
	at     Head          // the last row that was good
	points []*Checkpoint // of rows still to come
}

// verifyPage is how many rows are read at a time: a statement that ran on would keep the write-ahead log from being
// folded into the database.
const verifyPage = 1000

func (w *walk) run(ctx context.Context) error {
	for {
		before := w.at.Sequence
		if err := w.rows(ctx); err != nil {
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

// rows goes on to the last row there is.
func (w *walk) rows(ctx context.Context) error {
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
			return nil
		}
	}
}

func (w *walk) step(r *Row) error {
	next := w.at.Sequence + 1
	switch {
	case r.Sequence != next:
		return w.bad(next, "", RowMissing)
	case r.sum() != r.Hash:
		return w.bad(next, r.ID, RowChanged)
	case r.Previous != w.at.Hash:
		return w.bad(next, r.ID, RowUnlinked)
	}
	for ; len(w.points) > 0 && w.points[0].Sequence <= next; w.points = w.points[1:] {
		if w.points[0].Hash != r.Hash {
			return w.bad(next, r.ID, RowRewritten)
		}
	}
	w.at.Sequence, w.at.Hash = r.Sequence, r.Hash
	return nil
}

func (w *walk) bad(sequence int64, id string, reason Reason) error {
	return &Break{Chain: w.at.Chain, Sequence: sequence, ID: id, Reason: reason}
}
