package index

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/testing/testtier"
)

// model is what an index must contain.
type model struct {
	change    int64
	documents map[string]*Document
}

func (m *model) clone() *model { return &model{m.change, maps.Clone(m.documents)} }

func (m *model) apply(changes []Change) {
	for _, c := range changes {
		m.change = c.Number
		if c.Document == nil {
			delete(m.documents, c.ID)
		} else {
			m.documents[c.ID] = c.Document
		}
	}
}

// drawChanges draws writes, replacements and deletions.
func (m *model) drawChanges(r *rand.Rand, ids int) []Change {
	changes := make([]Change, 1+r.IntN(1+r.IntN(30)))
	for i := range changes {
		changes[i] = Change{Number: m.change + int64(i) + 1, ID: fmt.Sprintf("id-%d", r.IntN(ids))}
		if r.IntN(4) > 0 {
			changes[i].Document = drawDocument(r)
		}
	}
	return changes
}

// byID returns the lists of a content with IDs for documents, sorted.
func (c content) byID() content {
	out := content{Lists: map[string][]string{}}
	for term, postings := range c.Lists {
		for _, p := range postings {
			doc, rest, _ := strings.Cut(p, " ")
			n := 0
			_, _ = fmt.Sscan(doc, &n)
			id, _, _ := strings.Cut(c.Rows[n], " ")
			out.Lists[term] = append(out.Lists[term], id+" "+rest)
		}
		slices.Sort(out.Lists[term])
	}
	out.Rows = slices.Clone(c.Rows)
	slices.Sort(out.Rows)
	return out
}

// liveContent returns what a snapshot contains.
func liveContent(t *testing.T, s *Snapshot) content {
	t.Helper()
	all := content{Lists: map[string][]string{}}
	for i := range s.parts {
		p := &s.parts[i]
		c := readContent(t, p.segment)
		if p.live != nil && p.dead != int(p.docs)-p.live.count() {
			t.Fatalf("a part counts %d dead documents of %d, %d are live", p.dead, p.docs, p.live.count())
		}
		for term, postings := range c.Lists {
			for _, posting := range postings {
				doc := uint32(0)
				number, rest, cut := strings.Cut(posting, " ")
				_, _ = fmt.Sscan(number, &doc)
				if p.isLive(doc) {
					number = fmt.Sprint(len(all.Rows) + int(doc))
					if cut {
						number += " " + rest
					}
					all.Lists[term] = append(all.Lists[term], number)
				}
			}
		}
		all.Rows = append(all.Rows, c.Rows...)
	}
	out := all.byID()
	out.Rows = nil
	for i := range s.parts {
		p := &s.parts[i]
		for doc := range p.docs {
			if p.isLive(doc) {
				title, text := p.lengthsOf(doc)
				out.Rows = append(out.Rows, fmt.Sprint(string(p.id(doc)), " ", title, " ", text, " ", p.time(doc), " ", p.language(doc)))
			}
		}
	}
	slices.Sort(out.Rows)
	return out
}

func (m *model) content() content {
	var all []stored
	for _, id := range slices.Sorted(maps.Keys(m.documents)) {
		all = append(all, stored{id, m.documents[id]})
	}
	return contentOf(all).byID()
}

// check compares an index with the model.
func (m *model) check(t *testing.T, x *Index) {
	t.Helper()
	s := x.Snapshot()
	defer s.Release()
	want, got := m.content(), liveContent(t, s)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("index at change %d (-want +got):\n%s", s.change, diff)
	}
	if s.change != m.change || s.docs != int64(len(m.documents)) {
		t.Fatalf("the index has %d documents at change %d, want %d at %d", s.docs, s.change, len(m.documents), m.change)
	}
	titles, texts, languages := int64(0), int64(0), languageCounts{}
	for i := range s.parts {
		for doc := range s.parts[i].docs {
			if s.parts[i].isLive(doc) {
				title, text := s.parts[i].lengthsOf(doc)
				titles, texts = titles+title, texts+text
				languages[s.parts[i].language(doc)]++
			}
		}
	}
	if s.titles != titles || s.texts != texts {
		t.Fatalf("sums of lengths are %d and %d, want %d and %d", s.titles, s.texts, titles, texts)
	}
	if s.byLanguage != languages {
		t.Fatalf("documents by language are %v, want %v", s.byLanguage, languages)
	}
}

// tiny makes flushes and merges frequent.
func tiny(l *Lexicon, f files) Options {
	return Options{Lexicon: l, SmallBytes: 1, FlushBytes: 1, files: f, Now: func() time.Time { return time.Time{} }}
}

