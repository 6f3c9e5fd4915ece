package recall

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"keepsake/internal/base/text"
)

// Limits of a query. They bound the cost of a search.
const (
	maxPieces = 4_096 // words, including repeated ones
	maxWanted = 1_024 // different words
	maxGrown  = 48    // different words for which similar and related ones are searched
)

// wanted is a word of a query.
type wanted struct {
	shown   string // as written in the query, folded
	term    string
	terms   []string // in other languages of the memories
	numbers []int32  // of the terms that memories contain, in Index.words
	weight  float64
	name    bool // of a speaker

	repeated bool // an earlier word has the same shown
	related  []related
	rarity   float64 // inverse document frequency
}

// related is a word of the index that can replace a wanted one.
type related struct {
	word   int32 // of Index.words
	weight float64
}

// plan is an analyzed query.
type plan struct {
	language text.Language
	words    []wanted
	dates    dates
	speakers []float64 // by number of Index.speakers: how certainly the query names them; nil if it names none
	onlyName bool      // the query has no significant word except a speaker's name
	answer   marks     // what an answer should contain
}

// plan analyzes a query for the admitted memories.
func (s *search) plan(q *Query) *plan {
	x, w, p := s.x, &s.w, &plan{}
	var tokens []text.Token
	list := pieces(x.analyzer, q.Text, maxPieces, func(t text.Token) { tokens = append(tokens, t) })
	asOf := q.AsOf
	if asOf.IsZero() {
		asOf = q.Now
	}
	zone := q.Zone
	if zone == nil {
		zone = time.UTC
	}
	p.language = s.languageOf(tokens)
	if !slices.ContainsFunc(tokens, func(t text.Token) bool { return t.Marked != t.Word }) {
		for i := range tokens { // typed without marks, they are found with any
			tokens[i].Marked = ""
		}
	}
	p.dates = readDates(list, asOf.In(zone), &lexicons[p.language])
	p.answer = answerTo(list, p.language)
	s.addWords(p, list, tokens, askedWords(x.analyzer, q.Text))
	if w.Speaker > 0 {
		s.nameSpeakers(p, list)
	}
	p.weigh(w)
	s.grow(p, q)
	return p
}

// faint is the weight of stop words in other languages than English. Without vectors, a question often shares no other word with its
// answer; then the signals that are not about words decide among the memories that stop words find.
const faint = 0.1

// languageOf returns the language of a query: that of most of its stop words, and in doubt that of most of the admitted memories.
func (s *search) languageOf(tokens []text.Token) text.Language {
	var votes text.Votes
	for _, t := range tokens {
		votes.Add(text.StopwordVotes(t.Word, t.Marked))
	}
	best, most := text.English, -1.0
	for l, n := range s.languages {
		if score := float64(votes.Of(text.Language(l))) + float64(n)/float64(s.count); score > most {
			best, most = text.Language(l), score
		}
	}
	return best
}

// addWords adds the significant words of the query, or all words if none is significant.
func (s *search) addWords(p *plan, list []piece, tokens []text.Token, asked map[string]bool) {
	w, a, seen, shownBefore := &s.w, s.x.analyzer, map[string]bool{}, map[string]bool{}
	var t text.Token
	add := func(shown, term string, weight float64) {
		if term == "" || seen[term] || len(p.words) >= maxWanted {
			return
		}
		seen[term] = true
		if asked != nil && !asked[t.Word] {
			weight *= w.Unasked
		}
		word := wanted{shown: shown, term: term, weight: weight, repeated: shownBefore[shown]}
		shownBefore[shown] = true
		if !text.Unspaced(t.Word) {
			for l, n := range s.languages {
				if other := text.Language(l); n > 0 && other != p.language {
					if in := termIn(a, other, t, knownOf(t.Word)); in != term && !slices.Contains(word.terms, in) {
						word.terms = append(word.terms, in)
					}
				}
			}
		}
		p.words = append(p.words, word)
	}
	for _, all := range []bool{false, true} {
		for i := range tokens {
			t = tokens[i]
			word := list[i].word
			switch {
			case text.Unspaced(word):
				if t.Term != "" && t.Term != word {
					add(t.Term, t.Term, 1)
				}
				weight := 0.15 // in addition to the pairs
				if len(tokens) == 1 || t.Term == word {
					weight = 1
				}
				add(word, single(word), weight)
			case all || p.language != text.English || !stopword(p.language, word):
				weight := 1.0
				if !all && stopword(p.language, word) {
					weight = faint
				}
				if !all && p.language == text.English && weak[word] {
					weight = w.Weak
				}
				if list[i].dated == relative {
					weight = min(weight, w.DateWord)
				}
				add(word, termIn(a, p.language, t, knownOf(word)), weight)
			}
		}
		if len(p.words) > 0 {
			return
		}
	}
}

