package index

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// A term is found by its number, in order, and alone; no other string is found.
func TestTermsAreFoundAlone(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 5))
	for _, n := range []int{1, 2, groupSize, groupSize + 1, 1_000} {
		known := map[string]bool{}
		for len(known) < n {
			term := make([]byte, 1+r.IntN(6))
			for i := range term {
				term[i] = "ab\x00\xff"[r.IntN(4)]
			}
			known[string(term)] = true
		}
		var list []string
		for term := range known {
			list = append(list, term)
		}
		slices.Sort(list)
		var w dictionaryWriter
		want := map[string]entry{}
		offset := uint32(0)
		for _, term := range list {
			e := entry{count: 1 + r.Uint32N(1_000), form: form(r.IntN(4))}
			if e.form != sharedList {
				offset += r.Uint32N(1_000)
				e.offset = offset
			}
			if e.ofStem() {
				e.stem = r.Uint32N(1 << 31)
			}
			w.add([]byte(term), e)
			want[term] = e
		}
		var groups []byte
		for _, group := range w.groups {
			groups = binary.LittleEndian.AppendUint32(groups, group)
		}
		d := dictionary{data: w.data, groups: groups, terms: w.n}
		var at terms
		for i, term := range list {
			if d.at(&at, i); string(at.term) != term || at.entry != want[term] {
				t.Fatalf("term %d of %d is %q with %+v, want %q with %+v", i, n, at.term, at.entry, term, want[term])
			}
			for _, other := range []string{term, term + "a", term + "\xff", term[:len(term)-1], term[1:], term[:len(term)-1] + "b"} {
				if e, ok := d.find(other); ok != known[other] || e != want[other] {
					t.Errorf("%q of %d terms is found: %t, with %+v, want %t with %+v", other, n, ok, e, known[other], want[other])
				}
			}
		}
	}
	if _, ok := (&dictionary{}).find("a"); ok {
		t.Error("an empty dictionary has a term")
	}
}
