package opensearch

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"keepsake/internal/base/text"
	"keepsake/internal/search/index"
)

// Writer turns documents into what OpenSearch stores. It is safe for concurrent use.
type Writer struct{ lexicon *index.Lexicon }

// NewWriter returns a Writer.
func NewWriter(l *index.Lexicon) *Writer { return &Writer{lexicon: l} }

// Document returns the body of a document with an ID, and its words for the dictionary, each once.
func (w *Writer) Document(id string, d *index.Document) (body []byte, words []string) {
	t := w.lexicon.Terms(d)
	out := fields{'{'}
	out.text(fieldID, id)
	out.number(fieldUpdated, t.UpdatedAt)
	out.number(fieldLanguage, int64(t.Language))
	out.number(fieldTitleLen, int64(t.Title))
	out.number(fieldTextLen, int64(t.Text))
	var keys, entries, entryWords []string
	seen := map[string]bool{}
	add := func(word string) {
		if ofDictionary(word) && !seen[word] {
			seen[word] = true
			words = append(words, word)
		}
	}
	for _, key := range t.Keys {
		switch kind, _, _ := index.KindOf(key); kind {
		case index.FieldTerm:
			entries = append(entries, latin(key))
			if word, ok := index.WordOfField(key); ok {
				entryWords = append(entryWords, word)
				add(word)
			}
		default:
			keys = append(keys, latin(key))
		}
	}
	out.texts(fieldKeys, keys)
	out.texts(fieldEntries, entries)
	out.text(fieldInEntries, strings.Join(entryWords, " "))
	out.text(fieldStems, stems(t))
	out.text(fieldWords, strings.Join(t.Words, " "))
	title, text := places(t.InTitle), places(t.InText)
	if strings.Contains(title, stack) || strings.Contains(text, stack) {
		out.text(fieldTitleBoth, title)
		out.text(fieldTextBoth, text)
	} else {
		out.text(fieldTitle, title)
		out.text(fieldText, text)
	}
	for _, word := range t.Words {
		add(word)
	}
	return append(out, '}'), words
}

// Gone returns the body of a document that was deleted, and is removed some time later.
func Gone(at time.Time) []byte { return encode(object{fieldGone: at.UnixMilli()}) }

// Word returns the body of a word of the dictionary, of which the word is the ID.
func Word(word string) []byte {
	out := fields{'{'}
	out.text(fieldWord, word)
	out.text(fieldGrams, grams(index.Grams(word)))
	return append(out, '}')
}

// The letters of a word in the dictionary. Shorter and longer ones are in place of no misspelled one.
const (
	shortestInDictionary = 3
	longestInDictionary  = 64
)

func ofDictionary(word string) bool {
	n := utf8.RuneCountInString(word)
	return n >= shortestInDictionary && n <= longestInDictionary
}

// grams returns grams as words.
func grams(list []uint32) string {
	var b []byte
	for _, gram := range list {
		b = strconv.AppendUint(append(b, ' '), uint64(gram), 36)
	}
	return strings.TrimPrefix(string(b), " ")
}

// stems returns the stems with their packed frequencies.
func stems(t *index.Terms) string {
	var b []byte
	for i, s := range t.Stems {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(append(b, stemOf(s.Term)...), frequencyMark...)
		b = strconv.AppendInt(b, int64(packed(s.Title, s.Text, t.TitleCode, t.TextCode)), 10)
	}
	return string(b)
}

// places returns stems in their order.
func places(list []index.Occurrence) string {
	var b strings.Builder
	write := func(token string) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(token)
	}
	last := 0
	for _, o := range list {
		if o.Position == last {
			b.WriteString(stack + stemOf(o.Term))
			continue
		}
		for last++; last < o.Position; last++ {
			write(hole)
		}
		write(stemOf(o.Term))
	}
	return b.String()
}

// stemOf returns a stem as OpenSearch has it: after a capital letter for its language, which no folded word contains.
func stemOf(term string) string {
	_, language, stem := index.KindOf(term)
	if language == text.English {
		return stem
	}
	return string(rune('A'+byte(language))) + stem
}

// latin returns a term whose bytes are perhaps no text as one that is, and sorts like it: with a character for each byte.
func latin(term string) string {
	for i := range len(term) {
		if term[i] >= utf8.RuneSelf {
			runes := make([]rune, len(term))
			for i := range runes {
				runes[i] = rune(term[i])
			}
			return string(runes)
		}
	}
	return term
}

// unlatin is the opposite of latin.
func unlatin(term string) string {
	b := make([]byte, 0, len(term))
	for _, r := range term {
		b = append(b, byte(r))
	}
	return string(b)
}

// fields is an object of JSON that is being written.
type fields []byte

func (f *fields) name(name string) {
	if len(*f) > 1 {
		*f = append(*f, ',')
	}
	*f = append(append(append(*f, '"'), name...), '"', ':')
}

func (f *fields) number(name string, n int64) {
	f.name(name)
	*f = strconv.AppendInt(*f, n, 10)
}

func (f *fields) text(name, value string) {
	if value == "" {
		return
	}
	f.name(name)
	*f = quoted(*f, value)
}

func (f *fields) texts(name string, list []string) {
	if len(list) == 0 {
		return
	}
	f.name(name)
	*f = append(*f, '[')
	for i, value := range list {
		if i > 0 {
			*f = append(*f, ',')
		}
		*f = quoted(*f, value)
	}
	*f = append(*f, ']')
}

// quoted appends a string. Bytes that are no text, of which words have none, become U+FFFD.
func quoted(to []byte, value string) []byte {
	to, _ = jsontext.AppendQuote(to, value)
	return to
}