// answerTo returns what an answer to the query should contain, such as a time or a number.
func answerTo(list []piece, l text.Language) (m marks) {
	if questions := lexicons[l].questions; questions != nil {
		for i := range list {
			m |= questions[list[i].word]
			if i > 0 {
				m |= questions[list[i-1].word+" "+list[i].word]
			}
		}
		return m
	}
	at := func(i int) string {
		if i < len(list) {
			return list[i].word
		}
		return ""
	}
	for i := range list {
		switch list[i].word {
		case "when":
			if i < 2 || at(i+1) == "did" || at(i+1) == "was" || at(i+1) == "is" {
				m |= hasTime
			}
		case "what", "which":
			switch at(i + 1) {
			case "date", "day", "month", "year", "time":
				m |= hasTime
			}
		case "how":
			switch at(i + 1) {
			case "long", "old":
				m |= hasTime | hasNumber
			case "many", "much", "often":
				m |= hasNumber
			}
		}
	}
	return m
}

// nameSpeakers finds the speakers that the query names.
func (s *search) nameSpeakers(p *plan, list []piece) {
	x := s.x
	called := callNames(p, list)
	for i, name := range x.speakers.list {
		if !s.step(1 + len(name)) {
			return
		}
		if s.speaks[i+1] == 0 {
			continue
		}
		var terms, words []string
		x.analyzer.Scan(name, func(t text.Token) bool {
			if t.Term != "" {
				terms, words = append(terms, t.Term), append(words, t.Word)
			}
			return len(terms) < 8
		})
		best := called.surely(p, terms, words)
		if best == 0 && (called.first && overlap(words, askers) || called.second && overlap(words, asked) || called.shortly(words)) {
			best = 0.5
		}
		if best > 0 {
			if p.speakers == nil {
				p.speakers = make([]float64, len(x.speakers.list)+1)
			}
			p.speakers[i+1] = best
		}
	}
}

// calls contains the words of a query that can name a speaker, so that not every speaker is compared with every word.
type calls struct {
	byTerm        map[string][]int // into plan.words
	byWord        map[string][]int
	shorts        []string // sorted; can be a short form of a name, or a name with a short form
	first, second bool     // the query has words of the first or the second person
}

func callNames(p *plan, list []piece) *calls {
	c := &calls{byTerm: map[string][]int{}, byWord: map[string][]int{}}
	for i := range p.words {
		w := &p.words[i]
		c.byTerm[w.term] = append(c.byTerm[w.term], i)
		word := strings.TrimSuffix(w.shown, "'s")
		c.byWord[word] = append(c.byWord[word], i)
	}
	for j := range list {
		word := list[j].word
		c.first = c.first || firstPerson[word]
		c.second = c.second || secondPerson[word]
		if list[j].capital && j > 0 && !stopword(p.language, word) && !lexicons[p.language].times[word] && !weak[word] {
			c.shorts = append(c.shorts, strings.TrimSuffix(word, "'s"))
		}
	}
	slices.Sort(c.shorts)
	c.shorts = slices.Compact(c.shorts)
	return c
}

// surely returns 1 if a word of the query is part of a name, and marks the word as a name.
func (c *calls) surely(p *plan, terms, words []string) (best float64) {
	mark := func(found []int) {
		for _, j := range found {
			best, p.words[j].name = 1, true
		}
	}
	for _, term := range terms {
		mark(c.byTerm[term])
	}
	for _, word := range words {
		mark(c.byWord[word])
	}
	return best
}

// minShort is the minimum number of characters of a short form of a name, such as Mel for Melanie.
const minShort = 3

