// Package index finds documents by their words, tags and metadata.
//
// An index consists of segments, which never change: posting lists of terms, and columns of documents. A batch of changes
// becomes a segment in memory and can be found at once. Segments in memory are flushed to a file together, and small files
// are merged to larger ones. Documents that were replaced or deleted are marked as dead in a bitmap beside their segment
// until a merge leaves them out.
//
// Read index.go and snapshot.go (writing), batch.go and lexicon.go (from texts to segments), flush.go and merging.go (files),
// manifest.go (recovery), segment.go, list.go, ranks.go, dictionary.go and gram.go (the format), query.go and search.go (searching),
// other.go (other spellings), parts.go (parts of words), and near.go (similar words).
package index

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Options is what an index needs. The zero value of a field is its default.
type Options struct {
	Lexicon     *Lexicon         // default: one of its own
	Maintenance *Maintenance     // flushes and merges in the background; default: nothing does
	Now         func() time.Time // default: time.Now
	FlushBytes  int64            // size of the segments in memory from which on they are flushed; default: 6 MiB
	SmallBytes  int64            // an index up to this size has no files; default: 256 KiB
	MaxSegment  int64            // size in bytes up to which segments are merged; default: 256 MiB
	DeadAge     time.Duration    // how long a deleted document can stay in a large file; default: 24 hours
	Label       string           // of an index that is created
	Corrupt     func(error)      // is called if a flush or a merge in the background cannot read a file; default: nothing
	Resized     func()           // is called after a flush or a merge, and must not wait; default: nothing

	files files // default: those of the folder
}

func (o *Options) setDefaults(dir string) {
	if o.Lexicon == nil {
		o.Lexicon = NewLexicon()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.FlushBytes == 0 {
		o.FlushBytes = 6 << 20
	}
	if o.SmallBytes == 0 {
		o.SmallBytes = 256 << 10
	}
	if o.MaxSegment == 0 {
		o.MaxSegment = 256 << 20
	}
	if o.DeadAge == 0 {
		o.DeadAge = 24 * time.Hour
	}
	if o.Corrupt == nil {
		o.Corrupt = func(error) {}
	}
	if o.Resized == nil {
		o.Resized = func() {}
	}
	if o.files == nil && dir != "" {
		o.files = newFolder(dir)
	}
}

// Index is an open index. It is safe for concurrent use.
type Index struct {
	o    Options
	seed uint64

	snapshots sync.Mutex // for current and the counts of snapshots
	current   *Snapshot

	mu     sync.Mutex // held while current is replaced
	closed bool

	manifests sync.Mutex // held while the manifest and the parts that it describes are replaced
	stored    about      // in the manifest
	next      uint64     // number of the next file

	merging sync.Mutex // held during a merge of files
	closing atomic.Bool

	rewritten atomic.Int64 // documents that were written by merges and flushes
	flushes   atomic.Int64
	merges    atomic.Int64
}

// errClosed is the error of a closed index.
var errClosed = errors.New("the index is closed")

// Open opens the index in a folder, or creates an empty one. With an empty dir, the index is in memory only. After an error,
// other than one of the file system, the folder must be removed, and the index filled again.
func Open(dir string, o Options) (*Index, error) {
	o.setDefaults(dir)
	x := &Index{o: o, seed: newSeed(), next: 1}
	first := &Snapshot{index: x, about: about{label: o.Label}}
	if o.files != nil {
		if err := x.load(first); err != nil {
			return nil, fmt.Errorf("open index: %w", err)
		}
	}
	x.stored = first.about
	x.publish(first)
	x.o.Maintenance.merge(x, x.mergeAt(first))
	return x, nil
}

func newSeed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}

