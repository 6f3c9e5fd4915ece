package text

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// form is what a spelling comes down to.
type form struct {
	raw  string
	word string // folded
	stem string // of word
}

// formCache remembers the forms of recent spellings: texts repeat their words, and a stem costs a hundred times a look
// here. Each spelling has one slot, which the next of the same hash takes over; no lock, no growth.
type formCache struct {
	seed  maphash.Seed
	slots [1 << 14]atomic.Pointer[form]
}

// longest spelling that is remembered.
const cached = 32

func newFormCache() *formCache { return &formCache{seed: maphash.MakeSeed()} }

func (c *formCache) of(raw string) *form {
	if len(raw) > cached {
		return makeForm(raw)
	}
	slot := &c.slots[maphash.String(c.seed, raw)%uint64(len(c.slots))]
	if f := slot.Load(); f != nil && f.raw == raw {
		return f
	}
	f := makeForm(string([]byte(raw))) // a copy: a slot must not hold on to a whole document
	slot.Store(f)
	return f
}

// forget empties all slots.
func (c *formCache) forget() {
	for i := range c.slots {
		c.slots[i].Store(nil)
	}
}

func makeForm(raw string) *form {
	word := Fold(raw)
	return &form{raw: raw, word: word, stem: Stem(word)}
}

// Stem reduces a folded word to what its inflections share. Words with anything but English letters stay as they are.
func Stem(word string) string {
	if len(word) < 3 {
		return word
	}
	for i := range len(word) {
		if c := word[i]; (c < 'a' || c > 'z') && c != '\'' {
			return word
		}
	}
	env := snowballstem.NewEnv(word)
	english.Stem(env)
	if s := env.Current(); s != "" {
		return s
	}
	return word
}
