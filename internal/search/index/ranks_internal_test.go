package index

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"keepsake/internal/testing/testtier"
)

// A part of a list finds the documents that a list of only these finds, however far it is moved at once.
func TestPartOfAListSeeksAnyDocument(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 5))
	for range testtier.Rounds(200, 2000) {
		var out bytes.Buffer
		w := &segmentWriter{out: output{Writer: &out}}
		w.list.reset(true)
		var docs, some, kept []uint32
		share := 1 + r.IntN(1+r.IntN(300)) // of the documents of the stem, the word has one of so many
		for doc, n := uint32(r.IntN(5)), 1+r.IntN(1000); len(docs) < n; doc += 1 + uint32(r.IntN(1+r.IntN(50))) {
			if r.IntN(share) == 0 {
				some, kept = append(some, uint32(len(docs))), append(kept, doc)
			}
			docs = append(docs, doc)
			w.list.appendPosition(doc+1, 0)
			w.list.add(doc, 0, 1)
		}
		if len(some) == 0 {
			continue
		}
		stem, err := w.addList([]byte("stem"))
		noError(t, err)
		noError(t, w.addPart([]byte("word"), stem, some))
		d := dictionary{data: w.dictionary.data, groups: make([]byte, 4), terms: 2}
		e, ok := d.find("word")
		if want := len(some) < len(docs); !ok || int(e.count) != len(some) || (e.form == partList) != want || (e.form == sharedList) == want {
			t.Fatalf("with %d of %d documents the entry is %+v, %v", len(some), len(docs), e, ok)
		}
		lists := append(out.Bytes(), make([]byte, slack)...)
		var l list
		l.open(lists, e)
		var all []uint32
		for doc := l.seek(0); doc != noDoc; doc = l.next() {
			all = append(all, doc)
		}
		if !slices.Equal(all, kept) {
			t.Fatalf("read %v, want %v", all, kept)
		}
		l.open(lists, e)
		seekAny(t, r, &l, kept)
	}
}

// Ranks are as long as the shorter of their encodings, and read as they were written.
func TestRanksAreShort(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		stem uint32
		some []uint32
		size int // with the number of the stem's documents
	}{
		{2, []uint32{1}, 2},
		{1000, []uint32{0, 999}, 2 + 3},
		{1000, all(0, 990), 2 + 125},
		{16, all(0, 15), 1 + 2},
	} {
		data := appendRanks(nil, c.some, c.stem)
		if len(data) != c.size {
			t.Errorf("%d of %d ranks take %d bytes, want %d", len(c.some), c.stem, len(data), c.size)
		}
		var r ranks
		var got []uint32
		if stem := r.open(data, len(c.some)); stem != int(c.stem) {
			t.Errorf("the stem has %d documents, want %d", stem, c.stem)
		}
		if r.each(func(rank uint32) { got = append(got, rank) }); !slices.Equal(got, c.some) {
			t.Errorf("got %v, want %v", got, c.some)
		}
	}
}

func all(first, end uint32) (list []uint32) {
	for i := first; i < end; i++ {
		list = append(list, i)
	}
	return list
}
