package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/memory/seal"
)

// committer loads subjects and commits writes about them.
type committer struct {
	store interface {
		subjectStore
		subjectLocker
		writeStore
		countStore
	}
	units          unit.Runner
	keys           Keys
	lookup         Lookup
	limits         *tierLimits
	log            accessLog
	events         eventLog
	generations    *generations
	written        func(workspaceID string, subject Hash) // called after a commit
	alone          bool
	sealAnswerWith func(ctx context.Context, workspaceID string, subject Hash, generation int64)
	now            clock
}

// writeStore writes memories.
type writeStore interface {
	// InsertMemories adds memories with new IDs; ErrStale if an ID exists.
	InsertMemories(ctx context.Context, workspaceID string, rows []*Row) error
	// ReplaceMemories replaces existing memories by further revisions.
	ReplaceMemories(ctx context.Context, workspaceID string, rows []*Row) error
	// AddMemoryRevisions adds older revisions, except those that exist.
	AddMemoryRevisions(ctx context.Context, workspaceID string, rows []*Row) error
	// TrimMemoryRevisions removes the oldest revisions of a memory except keep of them.
	TrimMemoryRevisions(ctx context.Context, workspaceID, id string, keep int) error
}

// ErrStale says that a write was prepared for a state that has changed: a subject was erased, or an ID was used.
var ErrStale = errors.New("memory: the write must be prepared again")

// errNoKey is the cause of an ErrStale if a data key is missing: the subject was erased, or the key is lost.
var errNoKey = errors.New("memory: the data key of a subject is missing")

var errErasing = problem.NotAvailable("The subject is being erased; try again.", time.Second)

// retry calls write until it does not fail with ErrStale, at most maxTries times. A key that is still missing then is lost.
func retry(write func() error) (err error) {
	for range maxTries {
		if err = write(); !errors.Is(err, ErrStale) {
			return err
		}
	}
	if errors.Is(err, errNoKey) {
		return errNoKey
	}
	return errErasing.Because(err)
}

const (
	maxRevisions = 100 // of a memory, including the current one
	maxTries     = 5   // of a write; only an erasure makes a second one necessary
)

// subjectState is the generation of a subject that a write was prepared for.
type subjectState struct {
	id         string
	sealedName []byte // nil if the row has it
	sealer
}

// subjectWrites is what a write changes of one subject.
type subjectWrites struct {
	*subjectState
	insert    []*Row
	replace   []*Row
	older     []*Row // revisions
	textBytes int64  // added to the subject's texts
	events    []auditEvent
}

// auditEvent is an entry of the access log about one subject.
type auditEvent struct {
	by     *caller
	action audit.Action
	ids    []string
}

// caller is the principal of a write and its origin.
type caller struct {
	*auth.Principal
	source audit.Source
}

func callerOf(ctx context.Context, p *auth.Principal) *caller {
	source, _ := ctx.Value(audit.SourceKey).(audit.Source)
	return &caller{p, source}
}

func (w *subjectWrites) empty() bool { return len(w.insert)+len(w.replace)+len(w.older) == 0 }

func (w *subjectWrites) log(by *caller, action audit.Action, id string) {
	for i := range w.events {
		if e := &w.events[i]; e.by == by && e.action == action {
			e.ids = append(e.ids, id)
			return
		}
	}
	w.events = append(w.events, auditEvent{by, action, []string{id}})
}

// load reads the generations of subjects and gets their keys. names are their IDs.
func (c *committer) load(ctx context.Context, workspaceID string, names map[Hash]string) (map[Hash]*subjectState, error) {
	states := make(map[Hash]*subjectState, len(names))
	named := make(map[Hash]bool, len(names)) // subjects with a row that has a name
	var unknown []Hash
	for _, hash := range sortedHashes(names) {
		state := &subjectState{id: names[hash], sealer: sealer{workspaceID: workspaceID, subject: hash, generation: 1, lookup: c.lookup}}
		if generation, ok := c.generations.get(hash); ok && c.alone {
			state.generation, named[hash] = generation, true
		} else {
			unknown = append(unknown, hash)
		}
		states[hash] = state
	}
	rows, err := c.store.MemorySubjects(ctx, workspaceID, unknown)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		states[row.Hash].generation = row.Generation
		named[row.Hash] = len(row.SealedID) > 0
	}
	if err := c.loadKeys(ctx, workspaceID, states, named); err != nil {
		c.dropGenerations(states)
		return nil, err
	}
	for hash, state := range states {
		if !named[hash] {
			state.sealedName = state.sealName(state.id)
		}
	}
	return states, nil
}

// loadKeys gets the data keys of subjects. It creates keys only for generations in which nothing was written; another key
// that is missing is lost, and so is what it encrypted.
func (c *committer) loadKeys(ctx context.Context, workspaceID string, states map[Hash]*subjectState, named map[Hash]bool) error {
	var missing []seal.SubjectGeneration
	for _, hash := range sortedHashes(states) {
		state := states[hash]
		if !named[hash] {
			missing = append(missing, seal.SubjectGeneration{Subject: hash, Generation: state.generation})
			continue
		}
		key, err := c.keys.Find(ctx, workspaceID, hash, state.generation)
		if err != nil {
			return keyError(err)
		}
		state.key = key
	}
	if len(missing) == 0 {
		return nil
	}
	keys, err := c.keys.Ensure(ctx, workspaceID, missing)
	if err != nil {
		return keyError(err)
	}
	for i, key := range keys {
		states[missing[i].Subject].key = key
	}
	return nil
}

