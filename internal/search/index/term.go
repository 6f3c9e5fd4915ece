package index

import (
	"encoding/binary"
	"math"

	"keepsake/internal/base/text"
)

// kind is the first byte of a term. Terms of a kind are next to each other in the dictionary.
type kind byte

// A stem has a list with positions. A term of fieldKind is a word of a searched entry of metadata, and has a plain list. A word as it stands has a plain list, or shares
// the list of its stem. A compound has a plain list.
const (
	collectionKind kind = iota + 1
	tagKind
	valueKind
	numberKind
	fieldKind
	compoundKind
	stemKind
	wordKind
)

// Collection returns the term of a document's collection.
func Collection(name string) string { return string(rune(collectionKind)) + name }

// Tag returns the term of a tag.
func Tag(tag string) string { return string(rune(tagKind)) + tag }

// Text returns the term of a text in metadata.
func Text(name, value string) string { return nameOf(valueKind, name) + "t" + value }

// Twice is a text in a list in metadata that also has a number or a truth value which the text equals. A facet that counts both
// counts the document twice.
type Twice string

// TwiceTerm returns the term of a Twice.
func TwiceTerm(name, value string) string { return nameOf(valueKind, name) + "a" + value }

// Bool returns the term of a truth value in metadata.
func Bool(name string, value bool) string {
	if value {
		return nameOf(valueKind, name) + "btrue"
	}
	return nameOf(valueKind, name) + "bfalse"
}

// Number returns the term of a number in metadata. Terms of an entry sort like their numbers.
func Number(name string, value float64) string {
	bits := math.Float64bits(value + 0) // -0 is 0
	if bits>>63 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	return string(binary.BigEndian.AppendUint64([]byte(nameOf(numberKind, name)), bits))
}

// nameOf returns what the terms of a metadata entry begin with.
func nameOf(k kind, name string) string {
	return string(append(binary.AppendUvarint([]byte{byte(k)}, uint64(len(name))), name...))
}

// Range selects the terms from From to before To.
type Range struct{ From, To string }

// Only selects one term.
func Only(term string) Range { return Range{term, term + "\x00"} }

// Below selects the terms of the same metadata entry and type that sort before term, and term itself if with is true.
func Below(term string, with bool) Range {
	r := Range{term[:len(term)-valueSize(term)], term}
	if with {
		r.To += "\x00"
	}
	return r
}

// Above selects the terms of the same metadata entry and type that sort after term, and term itself if with is true.
func Above(term string, with bool) Range {
	r := Range{term, after(term[:len(term)-valueSize(term)])}
	if !with {
		r.From += "\x00"
	}
	return r
}

// valueSize returns the length of the value that a metadata term ends with.
func valueSize(term string) int {
	size, n := binary.Uvarint([]byte(term[1:min(len(term), 1+binary.MaxVarintLen64)]))
	value := len(term) - 1 - n - int(size)
	if kind(term[0]) == valueKind {
		value-- // the type
	}
	return value
}

// Collections, Tags and Entries select the terms of a facet: all collections, all tags, or all values of a metadata entry.
func Collections() []Range { return []Range{prefixed(string(rune(collectionKind)))} }

// Tags is described at Collections.
func Tags() []Range { return []Range{prefixed(string(rune(tagKind)))} }

// Entries is described at Collections.
func Entries(name string) []Range {
	return []Range{prefixed(nameOf(valueKind, name)), prefixed(nameOf(numberKind, name))}
}

// Value returns what a term of a collection, tag or metadata entry stands for: a string, a bool, a float64 or a Twice.
func Value(term string) any {
	switch kind(term[0]) {
	case valueKind:
		n := valueSize(term)
		value, of := term[len(term)-n:], term[len(term)-n-1]
		switch of {
		case 'b':
			return value == "true"
		case 'a':
			return Twice(value)
		default:
			return value
		}
	case numberKind:
		bits := binary.BigEndian.Uint64([]byte(term[len(term)-8:]))
		if bits>>63 == 1 {
			bits &^= 1 << 63
		} else {
			bits = ^bits
		}
		return math.Float64frombits(bits)
	default:
		return term[1:]
	}
}

// fieldTerm returns the term of a stem or a word, of which the term is given, in a searched entry of metadata.
func fieldTerm(name, term string) string { return nameOf(fieldKind, name) + term }

// pairTerm returns the term of two stems that follow each other in a searched entry of metadata, of which the terms are given.
func pairTerm(name, first, second string) string {
	return nameOf(fieldKind, name) + first + "\x00" + second
}

// prefixed selects all terms with a prefix.
func prefixed(prefix string) Range { return Range{prefix, after(prefix)} }

// after returns the first term after all terms with a prefix, which does not consist of 0xff bytes only.
func after(prefix string) string {
	end := []byte(prefix)
	for end[len(end)-1] == 0xff {
		end = end[:len(end)-1]
	}
	end[len(end)-1]++
	return string(end)
}

// stemTerm returns the term of a stem in the documents of a language. Stems of English documents, and those that are the same
// in all languages, follow the kind at once. Others follow the language, which no word begins with.
func stemTerm(l text.Language, stem string) string {
	if l == text.English {
		return string(rune(stemKind)) + stem
	}
	return string([]byte{byte(stemKind), byte(l)}) + stem
}

func wordTerm(word string) string { return string(rune(wordKind)) + word }

func compoundTerm(compound string) string { return string(rune(compoundKind)) + compound }
