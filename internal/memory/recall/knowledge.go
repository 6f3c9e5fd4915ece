package recall

import "keepsake/internal/base/text"

// knowledge is what the lists of all languages say about a folded word, so that each word of a text is looked up once and not in
// each list.
type knowledge struct {
	stops   text.LanguageSet // where it says nothing: also English idle words
	tells   text.LanguageSet
	chats   text.LanguageSet
	times   text.LanguageSet
	regular string // its English term, if a stemmer cannot find it
}

// nothing is the knowledge of words that are in no list.
var nothing knowledge

// known contains the words of all lists.
var known = func() map[string]*knowledge {
	m := map[string]*knowledge{}
	of := func(word string) *knowledge {
		if m[word] == nil {
			m[word] = &knowledge{}
		}
		return m[word]
	}
	for word, set := range text.Stopwords() {
		of(word).stops |= set
	}
	for word := range idle {
		of(word).stops |= 1 << text.English
	}
	for word, term := range regular {
		of(word).regular = term
	}
	for l := range lexicons {
		in := text.LanguageSet(1) << l
		for word := range lexicons[l].tells {
			of(word).tells |= in
		}
		for word := range lexicons[l].chats {
			of(word).chats |= in
		}
		for word := range lexicons[l].times {
			of(word).times |= in
		}
	}
	return m
}()

// knownOf returns what is known of a word.
func knownOf(word string) *knowledge {
	if k := known[word]; k != nil {
		return k
	}
	return &nothing
}
