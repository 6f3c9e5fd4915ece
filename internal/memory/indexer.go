package memory

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"keepsake/internal/fairshare"
	"keepsake/internal/memory/recall"
	"keepsake/internal/seal"
	"keepsake/internal/text"
)

// indexer builds the recall indexes of subjects and keeps them up to date with the store.
type indexer struct {
	store interface {
		subjectStore
		rowStore
		vectorStore
	}
	keys   Keys
	lookup Lookup
	caches *Caches
	words  *text.Analyzer

	vectors bool // compare memories with a query by vectors, too
}

// fromStart is the change after which an empty index reads. Changes count from 1. An index that was interrupted in the first
// change reads after 0, because it can contain a memory that was erased since.
const fromStart = -1

// indexed is the index of a subject with the change that it contains. vectors are nil if none are needed.
type indexed struct {
	*recall.Index
	vectors            *recall.Embeddings
	generation, change int64
}

// cached returns the cached index of a subject, with the vectors of a model unless that is empty. It is nil if there is none or
// another goroutine is updating it.
func (x *indexer) cached(workspaceID string, subject Hash, model string) *indexed {
	e := x.caches.indexes.find(indexName{workspaceID, subject})
	if e == nil || !e.tryLock() {
		return nil
	}
	defer e.unlock()
	if e.index == nil || model != "" && (e.model != model || e.embedded < e.change) {
		return nil
	}
	return &indexed{e.index, e.vectors, e.generation, e.change}
}

func (x *indexer) countHit() { x.caches.indexes.count(true) }

// current returns the index of a subject, up to date, with the vectors of a model unless that is empty; nil if there is no such
// subject.
func (x *indexer) current(ctx context.Context, task *fairshare.Task, workspaceID, subjectID, model string) (*indexed, error) {
	subject := x.lookup.Subject(workspaceID, subjectID)
	row, err := x.subject(ctx, workspaceID, subject)
	if err != nil || row == nil {
		return nil, err
	}
	e := x.caches.indexes.findOrAdd(indexName{workspaceID, subject})
	if err := e.lock(ctx); err != nil {
		return nil, err
	}
	defer e.unlock()
	if e.generation > row.Generation { // the subject was erased and written again since the row was read
		if row, err = x.subject(ctx, workspaceID, subject); err != nil || row == nil {
			return nil, err
		}
	}
	x.caches.indexes.count(e.index != nil && e.generation == row.Generation)
	index, err := x.catchUp(ctx, task, e, row)
	if err != nil || index == nil {
		return nil, err
	}
	if err := x.loadVectors(ctx, e, row, model); err != nil {
		return nil, err
	}
	return &indexed{index, e.vectors, e.generation, e.change}, nil
}

// subject reads the row of a subject; nil if there is no such subject.
func (x *indexer) subject(ctx context.Context, workspaceID string, subject Hash) (*SubjectRow, error) {
	row, err := x.store.MemorySubject(ctx, workspaceID, subject)
	if err != nil {
		return nil, fmt.Errorf("read subject: %w", err)
	}
	if row == nil || len(row.SealedID) == 0 {
		return nil, nil
	}
	return row, nil
}

// catchUp updates an index, whose entry is locked, to the change of a subject's row, or builds it. If it fails, the index
// keeps what was added, so that the next call continues; otherwise an index that takes longer than a request would never be
// built.
func (x *indexer) catchUp(ctx context.Context, task *fairshare.Task, e *indexEntry, row *SubjectRow) (*recall.Index, error) {
	workspaceID := e.name.workspaceID
	if e.generation > row.Generation { // the row is out of date
		return nil, nil
	}
	usable := e.index != nil && e.generation == row.Generation
	if usable && e.change >= row.Change {
		return e.index, nil
	}
	index, after := e.index, e.change
	if !usable {
		index, after = recall.New(x.words, x.vectors), fromStart
		e.vectors, e.model = nil, ""
	}
	rows, erased, err := x.store.MemoryChanges(ctx, workspaceID, row.Hash, row.Generation, after)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		e.removeVector(r.ID) // of an earlier revision
	}
	defer task.Release()
	var added int
	x.caches.analyze(func() { added, err = x.add(ctx, task, index, workspaceID, row, rows) })
	if err != nil {
		if added > 0 {
			// The last change may be incomplete.
			e.index, e.generation, e.change = index, row.Generation, rows[added-1].Change-1
			x.caches.indexes.resize(e, e.size())
		}
		return nil, err
	}
	for _, id := range erased {
		index.Remove(id)
		e.removeVector(id)
	}
	e.index, e.generation, e.change = index, row.Generation, row.Change
	x.caches.indexes.resize(e, e.size())
	return index, nil
}