func TestIndexContainsWhatWasWritten(t *testing.T) {
	t.Parallel()
	l := NewLexicon()
	for round := range testtier.Rounds(4, 60) {
		r := rand.New(rand.NewPCG(5, uint64(round)))
		o, dir := tiny(l, nil), ""
		if round%2 == 0 {
			dir = t.TempDir() + "/index"
		}
		m := &model{documents: map[string]*Document{}}
		x, err := Open(dir, o)
		noError(t, err)
		for range 40 {
			switch r.IntN(8) {
			case 0:
				noError(t, x.Flush())
			case 1:
				_, err := x.Merge()
				noError(t, err)
			case 2:
				if dir != "" && r.IntN(3) == 0 {
					noError(t, x.Close())
					x, err = Open(dir, o)
					noError(t, err)
				}
			default:
				changes := m.drawChanges(r, 60)
				m.apply(changes)
				noError(t, x.Apply(changes))
			}
			if r.IntN(10) == 0 {
				m.check(t, x)
			}
		}
		for merged := true; merged; {
			merged, err = x.Merge()
			noError(t, err)
		}
		m.check(t, x)
		noError(t, x.Close())
		if err := x.Apply([]Change{{Number: 1, ID: "x"}}); !errors.Is(err, errClosed) {
			t.Errorf("writing to a closed index: %v", err)
		}
	}
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A snapshot does not change, whatever is written, flushed and merged after it.
func TestSnapshotStaysAsItWas(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(6, 6))
	x, err := Open(t.TempDir(), tiny(NewLexicon(), nil))
	noError(t, err)
	m := &model{documents: map[string]*Document{}}
	type kept struct {
		*Snapshot
		want content
	}
	var all []kept
	for round := range 60 {
		changes := m.drawChanges(r, 40)
		m.apply(changes)
		noError(t, x.Apply(changes))
		if round%3 == 0 {
			noError(t, x.Flush())
		}
		if round%7 == 0 {
			_, err := x.Merge()
			noError(t, err)
		}
		if round%12 == 0 {
			all = append(all, kept{x.Snapshot(), m.content()})
		}
	}
	noError(t, x.Close())
	for _, k := range all {
		if diff := cmp.Diff(k.want, liveContent(t, k.Snapshot)); diff != "" {
			t.Errorf("snapshot at change %d (-want +got):\n%s", k.change, diff)
		}
		k.Release()
	}
}

// Writers, flushes, merges and readers can run at the same time.
func TestIndexIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	x, err := Open(t.TempDir(), tiny(NewLexicon(), nil))
	noError(t, err)
	m := &model{documents: map[string]*Document{}}
	done := make(chan struct{})
	ended := make(chan error, 3)
	loop := func(do func() error) {
		for {
			select {
			case <-done:
				ended <- nil
				return
			default:
				if err := do(); err != nil {
					ended <- err
					return
				}
			}
		}
	}
	go loop(x.Flush)
	go loop(func() error { _, err := x.Merge(); return err })
	go loop(func() error {
		s := x.Snapshot()
		defer s.Release()
		docs := 0
		for i := range s.parts {
			docs += s.parts[i].liveDocs()
		}
		if int64(docs) != s.docs {
			return fmt.Errorf("a snapshot has %d documents and counts %d", docs, s.docs)
		}
		return x.Verify()
	})
	r := rand.New(rand.NewPCG(7, 7))
	for range testtier.Rounds(100, 1000) {
		changes := m.drawChanges(r, 50)
		m.apply(changes)
		noError(t, x.Apply(changes))
	}
	close(done)
	for range 3 {
		noError(t, <-ended)
	}
	m.check(t, x)
	noError(t, x.Close())
}

// watchedFiles are files of which each is created or replaced after a call.
type watchedFiles struct {
	files
	before func() error
}

func (f *watchedFiles) create(name string) (file, error) {
	if err := f.before(); err != nil {
		return nil, err
	}
	return f.files.create(name)
}

func (f *watchedFiles) rename(from, to string) error {
	if err := f.before(); err != nil {
		return err
	}
	return f.files.rename(from, to)
}

