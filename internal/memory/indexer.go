package memory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"keepsake/internal/base/fairshare"
	"keepsake/internal/base/text"
	"keepsake/internal/base/vectors"
	"keepsake/internal/memory/recall"
	"keepsake/internal/memory/seal"
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

	vectors func() *vectors.Table // of words, with which memories are compared with a query, too; nil: words alone are
}

// fromStart is the change after which an empty index reads. Changes count from 1. An index that was interrupted in the first
// change reads after 0, because it can contain a memory that was erased since.
const fromStart = -1

// maxRoom limits the room of a new index. A larger one grows.
const maxRoom = 1 << 20

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
		index, after = recall.New(x.words, x.table(), int(min(row.Memories, maxRoom))), fromStart
		e.vectors, e.model = nil, ""
	}
	defer task.Release()
	var last int64
	var err error
	x.caches.analyze(func() { last, err = x.add(ctx, task, e, index, row, after) })
	if err != nil {
		if last > 0 {
			// The last change may be incomplete.
			e.index, e.generation, e.change = index, row.Generation, last-1
			x.caches.indexes.resize(e, e.size())
		}
		return nil, err
	}
	if after != fromStart {
		erased, err := x.store.ErasedMemories(ctx, workspaceID, row.Hash, after)
		if err != nil {
			return nil, err
		}
		for _, id := range erased {
			index.Remove(id)
			e.removeVector(id)
		}
	}
	e.index, e.generation, e.change = index, row.Generation, row.Change
	x.caches.indexes.resize(e, e.size())
	return index, nil
}

// table returns the table of vectors of words; nil if words alone are compared.
func (x *indexer) table() *vectors.Table {
	if x.vectors == nil {
		return nil
	}
	return x.vectors()
}

// loadVectors adds the vectors of a model that an index lacks. Its entry is locked and up to date.
func (x *indexer) loadVectors(ctx context.Context, e *indexEntry, row *SubjectRow, model string) error {
	if model == "" || e.model == model && e.embedded >= row.Change {
		return nil
	}
	workspaceID, known, after := e.name.workspaceID, e.vectors, e.embedded
	if e.model != model {
		known, after = recall.NewEmbeddings(), fromStart
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
				known.Put(r.MemoryID, v)
			}
		}
	}
	e.vectors, e.model, e.embedded = known, model, row.Change
	x.caches.indexes.resize(e, e.size())
	return nil
}

// indexPage is about how many memories are read and decrypted at a time.
const indexPage = 1000

// page is a part of the changes of a subject.
type page struct {
	rows  []*Row
	items []recall.Item // of rows; fewer after an error
	err   error
}

// add reads what was written of a subject after a change, and adds it to an index in the order of the changes. It reads and
// decrypts a page while it analyzes the one before. last is the last change of which something was added.
func (x *indexer) add(ctx context.Context, task *fairshare.Task, e *indexEntry, index *recall.Index, row *SubjectRow, after int64) (last int64, err error) {
	ctx, stop := context.WithCancel(ctx)
	pages := make(chan page)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer stop()
	reading.Go(func() {
		defer close(pages)
		x.readPages(ctx, e.name.workspaceID, row, after, pages)
	})
	adder := index.Adder()
	for p := range pages {
		for i, it := range p.items {
			if err := task.Step(int(p.rows[i].Size)); err != nil {
				return last, err
			}
			task.Release()        // a search of the same index may be waiting for a slot
			e.removeVector(it.ID) // of an earlier revision
			adder.Put(it)
			last = p.rows[i].Change
		}
		if p.err != nil {
			return last, p.err
		}
	}
	return last, ctx.Err()
}

// readPages sends the changes of a subject after one, decrypted, until the last one, an error or the end of ctx.
//
// A change that is made meanwhile moves a memory behind the change of row. The last page has no end, so it contains that memory.
func (x *indexer) readPages(ctx context.Context, workspaceID string, row *SubjectRow, after int64, pages chan<- page) {
	changes := max(1, row.Change*indexPage/max(1, row.Memories)) // of a page, if each writes equally many memories
	var opener *itemOpener
	for {
		upTo := max(0, after) + changes
		if upTo >= row.Change {
			upTo = math.MaxInt64
		}
		var p page
		p, opener = x.readPage(ctx, workspaceID, row, after, upTo, opener)
		select {
		case pages <- p:
		case <-ctx.Done():
			return
		}
		if p.err != nil || upTo == math.MaxInt64 {
			return
		}
		after = upTo
	}
}

// readPage reads and decrypts one page. It returns the opener for the next one, nil if it needed none yet. The page is empty if the
// data key was destroyed.
func (x *indexer) readPage(ctx context.Context, workspaceID string, row *SubjectRow, after, upTo int64, opener *itemOpener) (p page, _ *itemOpener) {
	rows, err := x.store.MemoryChanges(ctx, workspaceID, row.Hash, row.Generation, after, upTo)
	if err != nil || len(rows) == 0 {
		return page{err: err}, opener
	}
	if opener == nil {
		key, err := x.keys.Find(ctx, workspaceID, row.Hash, row.Generation)
		if errors.Is(err, seal.ErrDestroyed) {
			return page{}, nil
		}
		if err != nil {
			return page{err: fmt.Errorf("find a data key: %w", err)}, nil
		}
		opener = newItemOpener(workspaceID, key)
	}
	p = page{rows: rows, items: make([]recall.Item, 0, len(rows))}
	revised := map[string]int{} // memories with a key and earlier revisions, into items
	for _, r := range rows {
		if p.err = ctx.Err(); p.err != nil {
			return p, opener
		}
		var it recall.Item
		if it, p.err = opener.open(r); p.err != nil {
			return p, opener
		}
		if r.Revision > 1 && opener.content.Key != "" {
			revised[r.ID] = len(p.items)
		}
		p.items = append(p.items, it)
	}
	p.err = x.addReplaced(ctx, workspaceID, opener, p.items, revised)
	return p, opener
}

const (
	maxReplaced     = 5     // earlier revisions of a memory that an index reads, the newest ones
	maxReplacedText = 1_024 // bytes; turns do not repeat a longer text
)

// addReplaced adds to items what their earlier revisions said. revised contains places in items by ID.
func (x *indexer) addReplaced(ctx context.Context, workspaceID string, opener *itemOpener, items []recall.Item, revised map[string]int) error {
	var few []string // memories without more revisions than are read
	for id, i := range revised {
		if items[i].Revision <= maxReplaced+1 {
			few = append(few, id)
			continue
		}
		if err := x.addRevisions(ctx, workspaceID, opener, items, revised, []string{id}, maxReplaced); err != nil {
			return err
		}
	}
	for ids := range slices.Chunk(few, 100) {
		if err := x.addRevisions(ctx, workspaceID, opener, items, revised, ids, 0); err != nil {
			return err
		}
	}
	return nil
}

func (x *indexer) addRevisions(ctx context.Context, workspaceID string, opener *itemOpener, items []recall.Item, revised map[string]int, ids []string, limit int) error {
	older, err := x.store.MemoryRevisions(ctx, workspaceID, ids, 0, limit)
	if err != nil {
		return err
	}
	for _, r := range older {
		old, err := opener.open(r)
		if err != nil {
			return err
		}
		if it := &items[revised[r.ID]]; len(old.Text) <= maxReplacedText {
			it.Replaced = append(it.Replaced, old.Text)
		}
	}
	return nil
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