// loadVectors adds the vectors of a model that an index lacks. Its entry is locked and up to date.
func (x *indexer) loadVectors(ctx context.Context, e *indexEntry, row *SubjectRow, model string) error {
	if model == "" || e.model == model && e.embedded >= row.Change {
		return nil
	}
	workspaceID, vectors, after := e.name.workspaceID, e.vectors, e.embedded
	if e.model != model {
		vectors, after = recall.NewEmbeddings(), fromStart
	}
	rows, err := x.store.MemoryVectors(ctx, workspaceID, row.Hash, row.Generation, after, model)
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		key, err := x.keys.Find(ctx, workspaceID, row.Hash, row.Generation)
		if errors.Is(err, seal.ErrDestroyed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("find a data key: %w", err)
		}
		for _, r := range rows {
			if v := openVector(workspaceID, row.Generation, r, key); v != nil {
				vectors.Put(r.MemoryID, v)
			}
		}
	}
	e.vectors, e.model, e.embedded = vectors, model, row.Change
	x.caches.indexes.resize(e, e.size())
	return nil
}

// indexChunk is the number of memories that a goroutine decrypts and analyzes at a time.
const indexChunk = 256

// add decrypts and analyzes rows of a subject on several processors and adds them to an index, in their order. added is the number
// of rows that were added.
func (x *indexer) add(ctx context.Context, task *fairshare.Task, index *recall.Index, workspaceID string, subject *SubjectRow, rows []*Row) (added int, err error) {
	if len(rows) == 0 {
		return 0, nil
	}
	key, err := x.keys.Find(ctx, workspaceID, subject.Hash, subject.Generation)
	if errors.Is(err, seal.ErrDestroyed) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("find a data key: %w", err)
	}
	chunks := slices.Collect(slices.Chunk(rows, indexChunk))
	type opened struct {
		batch *recall.Batch
		err   error
	}
	done := make([]chan opened, len(chunks))
	for i := range done {
		done[i] = make(chan opened, 1)
	}
	ctx, stop := context.WithCancel(ctx)
	var next atomic.Int64
	var working sync.WaitGroup
	defer working.Wait()
	defer stop()
	work := func() {
		for i := int(next.Add(1)) - 1; i < len(chunks); i = int(next.Add(1)) - 1 {
			var out opened
			out.batch, out.err = x.analyze(ctx, workspaceID, chunks[i], key)
			done[i] <- out
		}
	}
	for range min(len(chunks)-1, runtime.GOMAXPROCS(0)) {
		working.Go(work)
	}
	if len(chunks) == 1 {
		work()
	}
	for i, chunk := range chunks {
		out := <-done[i]
		for j := range out.batch.Len() {
			if err := task.Step(int(chunk[j].Size)); err != nil {
				return added, err
			}
			task.Release() // a search of the same index may be waiting for a slot
			index.PutAnalyzed(out.batch, j)
			added++
		}
		if out.err != nil {
			return added, out.err
		}
	}
	return added, nil
}

// analyze decrypts and analyzes rows up to an error.
func (x *indexer) analyze(ctx context.Context, workspaceID string, rows []*Row, key *seal.DataKey) (*recall.Batch, error) {
	batch := recall.NewBatch(x.words, x.vectors)
	for _, r := range rows {
		if err := ctx.Err(); err != nil {
			return batch, err
		}
		m, err := open(workspaceID, r, key)
		if err != nil {
			return batch, err
		}
		batch.Analyze(recall.Item{
			ID: m.ID, Text: m.Text, Speaker: m.Speaker, Kind: string(m.Kind), AgentID: m.AgentID, SessionID: m.SessionID, Tags: m.Tags,
			Importance: m.Importance, Pinned: m.Pinned, OccurredAt: m.OccurredAt, CreatedAt: m.CreatedAt,
			ValidFrom: m.ValidFrom, ValidTo: m.ValidTo, ExpiresAt: m.ExpiresAt, Revision: m.Revision,
		})
	}
	return batch, nil
}

// compactAll removes from the cached indexes what was erased since they were used, here or by another process, together
// with words that no other memory contains.
func (x *indexer) compactAll(ctx context.Context) error {
	for workspaceID, entries := range x.caches.indexes.byWorkspace() {
		for chunk := range slices.Chunk(entries, 500) {
			subjects := make([]Hash, len(chunk))
			for i, e := range chunk {
				subjects[i] = e.name.subject
			}
			rows, err := x.store.MemorySubjects(ctx, workspaceID, subjects)
			if err != nil {
				return fmt.Errorf("read subjects: %w", err)
			}
			existing := map[Hash]*SubjectRow{}
			for _, r := range rows {
				if len(r.SealedID) > 0 {
					existing[r.Hash] = r
				}
			}
			for _, e := range chunk {
				if err := x.compact(ctx, e, existing[e.name.subject]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// compact compacts one index. It skips an index that another goroutine is updating.
func (x *indexer) compact(ctx context.Context, e *indexEntry, row *SubjectRow) error {
	if !e.tryLock() {
		return nil
	}
	defer e.unlock()
	switch {
	case e.index == nil:
		return nil
	case row == nil || row.Generation > e.generation:
		x.caches.dropIndex(e.name.workspaceID, e.name.subject)
		return nil
	}
	index, err := x.catchUp(ctx, nil, e, row)
	if err != nil || index == nil {
		return err
	}
	index.Compact()
	x.caches.indexes.resize(e, e.size())
	return nil
}
