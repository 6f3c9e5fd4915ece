package memory

import (
	"context"

	"keepsake/internal/base/coalesce"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
)

// Prepared is a memory, or a batch of them in order, that was validated and encrypted.
type Prepared struct {
	workspaceID string
	drafts      []*draft
	atomic      bool
	bulk        bool // its memories are reported together
	subjects    map[Hash]*subjectState
	results     []Result // set by write
}

// draft is a memory to write.
type draft struct {
	err     error // a problem.Problem: why it cannot be written
	by      *caller
	memory  *Memory
	subject Hash
	compare bool // with memories that have the same dedup key

	row   *Row     // memory, encrypted as a new one
	match MatchKey // the memory that it replaces or duplicates
}

// matches reports whether an existing memory can match the draft.
func (d *draft) matches() bool { return d.memory.Key != "" || d.compare }

// seal encrypts a draft.
func (d *draft) seal(state *subjectState) (err error) {
	if d.row, err = state.sealMemory(d.memory, nil); err != nil {
		return err
	}
	d.match = MatchKey{Subject: d.subject, Generation: state.generation}
	if d.memory.Key != "" {
		d.match.KeyHash = d.row.KeyHash
	} else {
		d.match.DedupHash = d.row.DedupHash
	}
	return nil
}

// prepare loads the subjects of drafts and encrypts their memories. It can fail with ErrStale.
func (w *Writer) prepare(ctx context.Context, b *Prepared) (err error) {
	names := map[Hash]string{}
	for _, d := range b.drafts {
		if d.err == nil {
			names[d.subject] = d.memory.SubjectID
		}
	}
	if b.subjects, err = w.committer.load(ctx, b.workspaceID, names); err != nil {
		return err
	}
	for _, d := range b.drafts {
		if d.err == nil {
			if err := d.seal(b.subjects[d.subject]); err != nil {
				return err
			}
		}
	}
	return nil
}

// write writes what was prepared and sets its results. If a subject was erased since then, it prepares again.
func (w *Writer) write(ctx context.Context, b *Prepared) error {
	prepared := true
	err := retry(func() error {
		if !prepared {
			if err := w.prepare(ctx, b); err != nil {
				return err
			}
		}
		prepared = false
		if len(b.drafts) == 1 && b.drafts[0].err == nil && !b.atomic && !unit.Running(ctx) {
			return problem.Busy(w.groups.Do(ctx, b.workspaceID, b))
		}
		return w.writeBatch(ctx, b)
	})
	if err != nil {
		return err
	}
	w.committer.reportKeys(ctx, b.workspaceID, b.subjects)
	return nil
}

// writeBatch writes a batch in one transaction. The results are only right if that is committed.
func (w *Writer) writeBatch(ctx context.Context, b *Prepared) error {
	tell := w.committer.events.each
	if b.bulk {
		tell = w.committer.events.together
	}
	return w.committer.commit(ctx, b.workspaceID, b.subjects, tell, func(ctx context.Context, left room) ([]*subjectWrites, error) {
		set := newWriteSet(b.subjects, left)
		if err := w.matcher.loadMatches(ctx, b.workspaceID, set, b.drafts); err != nil {
			return nil, err
		}
		b.results = make([]Result, len(b.drafts))
		for i, d := range b.drafts {
			r := &b.results[i]
			if r.Err = d.err; r.Err == nil {
				if r.Stored, r.Err = set.put(d); r.Err != nil && !refused(r.Err) {
					return nil, r.Err
				}
			}
			if r.Err != nil && b.atomic {
				return nil, ofItem(i, r.Err)
			}
		}
		return set.writes(), nil
	})
}

// The limits of a transaction that single memories share.
const (
	maxGroup      = 64
	maxGroupBytes = 1 << 20
)

// The number of transactions of a workspace that run at once. With one process, transactions follow each other anyway and
// share commits; with several, each needs a connection and waits for the same rows.
const (
	groupsAlone  = 4
	groupsShared = 2
)

// newGroups returns the batcher of single memories. Those that arrive while a transaction of their workspace is running share
// the next one: they lock a subject once, and have one place in the access log's chain.
func newGroups(w *Writer, alone bool) *coalesce.Batcher[*Prepared] {
	groups := groupsShared
	if alone {
		groups = groupsAlone
	}
	return coalesce.New(coalesce.Options[*Prepared]{
		Runs: groups, Calls: maxGroup, Bytes: maxGroupBytes, Run: w.writeGroup,
		Size: func(b *Prepared) int { return b.drafts[0].memory.size() },
		Shared: func(err error) bool {
			p, ok := problem.As(err)
			return ok && p.Kind == problem.Unavailable
		},
	})
}

// writeGroup writes single memories as one batch. It fails with ErrStale if they were prepared for different generations of
// a subject.
func (w *Writer) writeGroup(ctx context.Context, workspaceID string, singles []*Prepared) error {
	group := &Prepared{workspaceID: workspaceID, subjects: map[Hash]*subjectState{}}
	for _, b := range singles {
		group.drafts = append(group.drafts, b.drafts...)
		for hash, state := range b.subjects {
			if other := group.subjects[hash]; other != nil && other.generation != state.generation {
				return ErrStale
			}
			group.subjects[hash] = state
		}
	}
	if err := w.writeBatch(ctx, group); err != nil {
		return err
	}
	for i, b := range singles {
		b.results = group.results[i : i+1]
	}
	return nil
}
