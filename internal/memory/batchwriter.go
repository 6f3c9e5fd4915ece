package memory

import (
	"context"
	"errors"

	"keepsake/internal/coalesce"
	"keepsake/internal/problem"
	"keepsake/internal/unit"
)

// batchWriter encrypts and writes batches. A single memory is a batch of one; those that arrive while a transaction of their
// workspace is running share the next one: they lock a subject once, and have one place in the access log's chain.
type batchWriter struct {
	committer *committer
	matcher   *matcher
	groups    *coalesce.Batcher[*single]
}

// batch is a list of memories to write, in order.
type batch struct {
	workspaceID string
	drafts      []*draft
	atomic      bool
	subjects    map[Hash]*subjectState
}

// draft is a memory to write.
type draft struct {
	err     error // says why it cannot be written
	by      *caller
	memory  *Memory
	subject Hash
	compare bool // with memories that have the same dedup key

	row   *Row     // memory, encrypted as a new one
	match MatchKey // the memory that it replaces or duplicates
}

// matches reports whether an existing memory can match the draft.
func (d *draft) matches() bool { return d.memory.Key != "" || d.compare }

// single is a memory that is written with others.
type single struct {
	batch   *batch
	results []Result
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

func newBatchWriter(c *committer, m *matcher, alone bool) *batchWriter {
	w := &batchWriter{committer: c, matcher: m}
	groups := groupsShared
	if alone {
		groups = groupsAlone
	}
	w.groups = coalesce.New(coalesce.Options[*single]{
		Runs: groups, Calls: maxGroup, Bytes: maxGroupBytes, Run: w.writeGroup,
		Size: func(one *single) int { return one.batch.drafts[0].memory.size() },
		Shared: func(err error) bool {
			p, ok := problem.As(err)
			return ok && p.Kind == problem.Unavailable
		},
	})
	return w
}

// prepare loads the subjects of a batch and encrypts its memories.
func (w *batchWriter) prepare(ctx context.Context, b *batch) (err error) {
	names := map[Hash]string{}
	for _, d := range b.drafts {
		if d.err == nil {
			names[d.subject] = d.memory.SubjectID
		}
	}
	for range maxTries {
		if b.subjects, err = w.committer.load(ctx, b.workspaceID, names); err == nil {
			break
		} else if !errors.Is(err, ErrStale) {
			return err
		}
	}
	if err != nil {
		return lastTry(err)
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

// seal encrypts a draft.
func (d *draft) seal(state *subjectState) (err error) {
	if d.row, err = state.sealMemory(d.memory, nil); err != nil {
		return err
	}
	d.match = MatchKey{Subject: d.subject, Generation: state.generation}
	if d.memory.Key != "" {
		d.match.Key = d.row.Key
	} else {
		d.match.DedupKey = d.row.DedupKey
	}
	return nil
}

// write writes a prepared batch. If a subject was erased since then, it prepares the batch again.
func (w *batchWriter) write(ctx context.Context, b *batch) (results []Result, err error) {
	for try := 1; ; try++ {
		if len(b.drafts) == 1 && b.drafts[0].err == nil && !b.atomic && !unit.Running(ctx) {
			one := &single{batch: b}
			err = problem.Busy(w.groups.Do(ctx, b.workspaceID, one))
			results = one.results
		} else {
			results, err = w.writeBatch(ctx, b)
		}
		switch {
		case err == nil:
			w.committer.reportKeys(ctx, b.workspaceID, b.subjects)
			return results, nil
		case !errors.Is(err, ErrStale):
			return nil, err
		case try == maxTries:
			return nil, lastTry(err)
		}
		if err := w.prepare(ctx, b); err != nil {
			return nil, err
		}
	}
}

// writeGroup writes single memories as one batch. It fails with ErrStale if they were prepared for different generations of
// a subject.
func (w *batchWriter) writeGroup(ctx context.Context, workspaceID string, singles []*single) error {
	all := &batch{workspaceID: workspaceID, subjects: map[Hash]*subjectState{}}
	for _, one := range singles {
		all.drafts = append(all.drafts, one.batch.drafts...)
		for hash, state := range one.batch.subjects {
			if other := all.subjects[hash]; other != nil && other.generation != state.generation {
				return ErrStale
			}
			all.subjects[hash] = state
		}
	}
	results, err := w.writeBatch(ctx, all)
	if err != nil {
		return err
	}
	for i, one := range singles {
		one.results = results[i : i+1]
	}
	return nil
}

// writeBatch writes a batch in one transaction.
func (w *batchWriter) writeBatch(ctx context.Context, b *batch) (results []Result, err error) {
	err = w.committer.commit(ctx, b.workspaceID, b.subjects, func(ctx context.Context, left room) ([]*subjectWrites, error) {
		plan := newWritePlan(b.subjects, left)
		if err := w.matcher.loadMatches(ctx, b.workspaceID, plan, b.drafts); err != nil {
			return nil, err
		}
		results = make([]Result, len(b.drafts))
		for i, d := range b.drafts {
			if results[i].Err = d.err; d.err == nil {
				if err := plan.put(d, &results[i], ""); err != nil {
					return nil, err
				}
			}
			if err := results[i].Err; err != nil && b.atomic {
				return nil, ofItem(i, err)
			}
		}
		return plan.writes(), nil
	})
	return results, err
}