// Apply adds changes, all or none. Documents can be found when it returns. It waits while flushes are behind, and returns
// ErrFull if they fail.
func (x *Index) Apply(changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	if err := x.o.Maintenance.makeRoom(); err != nil {
		return err
	}
	latest := make(map[string]*Document, len(changes))
	for i := range changes {
		latest[changes[i].ID] = changes[i].Document
	}
	added, err := x.build(changes, latest)
	if err != nil {
		return fmt.Errorf("index %d changes: %w", len(changes), err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return errClosed
	}
	next := x.current.clone()
	next.change = changes[len(changes)-1].Number
	now := x.o.Now()
	next.changedAt = now
	for id := range latest {
		next.kill(id, now)
	}
	if added != nil {
		next.add(part{segment: added})
	}
	if err := x.tidy(next); err != nil {
		return fmt.Errorf("merge in memory: %w", err)
	}
	x.publish(next)
	x.o.Maintenance.changed(x, next.memory(0), next.memory(next.flushing) >= x.o.FlushBytes)
	return nil
}

// build returns a segment with the documents of changes, or nil if there is none. latest contains the last change of each ID.
func (x *Index) build(changes []Change, latest map[string]*Document) (*segment, error) {
	ids := make([]string, 0, len(latest))
	documents := make([]*Document, 0, len(latest))
	for i := range changes {
		c := &changes[i]
		if c.Document != nil && latest[c.ID] == c.Document {
			ids, documents = append(ids, c.ID), append(documents, c.Document)
		}
	}
	if len(documents) == 0 {
		return nil, nil
	}
	return x.o.Lexicon.build(x.seed, ids, documents)
}

// tierInMemory is how many segments in memory of about the same size are merged to one.
const tierInMemory = 10

// flushShare is how many of the largest segments that are merged in memory are as large as a flush.
const flushShare = 64

// tidy merges the newest segments in memory while there are many of about the same size, so that single changes do not slow
// down searches. It leaves out those that are being flushed.
func (x *Index) tidy(s *Snapshot) error {
	for {
		first := s.files + s.flushing
		parts := slices.DeleteFunc(s.parts[first:], func(p part) bool { return p.liveDocs() == 0 })
		s.parts = s.parts[:first+len(parts)]
		n := 0
		for n < len(parts) && !x.leftToFlush(&parts[len(parts)-1-n]) && tier(parts[len(parts)-1-n].liveDocs(), tierInMemory) <= tier(parts[len(parts)-1].liveDocs(), tierInMemory) {
			n++
		}
		if n < tierInMemory {
			return nil
		}
		merged, err := x.mergeInMemory(parts[len(parts)-n:])
		if err != nil {
			return err
		}
		s.parts = append(s.parts[:len(s.parts)-n], merged)
	}
}

// leftToFlush reports whether a segment in memory is so large that only its flush, which is soon, merges it with others.
func (x *Index) leftToFlush(p *part) bool {
	return x.o.files != nil && int64(len(p.data)) >= x.o.FlushBytes/flushShare
}

// tier returns the number of digits of docs in a number system.
func tier(docs, base int) int {
	n := 0
	for ; docs > 0; docs /= base {
		n++
	}
	return n
}

// Close flushes and closes the index. Its snapshots stay valid until they are released.
func (x *Index) Close() error {
	err := x.Flush()
	x.Abandon()
	return err
}

// Abandon closes the index without a flush.
func (x *Index) Abandon() {
	x.closing.Store(true) // ends a flush or a merge
	x.merging.Lock()
	defer x.merging.Unlock()
	x.manifests.Lock()
	defer x.manifests.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.closed {
		x.closed = true
		x.publish(&Snapshot{index: x})
		x.o.Maintenance.forget(x)
	}
}

// Move moves the folder of an index, and removes what is at its new place.
func (x *Index) Move(dir string) error {
	x.merging.Lock()
	defer x.merging.Unlock()
	x.manifests.Lock()
	defer x.manifests.Unlock()
	f, ok := x.o.files.(*folder)
	if !ok {
		return errors.New("the index is not in a folder")
	}
	return f.move(dir)
}

// Size describes how large an index is.
type Size struct {
	Files    int64 // bytes
	Memory   int64 // bytes
	Segments int
	Docs     int64 // live ones
	Dead     int64 // documents that wait to be removed
}

// Add adds the numbers of other to s.
func (s *Size) Add(other Size) {
	s.Files += other.Files
	s.Memory += other.Memory
	s.Segments += other.Segments
	s.Docs += other.Docs
	s.Dead += other.Dead
}

// Size returns the current size.
func (x *Index) Size() Size {
	s := x.Snapshot()
	defer s.Release()
	size := Size{Segments: len(s.parts), Memory: s.memory(0), Docs: s.docs}
	for i := range s.parts {
		size.Dead += int64(s.parts[i].dead)
		if i < s.files {
			size.Files += int64(len(s.parts[i].data))
		}
	}
	return size
}

// Work counts what an index wrote since it was opened.
type Work struct{ Flushes, Merges, Rewritten int64 }

// Add adds the counts of other to w.
func (w *Work) Add(other Work) {
	w.Flushes += other.Flushes
	w.Merges += other.Merges
	w.Rewritten += other.Rewritten
}

// Work returns the current counts.
func (x *Index) Work() Work {
	return Work{Flushes: x.flushes.Load(), Merges: x.merges.Load(), Rewritten: x.rewritten.Load()}
}
