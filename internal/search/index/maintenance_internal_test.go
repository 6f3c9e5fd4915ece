package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// filesWith returns how many files of a folder contain a text, and how many there are.
func filesWith(t *testing.T, dir, text string) (with, all int) {
	t.Helper()
	names, err := newFolder(dir).list()
	noError(t, err)
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		noError(t, err)
		if bytes.Contains(data, []byte(text)) {
			with++
		}
	}
	return with, len(names)
}

func maintained(t *testing.T, do func(m *Maintenance)) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMaintenance(slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { m.Run(ctx); close(ended) }()
		do(m)
		cancel()
		<-ended
	})
}

func TestChangesAreFlushedAfterAPause(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/index"
	maintained(t, func(m *Maintenance) {
		x, err := Open(dir, Options{Maintenance: m, SmallBytes: 1})
		noError(t, err)
		for i := range 3 {
			noError(t, x.Apply([]Change{{Number: int64(i + 1), ID: "a", Document: &Document{Text: "xylophone"}}}))
			time.Sleep(flushDelay - time.Second)
			synctest.Wait()
			if _, n := filesWith(t, dir, "xylophone"); n != 0 {
				t.Errorf("after change %d there are %d files", i+1, n)
			}
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if with, n := filesWith(t, dir, "xylophon"); with != 1 || n != 2 {
			t.Errorf("after the pause %d of %d files contain the word", with, n)
		}
		noError(t, x.Close())
	})
}

// A flush of a full memory is in the middle of an import. A pause is its end, when the lexicon is emptied.
func TestLexiconIsEmptyAfterAPause(t *testing.T) {
	t.Parallel()
	lexicon := NewLexicon()
	maintained(t, func(m *Maintenance) {
		x, err := Open(t.TempDir()+"/index", Options{Maintenance: m, Lexicon: lexicon, SmallBytes: 1, FlushBytes: 1 << 10})
		noError(t, err)
		large := Document{Text: strings.Repeat("internationalisation of xylophones ", 500)}
		noError(t, x.Apply([]Change{{Number: 1, ID: "a", Document: &large}}))
		synctest.Wait()
		if n := x.Work().Flushes; n != 1 || len(lexicon.short)+len(lexicon.long) != 3 {
			t.Errorf("after %d flushes, the lexicon contains %d and %d spellings", n, len(lexicon.short), len(lexicon.long))
		}
		for pause, flushes := range []int64{1, 2} { // nothing remains to be flushed, or a little
			if pause == 1 {
				noError(t, x.Apply([]Change{{Number: 2, ID: "b", Document: &Document{Text: "stone"}}}))
			}
			time.Sleep(flushDelay)
			synctest.Wait()
			if n := x.Work().Flushes; n != flushes || len(lexicon.short)+len(lexicon.long)+len(lexicon.numbers) != 0 || cap(lexicon.scratch.log) != 0 {
				t.Errorf("after %d flushes and a pause, the lexicon contains %d and %d spellings", n, len(lexicon.short), len(lexicon.long))
			}
		}
		noError(t, x.Close())
	})
}

func TestContinuousChangesAreFlushedEachMinute(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/index"
	maintained(t, func(m *Maintenance) {
		x, err := Open(dir, Options{Maintenance: m, SmallBytes: 1})
		noError(t, err)
		for i := range 5 * 60 {
			noError(t, x.Apply([]Change{{Number: int64(i + 1), ID: "a", Document: &Document{Text: "xylophone"}}}))
			time.Sleep(time.Second)
		}
		if n := x.Work().Flushes; n < 4 || n > 5 {
			t.Errorf("in five minutes of changes there were %d flushes", n)
		}
		noError(t, x.Close())
	})
}

func TestManyChangesAreFlushedAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/index"
	maintained(t, func(m *Maintenance) {
		x, err := Open(dir, Options{Maintenance: m, SmallBytes: 1, FlushBytes: 1})
		noError(t, err)
		noError(t, x.Apply([]Change{{Number: 1, ID: "a", Document: &Document{Text: "xylophone"}}}))
		synctest.Wait()
		if with, n := filesWith(t, dir, "xylophon"); with != 1 || n != 2 {
			t.Errorf("%d of %d files contain the word", with, n)
		}
		noError(t, x.Close())
	})
}