func keyError(err error) error {
	if errors.Is(err, seal.ErrDestroyed) {
		return fmt.Errorf("%w: %w", ErrStale, errNoKey)
	}
	return fmt.Errorf("get a data key: %w", err)
}

// commit locks subjects, calls decide, and writes, logs and reports what it returns, all in one transaction.
func (c *committer) commit(
	ctx context.Context, workspaceID string, states map[Hash]*subjectState, tell report,
	decide func(ctx context.Context, left room) ([]*subjectWrites, error),
) error {
	err := c.units.Run(ctx, func(ctx context.Context) error {
		rows, err := c.store.LockMemorySubjects(ctx, workspaceID, sortedHashes(states), c.now.stored())
		if err != nil {
			return err
		}
		locked := make(map[Hash]*SubjectRow, len(rows))
		for _, row := range rows {
			if row.Generation != states[row.Hash].generation {
				return ErrStale
			}
			locked[row.Hash] = row
		}
		left, err := c.limits.room(ctx, workspaceID)
		if err != nil {
			return err
		}
		writes, err := decide(ctx, left)
		if err != nil {
			return err
		}
		return c.apply(ctx, workspaceID, locked, writes, tell)
	})
	if errors.Is(err, ErrStale) {
		c.dropGenerations(states)
		if unit.Running(ctx) {
			return &unit.StaleError{Problem: errErasing}
		}
	}
	return err
}

// apply writes, logs and reports writes. locked are the rows of their subjects.
func (c *committer) apply(ctx context.Context, workspaceID string, locked map[Hash]*SubjectRow, writes []*subjectWrites, tell report) error {
	now := c.now.stored()
	var all subjectWrites
	var save, count []*SubjectRow // subjects that are written first in their generation, and others
	for _, w := range writes {
		if w.empty() {
			continue
		}
		row := locked[w.subject]
		if len(row.SealedID) == 0 {
			save = append(save, row)
		} else {
			count = append(count, row)
		}
		row.add(w, now)
		unit.AfterCommit(ctx, func() {
			c.generations.put(w.subject, w.generation)
			c.written(workspaceID, w.subject)
		})
		all.insert = append(all.insert, w.insert...)
		all.replace = append(all.replace, w.replace...)
		all.older = append(all.older, w.older...)
	}
	if err := c.writeRows(ctx, workspaceID, &all, save, count); err != nil {
		return err
	}
	for _, w := range writes {
		for _, event := range w.events {
			entries := c.log.entries(event.by.Principal, event.action, w.id, event.ids)
			for i := range entries {
				entries[i].Address, entries[i].RequestID = event.by.source.Address, event.by.source.RequestID
			}
			if err := c.log.record(ctx, entries...); err != nil {
				return err
			}
		}
	}
	return tell(ctx, workspaceID, all.insert, all.replace)
}

// add counts writes as the next change of a subject.
func (row *SubjectRow) add(w *subjectWrites, now time.Time) {
	row.Change++
	row.Memories += int64(len(w.insert))
	row.Bytes += w.textBytes
	row.UpdatedAt = now
	if len(row.SealedID) == 0 {
		row.SealedID, row.CreatedAt = w.sealedName, now
	}
	for _, r := range slices.Concat(w.insert, w.replace) {
		r.Change = row.Change
	}
}

func (c *committer) writeRows(ctx context.Context, workspaceID string, w *subjectWrites, save, count []*SubjectRow) error {
	if len(save)+len(count) == 0 {
		return nil
	}
	if len(w.insert) > 0 { // before the rows, which lock the count of bytes
		if err := c.store.AddMemoryCount(ctx, workspaceID, int64(len(w.insert))); err != nil {
			return err
		}
	}
	if err := c.store.InsertMemories(ctx, workspaceID, w.insert); err != nil {
		return err
	}
	if err := c.store.ReplaceMemories(ctx, workspaceID, w.replace); err != nil {
		return err
	}
	if err := c.store.AddMemoryRevisions(ctx, workspaceID, w.older); err != nil {
		return err
	}
	for _, r := range slices.Concat(w.insert, w.replace) {
		if r.Revision > maxRevisions && len(w.older) > 0 {
			if err := c.store.TrimMemoryRevisions(ctx, workspaceID, r.ID, maxRevisions-1); err != nil {
				return err
			}
		}
	}
	if err := c.store.SaveMemorySubjects(ctx, workspaceID, save); err != nil {
		return err
	}
	return c.store.SaveMemorySubjectCounts(ctx, workspaceID, count)
}

// reportKeys reports the data keys under which a stored response about subjects must be encrypted.
func (c *committer) reportKeys(ctx context.Context, workspaceID string, states map[Hash]*subjectState) {
	if c.sealAnswerWith == nil {
		return
	}
	for _, hash := range sortedHashes(states) {
		c.sealAnswerWith(ctx, workspaceID, hash, states[hash].generation)
	}
}

func (c *committer) dropGenerations(states map[Hash]*subjectState) {
	for hash := range states {
		c.generations.remove(hash)
	}
}

// sortedHashes returns hashes in the order in which rows are locked, so that transactions cannot deadlock.
func sortedHashes[T any](m map[Hash]T) []Hash {
	return slices.SortedFunc(maps.Keys(m), func(a, b Hash) int { return bytes.Compare(a[:], b[:]) })
}