// shortly reports whether the query contains a short form of a word of a name, or a word of which such a word is a short form.
func (c *calls) shortly(names []string) bool {
	if len(c.shorts) == 0 {
		return false
	}
	for _, name := range names {
		if at, _ := slices.BinarySearch(c.shorts, name); at < len(c.shorts) && strings.HasPrefix(c.shorts[at], name) && utf8.RuneCountInString(name) >= minShort {
			return true
		}
		runes := 0
		for end := range name + " " { // each beginning of the name
			if runes >= minShort {
				if _, is := slices.BinarySearch(c.shorts, name[:end]); is {
					return true
				}
			}
			runes++
		}
	}
	return false
}

func overlap(words []string, set map[string]bool) bool {
	return slices.ContainsFunc(words, func(w string) bool { return set[w] })
}

// weigh lowers the weight of speakers' names if the query has other words.
func (p *plan) weigh(w *Weights) {
	p.onlyName = true
	for i := range p.words {
		p.onlyName = p.onlyName && p.words[i].name
	}
	for i := range p.words {
		if p.words[i].name && !p.onlyName {
			p.words[i].weight *= w.NameInText
		}
	}
}

// grow finds words of the index that can replace those of the query.
func (s *search) grow(p *plan, q *Query) {
	x, w := s.x, &s.w
	exact := map[int32]bool{}
	for i := range p.words {
		wd := &p.words[i]
		for _, term := range append([]string{wd.term}, wd.terms...) {
			if n, ok := x.terms[term]; ok {
				wd.numbers, exact[n] = append(wd.numbers, n), true
			}
		}
	}
	if q.Embedding != nil && q.Embeddings != nil && q.Embeddings.Len() >= s.count { // a model knows more than the lists
		return
	}
	for i := range p.words[:min(len(p.words), maxGrown)] {
		wd := &p.words[i]
		if wd.name {
			continue
		}
		found := map[int32]float64{}
		if w.Kin > 0 {
			eachKin(p.language, wd.term, func(other string, far bool) {
				weight := w.Kin
				if far {
					weight = w.FarKin
				}
				if n, ok := x.terms[other]; ok && !exact[n] && weight > 0 {
					found[n] = max(found[n], weight)
				}
			})
		}
		for _, n := range s.sharingBeginning(wd) {
			found[n] = max(found[n], w.Begun)
		}
		for _, near := range s.similarMeanings(p, wd) {
			found[near.word] = max(found[near.word], near.weight)
		}
		for n, weight := range found {
			wd.related = append(wd.related, related{n, weight})
		}
		slices.SortFunc(wd.related, func(a, b related) int {
			return cmp.Compare(x.words[a.word].term, x.words[b.word].term)
		})
	}
}

// Two words share their beginning if one continues the other: deliver and delivery, whose stems differ.
const (
	leastBeginning  = 4 // characters of the shorter one
	mostContinued   = 5 // characters of the longer one after that
	mostOfBeginning = 8 // words for one of the query
)

// sharingBeginning returns the words of the index that share the beginning of a word that no admitted memory contains.
func (s *search) sharingBeginning(wd *wanted) (list []int32) {
	x := s.x
	if s.w.Begun == 0 || len(wd.term) < leastBeginning || slices.ContainsFunc(wd.numbers, func(n int32) bool { return s.has(&x.words[n]) }) || !s.step(len(x.words)) {
		return nil
	}
	begin := wd.term[:leastBeginning]
	for i := range x.words {
		term := x.words[i].term
		if len(term) < leastBeginning || term[0] != begin[0] || term[1] != begin[1] || term[2] != begin[2] { // nearly all
			continue
		}
		if continues(term, wd.term) && s.has(&x.words[i]) {
			list = append(list, int32(i))
		}
	}
	slices.SortFunc(list, func(a, b int32) int { return cmp.Compare(x.words[a].term, x.words[b].term) })
	return list[:min(len(list), mostOfBeginning)]
}

// continues reports whether one of two terms of letters continues the other.
func continues(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return len(a) >= leastBeginning && len(b) <= len(a)+mostContinued && len(a) < len(b) && strings.HasPrefix(b, a) &&
		!strings.ContainsFunc(b, func(r rune) bool { return !unicode.IsLetter(r) })
}
