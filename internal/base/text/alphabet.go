package text

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// alphabets contains the letters with marks, and those of other scripts than Latin, that the languages write. A word with any other
// such letter is of another language. Russian has no ъ here: it is rare in Russian, and frequent in Bulgarian.
var alphabets = [stemmed]string{
	Arabic:     "ءآأؤإئابةتثجحخدذرزسشصضطظعغفقكلمنهوىيـ",
	Danish:     "æøåéö",
	Dutch:      "éëèïóöüáêäç",
	Finnish:    "äöåšž",
	French:     "àâæçéèêëîïôœùûüÿ",
	German:     "äöüßé",
	Hungarian:  "áéíóöőúüű",
	Irish:      "áéíóú",
	Italian:    "àèéìíòóùî",
	Norwegian:  "æøåéòôóê",
	Portuguese: "áâãàçéêíóôõúü",
	Romanian:   "ăâîșțşţ",
	Russian:    "абвгдежзийклмнопрстуфхцчшщыьэюяё",
	Spanish:    "áéíóúüñ",
	Swedish:    "åäöé",
	Turkish:    "çğıöşüâîû\u0307",
}

// writers contains the languages that write a letter.
var writers = func() map[rune]LanguageSet {
	m := map[rune]LanguageSet{}
	for l, letters := range alphabets {
		for _, r := range letters {
			m[r] |= 1 << l
		}
	}
	return m
}()

// arabicPoints are the vowels and other marks that Arabic rarely writes.
const arabicPoints = "\u064B\u064C\u064D\u064E\u064F\u0650\u0651\u0652\u0670"

// strangers returns the languages with a stemmer that do not write a word with these marks.
func strangers(marked string) LanguageSet {
	const all = LanguageSet(1)<<stemmed - 1
	write := all
	for _, r := range norm.NFC.String(marked) {
		switch {
		case r < unicode.MaxASCII && !('a' <= r && r <= 'z'), strings.ContainsRune(arabicPoints, r):
		case r < unicode.MaxASCII:
			write &^= 1<<Arabic | 1<<Russian
		default:
			write &= writers[r]
		}
	}
	return all &^ write
}
