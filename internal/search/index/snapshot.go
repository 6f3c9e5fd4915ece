package index

import (
	"slices"
	"time"

	"keepsake/internal/base/text"
)

// Snapshot is an index as it was after a change. It is released when it is no longer needed.
type Snapshot struct {
	index    *Index
	uses     int    // guarded by index.snapshots; the current snapshot of an index has one use more
	parts    []part // first the files, then the segments in memory; each from old to new
	files    int    // parts that are files
	flushing int    // parts after these that are being flushed
	about
	fields []FieldWeight // entries of metadata in which Near, Count and Begins look for words
	docs   int64         // live documents
	titles int64         // sums of their coded lengths
	texts  int64

	byLanguage languageCounts // live documents
	changedAt  time.Time      // zero: before the index was opened
}

// about is what is known about the documents of an index.
type about struct {
	change int64  // the last one in the index
	label  string // how its documents were made
	seen   Seen
}

// part is a segment with its dead documents. Its bitmaps are copied before they are changed.
type part struct {
	*segment
	live  bitmap // nil: all
	dead  int
	since time.Time // when the first of the dead documents died
	saved bitmap    // live documents according to the manifest; nil: all
	owned bool      // live was copied for a snapshot that is not published yet
}

func (p *part) liveDocs() int { return int(p.docs) - p.dead }

func (p *part) isLive(doc uint32) bool { return p.live == nil || p.live.has(doc) }

// Snapshot returns the current snapshot, which must be released.
func (x *Index) Snapshot() *Snapshot {
	x.snapshots.Lock()
	defer x.snapshots.Unlock()
	x.current.uses++
	return x.current
}

// publish makes s the current snapshot. Except in Open, the caller holds x.mu.
func (x *Index) publish(s *Snapshot) {
	s.uses = 1
	for i := range s.parts {
		s.parts[i].owned = false
		s.parts[i].uses.Add(1)
	}
	x.snapshots.Lock()
	before := x.current
	x.current = s
	x.snapshots.Unlock()
	if before != nil {
		before.Release()
	}
}

// Empty returns a snapshot of an index without documents.
func Empty() *Snapshot { return &Snapshot{index: &Index{}, uses: 1} }

// Release ends a use of the snapshot.
func (s *Snapshot) Release() {
	s.index.snapshots.Lock()
	s.uses--
	last := s.uses == 0
	s.index.snapshots.Unlock()
	if !last {
		return
	}
	for i := range s.parts {
		if p := &s.parts[i]; p.uses.Add(-1) == 0 && p.unmap != nil {
			_ = p.unmap()
		}
	}
}

// Change returns the number of the last change in the snapshot, or 0.
func (s *Snapshot) Change() int64 { return s.change }

// Label returns the label of the index, which says how its documents were made.
func (s *Snapshot) Label() string { return s.label }

// View returns a view of the snapshot in which Near, Count and Begins also look for words in entries of metadata. It is valid as long as
// the snapshot, and not released.
func (s *Snapshot) View(fields []FieldWeight) *Snapshot {
	view := *s
	view.fields = fields
	return &view
}

// Seen identifies a state of the documents, see document.State.
type Seen struct {
	Change int64 `json:"change"`
	Mark   int64 `json:"mark"`
}

// Seen returns the last state of which the index can contain changes. Without changes it is empty.
func (s *Snapshot) Seen() Seen { return s.seen }

// SetSeen changes Seen. It is called before changes of the state are applied, and stored with them.
func (x *Index) SetSeen(seen Seen) error {
	return x.change(func(next *Snapshot) { next.seen = seen })
}

// SetLabel changes the label. It is stored with the next flush. It must not run at the same time as Apply.
func (x *Index) SetLabel(label string) error {
	return x.change(func(next *Snapshot) { next.label = label })
}

func (x *Index) change(do func(next *Snapshot)) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return errClosed
	}
	next := x.current.clone()
	do(next)
	x.publish(next)
	return nil
}

// Documents returns how many documents have a term, such as that of a collection.
func (s *Snapshot) Documents(term string) (docs int64, err error) {
	defer recoverCorrupt(&err)
	run := &search{snapshot: s, q: &Query{}}
	if err := run.openScope(); err != nil {
		return 0, err
	}
	return run.frequency(term)
}

// clone returns a copy to be changed and published.
func (s *Snapshot) clone() *Snapshot {
	return &Snapshot{
		index: s.index, parts: slices.Clone(s.parts), files: s.files, flushing: s.flushing,
		about: s.about, docs: s.docs, titles: s.titles, texts: s.texts, byLanguage: s.byLanguage, changedAt: s.changedAt,
	}
}

// add adds a segment in memory.
func (s *Snapshot) add(p part) {
	s.parts = append(s.parts, p)
	s.docs += int64(p.docs)
	s.titles += p.titles
	s.texts += p.texts
	for l, docs := range p.byLanguage {
		s.byLanguage[l] += docs
	}
}

// kill marks the document with an ID as dead, if there is one.
func (s *Snapshot) kill(id string, now time.Time) {
	hash := hashOf(s.index.seed, id)
	for i := range s.parts {
		p := &s.parts[i]
		doc, ok := p.find(id, hash)
		if !ok || !p.isLive(doc) {
			continue
		}
		if !p.owned {
			p.own()
		}
		p.live.remove(doc)
		if p.dead++; p.dead == 1 {
			p.since = now
		}
		s.subtract(p, doc)
		return
	}
}

// subtract takes a dead document out of the statistics.
func (s *Snapshot) subtract(p *part, doc uint32) {
	title, text := p.lengthsOf(doc)
	s.docs--
	s.titles -= title
	s.texts -= text
	s.byLanguage[p.language(doc)]--
}

// own copies live, so that it can be changed.
func (p *part) own() {
	p.owned = true
	if p.live == nil {
		p.live = full(p.docs)
	} else {
		p.live = slices.Clone(p.live)
	}
}

func (p *part) lengthsOf(doc uint32) (title, text int64) {
	return int64(lengths[p.lengths[2*doc]]), int64(lengths[p.lengths[2*doc+1]])
}

// memory returns the size of the segments in memory, without the oldest ones.
func (s *Snapshot) memory(without int) int64 {
	n := int64(0)
	for i := s.files + without; i < len(s.parts); i++ {
		n += int64(len(s.parts[i].data))
	}
	return n
}

// Statistics are the counts that scores depend on.
type Statistics struct {
	Docs   int64 `json:"n"`
	Titles int64 `json:"t"` // sums of coded lengths
	Texts  int64 `json:"x"`
	// The languages of the documents.
	Languages text.LanguageSet `json:"l"`
	// Documents with each word of a query, in the order of its words, with their other spellings, and of the words of its phrases.
	Frequencies []int64 `json:"f"`
	// Hashes of the words that share parts with each word of a query.
	Parts [][]byte `json:"g,omitempty"`
}

// Docs returns the number of documents.
func (s *Snapshot) Docs() int64 { return s.docs }

// Languages returns the languages of the documents.
func (s *Snapshot) Languages() text.LanguageSet { return s.byLanguage.set() }
