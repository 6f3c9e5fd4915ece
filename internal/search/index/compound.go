package index

import (
	"slices"
	"strings"
	"unicode/utf8"

	"keepsake/internal/base/text"
)

// A compound is several words of a text as one: 20240503 for 2024-05-03, and followup for follow-up. Signs such as - / . _ are between
// its words, or single blanks if all of them have digits, as in DE89 3704 0044. A document has the compounds of its title and its text
// as terms, so that they are found at once.

const (
	compoundWords   = 8  // of a compound with digits
	compoundLetters = 34 // of a compound with digits; an IBAN has no more
	leastCompound   = 6  // letters of a compound with digits
	leastEnd        = 7  // letters of a compound without the first words
	compoundStarts  = 3  // a compound with digits is also found without its first words, such as the code of a country
	signedWords     = 4  // of a run of which the pairs are compounds; longer runs are addresses and paths
)

// compounds finds the compounds of a text.
type compounds struct {
	text string
	run  []compoundWord
	add  func(compound string)
}

// compoundWord is a folded word of a run.
type compoundWord struct {
	word  string
	end   int  // byte in the text
	code  bool // it has digits
	blank bool // there is a blank before it
}

// begin begins a text.
func (c *compounds) begin(s string) { c.text, c.run = s, c.run[:0] }

// next adds the next word of the text: its spelling, and its folded form.
func (c *compounds) next(sp *text.Spelling, word string, code bool) {
	if sp.Pair != "" || sp.Last { // of a script without spaces
		c.end()
		return
	}
	blank, joined := false, false
	if n := len(c.run); n > 0 {
		last := &c.run[n-1]
		gap := c.text[last.end:sp.Start]
		blank = isBlank(gap)
		joined = blank && code && last.code || !blank && isSign(gap)
	}
	if !joined {
		c.end()
		blank = false
	}
	if code && strings.Count(word, ".") > 1 { // as in 2024.05.03
		parts := strings.Split(word, ".")
		for _, part := range parts[:len(parts)-1] {
			c.run = append(c.run, compoundWord{word: part, code: true, blank: blank})
			blank = false
		}
		word = parts[len(parts)-1]
	}
	c.run = append(c.run, compoundWord{word: word, end: sp.End, code: code, blank: blank})
}

// isBlank reports whether a single blank is between two words.
func isBlank(gap string) bool { return gap == " " || gap == "\u00a0" || gap == "\u202f" }

// isSign reports whether a single sign is between two words that belong together.
func isSign(gap string) bool {
	switch gap {
	case "-", "/", ".", "_", ":", "'", "’", "‐", "‑", "–":
		return true
	}
	return false
}

// end ends the run of words.
func (c *compounds) end() {
	run := c.run
	c.run = c.run[:0]
	if len(run) < 2 {
		return
	}
	signed, blanks, begin := 0, 0, 0
	for i := 1; i <= len(run); i++ {
		if i < len(run) && !run[i].blank {
			continue
		}
		if i < len(run) {
			blanks++
		}
		if i-begin > 1 {
			signed++
			c.pairs(run[begin:i])
			c.codes(run[begin:i])
		}
		begin = i
	}
	if blanks > 0 && signed < 2 { // two dates are not one number
		c.codes(run)
	}
}

// pairs adds each pair of words with a sign between them, unless both have digits.
func (c *compounds) pairs(words []compoundWord) {
	if len(words) > signedWords {
		return
	}
	for i := 1; i < len(words); i++ {
		if !words[i-1].code || !words[i].code {
			c.add(joinedOf(words[i-1 : i+1]))
		}
	}
}

// codes adds the words of a run with digits as one, also without the first words.
func (c *compounds) codes(words []compoundWord) {
	if len(words) > compoundWords {
		return
	}
	least := leastCompound
	for start := 0; start < compoundStarts && len(words) > 1; start, words = start+1, words[1:] {
		if !slices.ContainsFunc(words, func(w compoundWord) bool { return w.code }) {
			return
		}
		joined := joinedOf(words)
		if n := utf8.RuneCountInString(joined); n >= least && n <= compoundLetters && !strings.Contains(joined, ".") {
			c.add(joined)
		}
		least = leastEnd
	}
}

func joinedOf(words []compoundWord) string {
	var b strings.Builder
	for i := range words {
		b.WriteString(strings.ReplaceAll(words[i].word, "'", ""))
	}
	return b.String()
}
