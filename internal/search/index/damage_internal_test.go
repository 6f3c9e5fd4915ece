package index

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"keepsake/internal/testing/testtier"
)

// filled creates an index with several files in a folder.
func filled(t testing.TB, l *Lexicon) (dir string, m *model) {
	t.Helper()
	dir = t.TempDir() + "/index"
	x, err := Open(dir, tiny(l, nil))
	noError(t, err)
	r := rand.New(rand.NewPCG(20, 20))
	m = &model{documents: map[string]*Document{}}
	for range 4 {
		changes := m.drawChanges(r, 30)
		m.apply(changes)
		noError(t, x.Apply(changes))
		noError(t, x.Flush())
	}
	noError(t, x.Close())
	return dir, m
}

func TestCutFilesAreNoticed(t *testing.T) {
	t.Parallel()
	l := NewLexicon()
	dir, m := filled(t, l)
	names, err := newFolder(dir).list()
	noError(t, err)
	for _, name := range names {
		path := filepath.Join(dir, name)
		data, err := os.ReadFile(path)
		noError(t, err)
		cuts := []int{0, 1, len(data) / 2, len(data) - 1}
		if s, err := readSegment(data); err == nil {
			for _, end := range s.ends {
				cuts = append(cuts, int(end), int(end)+1)
			}
		}
		for _, size := range cuts {
			noError(t, os.WriteFile(path, data[:size], 0o600))
			if x, err := Open(dir, tiny(l, nil)); err == nil {
				t.Errorf("%s was opened with %d of %d bytes", name, size, len(data))
				noError(t, x.Close())
			}
			noError(t, os.WriteFile(path, data, 0o600))
		}
	}
	x, err := Open(dir, tiny(l, nil))
	noError(t, err)
	m.check(t, x)
	noError(t, x.Close())
}

func TestTurnedBitsAreNoticed(t *testing.T) {
	t.Parallel()
	l := NewLexicon()
	dir, _ := filled(t, l)
	names, err := newFolder(dir).list()
	noError(t, err)
	r := rand.New(rand.NewPCG(21, 21))
	for _, name := range names {
		path := filepath.Join(dir, name)
		data, err := os.ReadFile(path)
		noError(t, err)
		for range testtier.Rounds(40, 1000) {
			damaged := slices.Clone(data)
			damaged[r.IntN(len(data))] ^= 1 << r.IntN(8)
			noError(t, os.WriteFile(path, damaged, 0o600))
			x, err := Open(dir, tiny(l, nil))
			if err == nil {
				if x.Verify() == nil {
					t.Errorf("a turned bit of %s was not noticed", name)
				}
				_ = x.Close()
			}
		}
		noError(t, os.WriteFile(path, data, 0o600))
	}
}

// FuzzSegment changes bytes of the sections of a segment. Reading it must end, with an error if it fails.
func FuzzSegment(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 0, 255, 1, 0, 255})
	r := rand.New(rand.NewPCG(22, 22))
	whole := buildSegment(f, NewLexicon(), drawStored(r, 0, 300)).data
	queries := []*Query{
		{Any: []Word{{Stem: "fox"}, {Stem: "the"}, {Word: "ru", Stem: "ru", Form: Prefix}}, Limit: 5, Facets: []Facet{Tags(), Entries("color"), Entries("size")}},
		{All: []Phrase{{{Word: Word{Stem: "the"}}, {Word: Word{Stem: "fox"}, Offset: 1}}}, Not: []Phrase{{{Word: Word{Stem: "zebra"}}}}, Limit: 5},
		{Any: []Word{{Word: "猫", Form: AsIs}}, Filters: []Filter{{Any: []Range{Above(Number("size", 0), true)}}}, Scope: Collection("notes"), Sort: NewestFirst, Limit: 5},
	}
	f.Fuzz(func(t *testing.T, changes []byte) {
		data := slices.Clone(whole)
		for ; len(changes) >= 3; changes = changes[3:] {
			data[int(binary.LittleEndian.Uint16(changes))%(len(data)-footerSize)] ^= changes[2]
		}
		s, err := readSegment(data)
		noError(t, err)
		snapshot := &Snapshot{index: &Index{seed: testSeed}, parts: []part{{segment: s}}, docs: int64(s.docs), titles: s.titles, texts: s.texts, byLanguage: s.byLanguage}
		only := func(err error) {
			if err != nil && !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
		}
		for _, q := range queries {
			_, err := snapshot.Search(q, nil)
			only(err)
		}
		_, err = snapshot.Near("zebrra", 2, 1, "", nil)
		only(err)
		only(mergeDamaged(s))
	})
}

func mergeDamaged(s *segment) (err error) {
	defer recoverCorrupt(&err)
	var out bytes.Buffer
	if err := merge(io.MultiWriter(&out), testSeed, []*source{{segment: s}, {segment: s}}, nil); err != nil {
		return err
	}
	_, err = readSegment(out.Bytes())
	return err
}
