package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
)

// Inflected reports whether the stem of a folded word depends on the language. That of a single letter, of a number, of a
// pictograph and of characters of scripts without spaces does not.
func Inflected(word string) bool {
	r, size := utf8.DecodeRuneInString(word)
	return len(word) > size && unicode.IsLetter(r) && kindOf(r) == inWord
}

// StemIn returns the stem of a folded word in a language. The stem is folded, too.
func StemIn(l Language, word string) string {
	if l == English {
		return Stem(word)
	}
	if l >= stemmed || !Inflected(word) || !l.writes(word) {
		return word
	}
	env := snowballstem.NewEnv(l.spell(word))
	foreign[l].stem(env)
	if s := Fold(env.Current()); s != "" {
		return s
	}
	return word
}

// writes reports whether a word begins with a letter of the language's script.
func (l Language) writes(word string) bool {
	script := unicode.Latin
	switch l {
	case Arabic:
		script = unicode.Arabic
	case Russian:
		script = unicode.Cyrillic
	}
	r, _ := utf8.DecodeRuneInString(word)
	return unicode.Is(script, r)
}

// ending replaces what a word ends with.
type ending struct{ from, to string }

// endings are those with which a folded word is respelled before it is stemmed, the first that fits. Stemmers know some
// endings only with the accents that folding removed. Others, such as the plural in -oes, they do not know at all.
var endings = [Languages][]ending{
	Dutch:      {{"zen", "s"}, {"ven", "f"}},
	French:     {{"iere", "ier"}, {"ieres", "ier"}, {"ees", "e"}, {"ee", "e"}},
	Portuguese: {{"acoes", "ação"}, {"acao", "ação"}, {"oes", "ao"}, {"ais", "al"}, {"eis", "el"}, {"ois", "ol"}, {"ns", "m"}},
	Romanian:   {{"tie", "ție"}, {"tii", "ții"}, {"tiei", "ției"}, {"tiile", "țiile"}, {"tiilor", "țiilor"}},
	Russian:    {{"ыи", "ый"}, {"ии", "ий"}, {"ои", "ой"}, {"еи", "ей"}},
	Spanish:    {{"cion", "ción"}, {"dades", "dad"}, {"ces", "z"}},
}

// elided are the words that end with an apostrophe before the next word.
var elided = [Languages]string{
	French:  " c d j l m n s t qu jusqu lorsqu puisqu quoiqu ",
	Italian: " c d l m s t v un all coll dall dell nell sull quell quest bell sant tutt anch dov ",
}

// shortest is the number of bytes that must remain of a word before an ending.
const shortest = 2

// spell returns the spelling of a folded word that is stemmed.
func (l Language) spell(word string) string {
	if before, after, ok := strings.Cut(word, "'"); ok {
		switch {
		case strings.Contains(elided[l], " "+before+" "):
			word = after
		case elided[l] == "": // the rest is an ending, as in auto's and Ankara'da
			word = before
		}
	}
	if l == Turkish {
		return harmonized(word)
	}
	for _, e := range endings[l] {
		if rest, ok := strings.CutSuffix(word, e.from); ok && len(rest) >= shortest {
			return rest + e.to
		}
	}
	return word
}

// harmonized returns a Turkish word with the vowels that folding changed. The vowels of most words are all like a or all like
// e, and endings are only recognized if theirs fit.
func harmonized(word string) string {
	switch last := strings.LastIndexAny(word, "ae"); {
	case last < 0:
		return word
	case word[last] == 'a':
		return strings.ReplaceAll(word, "i", "ı")
	default:
		return strings.NewReplacer("o", "ö", "u", "ü").Replace(word)
	}
}
