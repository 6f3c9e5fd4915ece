package index

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestKeyedTermsAreSorted(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		seen := map[string]bool{}
		for range r.IntN(200) {
			term := make([]byte, 1+r.IntN(12))
			for i := range term {
				term[i] = "\x05\x06ab\xff"[r.IntN(5)]
			}
			seen[string(term)] = true
		}
		terms := []string{}
		var all []keyed
		for term := range seen {
			all = append(all, keyed{keyOf(term), uint32(len(terms))})
			terms = append(terms, term)
		}
		got := []string{}
		for _, k := range sortKeyed(all, make([]keyed, len(all)), func(number uint32) string { return terms[number] }) {
			got = append(got, terms[k.number])
		}
		if slices.Sort(terms); !slices.Equal(got, terms) {
			t.Fatalf("got %q, want %q", got, terms)
		}
	}
}

func TestShortSpellingsAreFound(t *testing.T) {
	t.Parallel()
	table := newShortSpellings()
	const n = 10_000
	for i := uint64(1); i <= n; i++ {
		if _, ok := table.get(i << 40); ok {
			t.Fatalf("%d is found before it is added", i)
		}
		table.add(i<<40, spelling{uint32(i), uint32(2 * i)})
	}
	for i := uint64(1); i <= n; i++ {
		if s, ok := table.get(i << 40); !ok || s != (spelling{uint32(i), uint32(2 * i)}) {
			t.Fatalf("%d: got %+v, %v", i, s, ok)
		}
	}
	if table.n != n || len(table.slots) != 16_384 {
		t.Errorf("%d spellings in %d slots", table.n, len(table.slots))
	}
}