// Changes during a flush, and the first after it, fit what the flush leaves in memory, also if it fails or panics.
func TestChangesDuringAFlush(t *testing.T) {
	t.Parallel()
	l := NewLexicon()
	for round := range testtier.Rounds(15, 1000) {
		r := rand.New(rand.NewPCG(10, uint64(round)))
		m := &model{documents: map[string]*Document{}}
		f := &watchedFiles{files: newDisk(r), before: func() error { return nil }}
		o := tiny(l, f)
		var x *Index
		o.Now = func() time.Time {
			if x != nil && x.current.files+x.current.flushing > len(x.current.parts) {
				t.Errorf("round %d: %d files, and %d segments that are being flushed, are among %d", round, x.current.files, x.current.flushing, len(x.current.parts))
			}
			return time.Time{}
		}
		x, err := Open("", o)
		noError(t, err)
		write := func(n int) {
			for range n {
				changes := m.drawChanges(r, 30)
				m.apply(changes)
				noError(t, x.Apply(changes))
			}
		}
		for range 4 {
			write(1 + r.IntN(15))
			left, how := 1+r.IntN(3), r.IntN(4)
			f.before = func() error {
				write(r.IntN(12))
				if left--; left > 0 {
					return nil
				}
				switch how {
				case 0:
					return errDisk
				case 1:
					var none []int
					return fmt.Errorf("%d", none[left])
				}
				return nil
			}
			if err := x.Flush(); (err != nil) != (left <= 0 && how < 2) {
				t.Fatalf("round %d: %v", round, err)
			}
			if x.current.flushing != 0 {
				t.Fatalf("round %d: after a flush, %d segments are being flushed", round, x.current.flushing)
			}
			write(1)
			m.check(t, x)
			f.before = func() error { return nil }
			if r.IntN(3) == 0 {
				_, err := x.Merge()
				noError(t, err)
			}
		}
		noError(t, x.Flush())
		x.Abandon()
		x = nil
		x, err = Open("", o)
		noError(t, err)
		m.check(t, x)
		noError(t, x.Close())
	}
}

func TestSmallIndexHasNoFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/index"
	x, err := Open(dir, Options{})
	noError(t, err)
	noError(t, x.Apply([]Change{{Number: 1, ID: "a", Document: &Document{Text: "fox"}}}))
	noError(t, x.Close())
	if names, err := newFolder(dir).list(); err != nil || len(names) != 0 {
		t.Errorf("the folder contains %v, %v", names, err)
	}
}

// A document that is written alone is rewritten a few times until it is in a large file.
func TestDocumentsAreRewrittenAFewTimes(t *testing.T) {
	t.Parallel()
	x, err := Open(t.TempDir(), Options{SmallBytes: 1})
	noError(t, err)
	n := testtier.Rounds(3_000, 100_000)
	for i := range n {
		noError(t, x.Apply([]Change{{Number: int64(i + 1), ID: fmt.Sprint("id", i), Document: &Document{Text: "fox"}}}))
		if i%500 == 499 {
			noError(t, x.Flush())
			for merged := true; merged; {
				merged, err = x.Merge()
				noError(t, err)
			}
		}
	}
	if size := x.Size(); size.Docs != int64(n) || size.Segments > 60 {
		t.Errorf("the size is %+v", size)
	}
	if work := x.Work(); work.Rewritten > 6*int64(n) {
		t.Errorf("%d documents were written %d times", n, work.Rewritten)
	}
	noError(t, x.Close())
}

// Batches of an import stay as they are until the flush, which is the first time that their documents are written again. An
// index without files is never flushed, so they are merged in memory.
func TestLargeSegmentsWaitForTheFlush(t *testing.T) {
	t.Parallel()
	fill := func(dir string) *Index {
		x, err := Open(dir, Options{FlushBytes: 32 << 10, SmallBytes: 1})
		noError(t, err)
		r := rand.New(rand.NewPCG(3, 4))
		for batch := range 3 * tierInMemory {
			changes := make([]Change, 30)
			for i := range changes {
				n := batch*len(changes) + i
				changes[i] = Change{Number: int64(n + 1), ID: fmt.Sprint("id-", n), Document: drawDocument(r)}
			}
			noError(t, x.Apply(changes))
		}
		return x
	}
	x := fill(t.TempDir())
	if size := x.Size(); size.Segments != 3*tierInMemory {
		t.Errorf("%d batches are %d segments before the flush", 3*tierInMemory, size.Segments)
	}
	noError(t, x.Flush())
	if size, work := x.Size(), x.Work(); work.Rewritten != size.Docs {
		t.Errorf("%d documents were written again for %d", work.Rewritten, size.Docs)
	}
	if size := fill("").Size(); size.Segments >= 3*tierInMemory {
		t.Errorf("an index without files has %d segments", size.Segments)
	}
}