// The words of a deleted document leave the files an hour after its death, or a day if the file is large.
func TestDeletedWordsLeaveTheFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/index"
	maintained(t, func(m *Maintenance) {
		x, err := Open(dir, Options{Maintenance: m, SmallBytes: 1})
		noError(t, err)
		var changes []Change
		for i := range 50 {
			changes = append(changes, Change{Number: int64(i + 1), ID: fmt.Sprint(i), Document: &Document{Text: "stone and sand"}})
		}
		changes[7].Document = &Document{Text: "xylophone", Keys: []string{Tag("xtag")}}
		noError(t, x.Apply(changes))
		time.Sleep(time.Minute)
		noError(t, x.Apply([]Change{{Number: 51, ID: "7"}}))
		time.Sleep(smallFileAge - time.Second)
		synctest.Wait()
		if with, _ := filesWith(t, dir, "xylophon"); with != 1 {
			t.Errorf("before the hour ends %d files contain the word", with)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		for _, text := range []string{"xylophon", "xtag"} {
			if with, n := filesWith(t, dir, text); with != 0 || n != 2 {
				t.Errorf("after an hour %d of %d files contain %q", with, n, text)
			}
		}
		if size := x.Size(); size.Docs != 49 || size.Dead != 0 {
			t.Errorf("the size is %+v", size)
		}
		noError(t, x.Close())
	})
}

// Many small files are merged while an index is changed, and fewer when it rests.
func TestFilesAreMergedInTheBackground(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/index"
	maintained(t, func(m *Maintenance) {
		x, err := Open(dir, Options{Maintenance: m, SmallBytes: 1, FlushBytes: 1})
		noError(t, err)
		const docs = tierAtRest * tierOfFiles
		for i := range docs {
			noError(t, x.Apply([]Change{{Number: int64(i + 1), ID: fmt.Sprint(i), Document: &Document{Text: strings.Repeat("stone ", i)}}}))
			synctest.Wait()
		}
		if size := x.Size(); size.Segments != tierAtRest || size.Docs != docs || size.Memory != 0 {
			t.Errorf("the size is %+v", size)
		}
		for i := range 2 {
			time.Sleep(restDelay - time.Second)
			noError(t, x.Apply([]Change{{Number: int64(docs + i + 1), ID: "unknown"}}))
			synctest.Wait()
		}
		if size := x.Size(); size.Segments != tierAtRest {
			t.Errorf("before it rests, the size is %+v", size)
		}
		time.Sleep(restDelay)
		synctest.Wait()
		if size := x.Size(); size.Segments != 1 || size.Docs != docs {
			t.Errorf("at rest the size is %+v", size)
		}
		noError(t, x.Close())
	})
}

// slowFiles are files of which each is created when the test allows it.
type slowFiles struct {
	files
	allow chan struct{}
}

func (f *slowFiles) create(name string) (file, error) {
	<-f.allow
	return f.files.create(name)
}

// What is being flushed does not count for the next flush, which would otherwise write a small file.
func TestFlushesAreLarge(t *testing.T) {
	t.Parallel()
	maintained(t, func(m *Maintenance) {
		slow := &slowFiles{files: newFolder(t.TempDir() + "/index"), allow: make(chan struct{})}
		x, err := Open("", Options{Maintenance: m, SmallBytes: 1, FlushBytes: 10 << 10, files: slow})
		noError(t, err)
		number := int64(0)
		write := func() {
			number++
			noError(t, x.Apply([]Change{{Number: number, ID: fmt.Sprint(number), Document: &Document{Text: strings.Repeat(fmt.Sprint("w", number, " "), 1000)}}}))
		}
		for x.Size().Memory < 10<<10 {
			write()
		}
		synctest.Wait() // the flush waits for its file
		write()
		close(slow.allow)
		synctest.Wait()
		if n := x.Work().Flushes; n != 1 || x.Size().Memory == 0 {
			t.Errorf("after %d flushes, the size is %+v", n, x.Size())
		}
		noError(t, x.Close())
	})
}

// Without a flusher, writers flush what is largest, so the memory stays bounded.
func TestWritersFlushWhenFlushesAreBehind(t *testing.T) {
	t.Parallel()
	m := NewMaintenance(slog.New(slog.DiscardHandler))
	m.maxMemory = 64 << 10
	var open []*Index
	for range 3 {
		x, err := Open(t.TempDir()+"/index", Options{Maintenance: m, SmallBytes: 1})
		noError(t, err)
		open = append(open, x)
	}
	most := int64(0)
	for i := range 300 {
		x := open[i%3]
		if i%9 > 3 { // one grows faster
			x = open[0]
		}
		noError(t, x.Apply([]Change{{Number: int64(i + 1), ID: fmt.Sprint(i), Document: &Document{Text: fmt.Sprint("stone ", strings.Repeat(fmt.Sprint("w", i, " "), 200))}}}))
		sum := int64(0)
		for _, x := range open {
			sum += x.Size().Memory
		}
		most = max(most, sum)
	}
	if flushed := open[0].Work().Flushes; flushed == 0 || most > m.maxMemory+8<<10 {
		t.Errorf("up to %d bytes were in memory, want %d; the largest index was flushed %d times", most, m.maxMemory, flushed)
	}
	for _, x := range open {
		noError(t, x.Close())
	}
	if len(m.memory) != 0 {
		t.Errorf("%d closed indexes count", len(m.memory))
	}
}

