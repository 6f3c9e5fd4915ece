package search

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	bleveindex "github.com/blevesearch/bleve_index_api"

	"keepsake/internal/document"
	"keepsake/internal/text"
)

// layoutVersion is the version of the entries that newEntry creates. An index with another version is rebuilt.
const layoutVersion = 1

// state describes an index: its last change, and the statistics for ranking. It is written in the same batch and read from
// the same snapshot as the documents, so it always agrees with them.
//
// The library counts distinct terms where BM25 means all words of a field, so the words are counted here.
type state struct {
	Layout     int   `json:"layout"`
	Change     int64 `json:"change"` // the last change in the index
	Documents  int64 `json:"documents"`
	TitleWords int64 `json:"titleWords"`
	TextWords  int64 `json:"textWords"`
}

var stateKey = []byte("keepsake")

// workspaceIndex is the open index of a workspace. One goroutine applies changes; any number can read.
type workspaceIndex struct {
	engine bleveindex.Index
	// Batches return before they are on disk: what a crash loses is indexed again, because the number of the last
	// change is lost with it.
	unwritten atomic.Int64 // bytes of documents not yet on disk
}

// openIndex opens the index in dir, or creates an empty one.
func openIndex(dir string, queue *bleveindex.AnalysisQueue) (*workspaceIndex, error) {
	engine, err := scorch.NewScorch(scorch.Name, map[string]any{
		"path":         dir,
		"unsafe_batch": true,
		"bolt_timeout": "2s",
		// The changes of half a second are merged in memory and written together. After an error, such as a full disk, the
		// library tries again with the same interval.
		"scorchPersisterOptions": map[string]any{"PersisterNapTimeMSec": 500, "PersisterNapUnderNumFiles": 1000},
	}, queue)
	if err != nil {
		return nil, fmt.Errorf("configure index: %w", err)
	}
	if err := engine.Open(); err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	return &workspaceIndex{engine: engine}, nil
}

// view is a reader of a snapshot of an index, with the state of that snapshot.
type view struct {
	bleveindex.IndexReader
	state state
}

// view opens a reader; it must be closed.
func (x *workspaceIndex) view() (*view, error) {
	reader, err := x.engine.Reader()
	if err != nil {
		return nil, fmt.Errorf("read index: %w", err)
	}
	v := &view{IndexReader: reader, state: state{Layout: layoutVersion}}
	data, err := reader.GetInternal(stateKey)
	if err == nil && data != nil {
		err = json.Unmarshal(data, &v.state)
	}
	if err == nil && v.state.Layout != layoutVersion {
		err = errLayout
	}
	if err != nil {
		_ = reader.Close()
		return nil, fmt.Errorf("read the state of an index: %w", err)
	}
	return v, nil
}

var errLayout = fmt.Errorf("the index has another layout than %d", layoutVersion)

// apply adds the next changes to the index, all or none, and returns the number of the last.
func (x *workspaceIndex) apply(a *text.Analyzer, changes []document.Change) (int64, error) {
	v, err := x.view()
	if err != nil {
		return 0, err
	}
	defer v.Close()
	next := v.state
	sizes, err := v.DocValueReader([]string{sizeField})
	if err != nil {
		return 0, fmt.Errorf("read sizes: %w", err)
	}
	batch := bleveindex.NewBatch()
	var bytes int64
	for i := range changes {
		c := &changes[i]
		old, found, err := v.sizeOf(c.ID, sizes)
		if err != nil {
			return 0, err
		}
		if found {
			next.add(old, -1)
		}
		if c.Document == nil {
			batch.Delete(c.ID)
		} else {
			e := newEntry(a, c.Document)
			next.add(e.size, 1)
			bytes += int64(e.Size())
			batch.Update(e)
		}
		next.Change = c.Number
	}
	data, err := json.Marshal(next)
	if err != nil {
		return 0, fmt.Errorf("write state: %w", err)
	}
	batch.SetInternal(stateKey, data)
	x.unwritten.Add(bytes)
	batch.SetPersistedCallback(func(error) { x.unwritten.Add(-bytes) })
	if err := x.engine.Batch(batch); err != nil {
		return 0, fmt.Errorf("write a batch of %d changes: %w", len(changes), err)
	}
	return next.Change, nil
}

// add adds a document of that size to the statistics, or removes it if sign is -1.
func (s *state) add(words size, sign int64) {
	s.Documents += sign
	s.TitleWords += sign * words.title
	s.TextWords += sign * words.text
}

// sizeOf returns the size of the indexed document.
func (v *view) sizeOf(id string, sizes bleveindex.DocValueReader) (words size, found bool, err error) {
	internal, err := v.InternalID(id)
	if err != nil || internal == nil {
		return size{}, false, err
	}
	err = sizes.VisitDocValues(internal, func(_ string, term []byte) {
		words, found = parseSize(string(term)), true
	})
	if err == nil && !found {
		err = fmt.Errorf("a document of the index has no size")
	}
	return words, found, err
}

// settle waits until at most limit bytes are not on disk, but no longer than patience.
func (x *workspaceIndex) settle(limit int64, patience time.Duration) {
	for waited := time.Duration(0); x.unwritten.Load() > limit && waited < patience; waited += 10 * time.Millisecond {
		time.Sleep(10 * time.Millisecond)
	}
}

// close closes the index. The last changes can be lost; they are indexed again after the next opening.
func (x *workspaceIndex) close() error {
	const replayable = 4 << 20
	x.settle(replayable, 2*time.Second)
	return x.engine.Close()
}

// analysisQueue is the library's pool of analyzing goroutines. Our documents are analyzed already, so one idle goroutine is
// enough. It starts with the first index.
type analysisQueue struct {
	once  sync.Once
	queue *bleveindex.AnalysisQueue
}

func (q *analysisQueue) get() *bleveindex.AnalysisQueue {
	q.once.Do(func() { q.queue = bleveindex.NewAnalysisQueue(1) })
	return q.queue
}

func (q *analysisQueue) close() {
	q.once.Do(func() {}) // none was opened, and none will be opened
	if q.queue != nil {
		q.queue.Close()
	}
}
