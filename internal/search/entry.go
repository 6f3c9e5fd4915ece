package search

import (
	"strconv"
	"strings"
	"time"

	index "github.com/blevesearch/bleve_index_api"

	"keepsake/internal/document"
	"keepsake/internal/text"
)

// The fields of an index. A change of their content requires another layoutVersion.
const (
	titleField      = "title"      // terms with frequency, length and positions
	textField       = "text"       // the same
	wordField       = "word"       // unstemmed folded words of both, for prefixes and single characters
	collectionField = "collection" // whole
	tagField        = "tag"        // whole, one term a tag
	updatedField    = "updated"    // sortable time
	sizeField       = "size"       // lengths of title and text, to take a replaced document out of the statistics
)

// entry is an analyzed document. The index only writes it.
type entry struct {
	id     string
	fields []index.Field
	size   size
}

// size is the number of words of a document.
type size struct{ title, text int64 }

func newEntry(a *text.Analyzer, d *document.Document) *entry {
	words := index.TokenFrequencies{}
	title, text := analyze(a, d.Title, words), analyze(a, d.Text, words)
	title.name, text.name = titleField, textField
	e := &entry{id: d.ID, size: size{int64(title.length), int64(text.length)}}
	e.fields = []index.Field{
		title, text,
		&field{name: wordField, options: index.IndexField, freqs: words},
		wholeField(collectionField, index.IndexField|index.DocValues, d.Collection),
		wholeField(tagField, index.IndexField|index.DocValues, d.Tags...),
		wholeField(updatedField, index.IndexField|index.DocValues, sortableTime(d.UpdatedAt)),
		wholeField(sizeField, index.IndexField|index.DocValues, e.size.String()),
	}
	return e
}

// present marks a term whose frequency and positions are not needed.
var present = &index.TokenFreq{}

// analyze returns a field with the text s, and adds its unstemmed words to words.
func analyze(a *text.Analyzer, s string, words index.TokenFrequencies) *field {
	f := &field{options: index.IndexField | index.IncludeTermVectors, freqs: index.TokenFrequencies{}, bytes: len(s)}
	a.Scan(s, func(t text.Token) bool {
		f.length++
		words[t.Word] = present
		if t.Term == "" {
			return true
		}
		tf := f.freqs[t.Term]
		if tf == nil {
			tf = &index.TokenFreq{}
			f.freqs[t.Term] = tf
		}
		tf.SetFrequency(tf.Frequency() + 1)
		// Only the position is stored. The offset in bytes is computed again for a snippet.
		tf.Locations = append(tf.Locations, &index.TokenLocation{Position: t.Pos})
		return true
	})
	return f
}

func wholeField(name string, options index.FieldIndexingOptions, values ...string) *field {
	f := &field{name: name, options: options, length: len(values), freqs: index.TokenFrequencies{}}
	for _, v := range values {
		f.freqs[v] = present
	}
	return f
}

// sortableTime formats a time as a text that sorts like the time. Terms must not contain 0xff.
func sortableTime(t time.Time) string {
	digits := strconv.FormatInt(t.UnixMicro(), 10)
	return strings.Repeat("0", max(0, 19-len(digits))) + digits
}

func (s size) String() string {
	return strconv.FormatInt(s.title, 10) + " " + strconv.FormatInt(s.text, 10)
}

func parseSize(term string) size {
	title, text, _ := strings.Cut(term, " ")
	var s size
	s.title, _ = strconv.ParseInt(title, 10, 64)
	s.text, _ = strconv.ParseInt(text, 10, 64)
	return s
}

// ID and the methods below make an entry an index.Document.
func (e *entry) ID() string { return e.id }

// AddIDField is called by the index before anything else.
func (e *entry) AddIDField() {
	id := &index.TokenFreq{}
	id.SetFrequency(1)
	e.fields = append(e.fields, &field{
		name: "_id", options: index.IndexField | index.StoreField, value: []byte(e.id), length: 1,
		freqs: index.TokenFrequencies{e.id: id},
	})
}

// VisitFields gives every field.
func (e *entry) VisitFields(visit index.FieldVisitor) {
	for _, f := range e.fields {
		visit(f)
	}
}

// NumPlainTextBytes implements index.Document.
func (e *entry) NumPlainTextBytes() uint64 {
	var n uint64
	for _, f := range e.fields {
		n += f.NumPlainTextBytes()
	}
	return n
}

// Size returns an estimate in bytes.
func (e *entry) Size() int { return int(e.NumPlainTextBytes()) }

// StoredFieldsBytes returns the size of the ID, which is stored verbatim.
func (e *entry) StoredFieldsBytes() uint64 { return uint64(len(e.id)) }

// Indexed implements index.Document.
func (e *entry) Indexed() bool { return false }

// HasComposite implements index.Document.
func (e *entry) HasComposite() bool { return false }

// VisitComposite implements index.Document.
func (e *entry) VisitComposite(index.CompositeFieldVisitor) {}

// field is an index.Field that is analyzed already.
type field struct {
	name    string
	options index.FieldIndexingOptions
	value   []byte
	length  int
	bytes   int
	freqs   index.TokenFrequencies
}

// Name and the methods below make a field an index.Field.
func (f *field) Name() string { return f.name }

// Value returns the stored content.
func (f *field) Value() []byte { return f.value }

// ArrayPositions is nil: no field is inside an array.
func (f *field) ArrayPositions() []uint64 { return nil }

// EncodedFieldType returns the type for text.
func (f *field) EncodedFieldType() byte { return 't' }

// Analyze does nothing.
func (f *field) Analyze() {}

// Options implements index.Field.
func (f *field) Options() index.FieldIndexingOptions { return f.options }

// AnalyzedLength returns the number of words.
func (f *field) AnalyzedLength() int { return f.length }

// AnalyzedTokenFrequencies returns the terms.
func (f *field) AnalyzedTokenFrequencies() index.TokenFrequencies { return f.freqs }

// NumPlainTextBytes returns the size of the text.
func (f *field) NumPlainTextBytes() uint64 { return uint64(f.bytes) }