func TestChangesAreRefusedWhileFlushesFail(t *testing.T) {
	t.Parallel()
	m := NewMaintenance(slog.New(slog.DiscardHandler))
	m.maxMemory = 16 << 10
	d := newDisk(rand.New(rand.NewPCG(1, 1)))
	x, err := Open("", Options{Maintenance: m, SmallBytes: 1, files: d})
	noError(t, err)
	d.dead = true
	number := int64(0)
	write := func() error {
		number++
		return x.Apply([]Change{{Number: number, ID: fmt.Sprint(number), Document: &Document{Text: strings.Repeat("stone ", 100)}}})
	}
	for err = nil; err == nil; err = write() {
		if number > 1_000 {
			t.Fatal("changes are still accepted")
		}
	}
	if size := x.Size(); !errors.Is(err, ErrFull) || size.Docs != number-1 || size.Memory > m.maxMemory+4<<10 {
		t.Errorf("the error is %v, and the size %+v", err, size)
	}
	d.dead = false
	noError(t, write())
	if size := x.Size(); size.Docs != number-1 || size.Files == 0 { // the refused one is missing
		t.Errorf("afterwards the size is %+v", size)
	}
	noError(t, x.Close())
}

// Nothing keeps an index that is closed, also if it is closed during a flush.
func TestClosedIndexesAreForgotten(t *testing.T) {
	t.Parallel()
	m := NewMaintenance(slog.New(slog.DiscardHandler))
	f := &watchedFiles{files: newFolder(t.TempDir() + "/index"), before: func() error { return nil }}
	x, err := Open("", Options{Maintenance: m, SmallBytes: 1, files: f})
	noError(t, err)
	closed := make(chan struct{})
	for i := range tierAtRest {
		noError(t, x.Apply([]Change{{Number: int64(i + 1), ID: fmt.Sprint(i), Document: &Document{Text: "stone"}}}))
		if i == tierAtRest-1 {
			creates := 0
			f.before = func() error {
				if creates++; creates == 2 { // the manifest, so the flush cannot end early any more
					go func() { x.Abandon(); close(closed) }()
					for !x.closing.Load() {
						runtime.Gosched()
					}
				}
				return nil
			}
		}
		noError(t, x.Flush())
	}
	<-closed
	if n := len(m.dirty) + len(m.since) + len(m.memory) + len(m.aging); n != 0 {
		t.Errorf("a closed index is kept: %v, %v, %v, %v", m.dirty, m.since, m.memory, m.aging)
	}
}

// A document that is deleted while files are merged leaves the files in time, at whichever moment of the merge it is deleted.
func TestWordsDeletedDuringAMergeLeaveTheFiles(t *testing.T) {
	t.Parallel()
	for moment := 1; deletedAt(t, moment); moment++ {
	}
}

// deletedAt deletes a document when the clock is read for the nth time from when on files are merged, except while the index
// is locked. It returns false if the clock is read less often.
func deletedAt(t *testing.T, n int) (deleted bool) {
	dir := t.TempDir() + "/index"
	maintained(t, func(m *Maintenance) {
		var x *Index
		var counting atomic.Bool
		var read atomic.Int64
		docs := int64(0)
		now := func() time.Time {
			if !counting.Load() || !m.mu.TryLock() {
				return time.Now()
			}
			m.mu.Unlock()
			if !x.mu.TryLock() {
				return time.Now()
			}
			x.mu.Unlock()
			if read.Add(1) == int64(n) {
				deleted = true
				if err := errors.Join(x.Apply([]Change{{Number: docs + 1, ID: "xylophone"}}), x.Flush()); err != nil {
					t.Error(err)
				}
			}
			return time.Now()
		}
		x, err := Open(dir, Options{Maintenance: m, SmallBytes: 1, FlushBytes: 1, Now: now})
		noError(t, err)
		for range tierAtRest {
			var changes []Change
			for range 20 {
				docs++
				changes = append(changes, Change{Number: docs, ID: fmt.Sprint(docs), Document: &Document{Text: "stone and sand"}})
			}
			if docs == 20 {
				changes[7].ID, changes[7].Document = "xylophone", &Document{Text: "xylophone"}
			}
			noError(t, x.Apply(changes))
			synctest.Wait()
		}
		counting.Store(true)
		time.Sleep(restDelay)
		synctest.Wait()
		counting.Store(false)
		time.Sleep(smallFileAge + restDelay)
		synctest.Wait()
		if with, files := filesWith(t, dir, "xylophon"); deleted && with != 0 {
			t.Errorf("deleted at moment %d, the word is in %d of %d files", n, with, files)
		}
		noError(t, x.Close())
	})
	return deleted
}
