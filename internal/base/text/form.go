package text

import (
	"hash/maphash"
	"strings"
	"sync/atomic"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// form is the normal form of a spelling.
type form struct {
	raw    string
	word   string // folded
	marked string // folded except its marks
	stem   string // of word
}

// formCache caches the forms of recent spellings: texts repeat their words, and stemming takes a hundred times as long
// as a lookup. Each spelling has one slot, which a later spelling with the same hash replaces. It needs no lock and
// does not grow.
type formCache struct {
	seed  maphash.Seed
	form  func(spelling string) (word, stem string)
	slots [1 << 14]atomic.Pointer[form]
}

// cached is the length of the longest spelling that is cached.
const cached = 32

func newFormCache() *formCache { return &formCache{seed: maphash.MakeSeed(), form: Form} }

func (c *formCache) of(raw string) *form {
	if len(raw) > cached {
		return c.makeForm(raw)
	}
	slot := &c.slots[maphash.String(c.seed, raw)%uint64(len(c.slots))]
	if f := slot.Load(); f != nil && f.raw == raw {
		return f
	}
	f := c.makeForm(string([]byte(raw))) // a copy, because a slot must not reference a whole document
	slot.Store(f)
	return f
}

// clear clears all slots.
func (c *formCache) clear() {
	for i := range c.slots {
		c.slots[i].Store(nil)
	}
}

func (c *formCache) makeForm(raw string) *form {
	word, stem := c.form(raw)
	f := &form{raw: raw, word: word, marked: word, stem: stem}
	if !isASCII(raw) {
		f.marked = Marked(raw)
	}
	return f
}

// Form returns the folded word of a spelling, and its stem. A pictograph is not folded, and pairs of characters have no stem.
func Form(spelling string) (word, stem string) {
	if spelling == "" {
		return "", ""
	}
	kind, _ := kindAt(spelling, 0)
	if kind == alone {
		return spelling, spelling
	}
	word = pointed(Fold(spelling))
	if kind == dense {
		return word, word
	}
	return word, Stem(word)
}

// pointed returns a word with points between its digits in place of commas: 3,5 is 3.5.
func pointed(word string) string {
	if strings.IndexByte(word, ',') < 0 {
		return word
	}
	return strings.ReplaceAll(word, ",", ".")
}

// Stem returns the common stem of a folded word's inflections. It changes only words of English letters.
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
