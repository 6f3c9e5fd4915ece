// Package rowimport imports files with rows of any form through the Go client: JSON objects and tables, also compressed. It guesses
// which values of the rows are which fields of a document, shows what the first rows become, and sends all of them. The command line
// and the console import with it.
package rowimport

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"

	"keepsake/client"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/search/document"
	"keepsake/internal/search/mapping"
	"keepsake/internal/search/source"
)

// sampleRows is how many rows a guess reads.
const sampleRows = 1_000

// FileError is an error of a file, not of the server. Its text is for people.
type FileError struct{ err error }

func (e *FileError) Error() string {
	if p, ok := problem.As(e.err); ok {
		return p.Message
	}
	return e.err.Error()
}

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.err }

// File is a file whose first rows were read.
type File struct {
	Columns []string // of a table; nil if the rows are JSON objects
	Whole   bool     // the first rows are all rows

	rows   *source.Reader
	sample []source.Row
}

// Open reads the first rows of a file. comma parts the cells of a table; 0 means that the first line tells. The error is a *FileError.
func Open(in io.Reader, comma byte) (*File, error) {
	return open(in, comma, (*source.Reader).Sample)
}

// OpenHead reads the first rows of a file of which in has only the beginning. It cannot be imported.
func OpenHead(in io.Reader, comma byte) (*File, error) {
	return open(in, comma, func(r *source.Reader, n int) ([]source.Row, error) { return r.Head(n), nil })
}

func open(in io.Reader, comma byte, sample func(r *source.Reader, n int) ([]source.Row, error)) (*File, error) {
	rows, err := source.Open(in, comma)
	if err != nil {
		return nil, &FileError{err}
	}
	first, err := sample(rows, sampleRows)
	if err != nil {
		return nil, &FileError{err}
	}
	return &File{Columns: rows.Columns, Whole: rows.Ended(), rows: rows, sample: first}, nil
}

// Sampled returns the number of the first rows.
func (f *File) Sampled() int { return len(f.sample) }

// readable returns the first rows, without those that cannot be read.
func (f *File) readable() []wire.Row {
	var list []wire.Row
	for i := range f.sample {
		if f.sample[i].Err == nil {
			list = append(list, f.sample[i].Row)
		}
	}
	return list
}

// Guess is how rows become documents.
type Guess struct {
	Options client.ImportOptions
	Plain   bool // the rows have the form of documents, so Options name no value
	Lacking bool // no value is the title or the text, so no row becomes a document

	mapping mapping.Mapping
}

// Guess completes options from the first rows. What they name stays. The error is a *problem.Problem about a name that a table lacks.
func (f *File) Guess(o client.ImportOptions) (Guess, error) {
	g := Guess{Options: o}
	g.mapping, g.Plain = mapping.Guess(f.readable(), mappingOf(o))
	if g.Plain || len(f.sample) == 0 {
		g.mapping.Rest, g.Plain = cmp.Or(g.mapping.Rest, mapping.Refuse), true
		return g, nil
	}
	m := &g.mapping
	g.Lacking = m.Title == "" && len(m.Text) == 0
	to := &g.Options
	to.ID, to.Title, to.Text, to.Tags, to.URL, to.Rest = m.ID, m.Title, m.Text, m.Tags, m.URL, string(m.Rest)
	return g, f.check(m)
}

// Fixed returns a guess that takes options as they are.
func (f *File) Fixed(o client.ImportOptions) (Guess, error) {
	g := Guess{Options: o, mapping: mappingOf(o)}
	g.mapping.Rest = cmp.Or(g.mapping.Rest, mapping.Refuse)
	g.Plain = g.mapping.Plain()
	return g, f.check(&g.mapping)
}

func (f *File) check(m *mapping.Mapping) error {
	if f.Columns == nil {
		return nil
	}
	return m.CheckColumns(f.Columns)
}

func mappingOf(o client.ImportOptions) mapping.Mapping {
	return mapping.Mapping{
		ID: o.ID, Title: o.Title, Text: o.Text, Tags: o.Tags, URL: o.URL, Collection: o.Collection, Rest: mapping.Rest(o.Rest),
	}
}

// Sources returns the names of the values that become a field.
func (g *Guess) Sources(field string) []string {
	names, _ := g.mapping.Sources(field)
	return names
}

// Names returns the names of the values of the first rows, in the order in which they occur.
func (f *File) Names() []string {
	if f.Columns != nil {
		return f.Columns
	}
	var names []string
	seen := map[string]bool{}
	for _, row := range f.readable() {
		for _, name := range mapping.Names(&row) {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names
}

// Values returns up to n different values with a name, as texts.
func (f *File) Values(name string, n int) []string {
	var values []string
	for i := range f.sample {
		if len(values) == n {
			break
		}
		if f.sample[i].Err != nil {
			continue
		}
		if text := mapping.Text(&f.sample[i].Row, name); text != "" && !slices.Contains(values, text) {
			values = append(values, text)
		}
	}
	return values
}

// Preview returns the first n documents, and the first refusals of the first rows, as the server would refuse them.
func (f *File) Preview(g *Guess, n int) (documents []client.NewDocument, refused []client.ImportError, refusals int) {
	for i := range f.sample {
		row := &f.sample[i]
		d, err := mapping.Document{}, error(nil)
		if row.Err != nil {
			err = row.Err
		} else {
			d, err = g.mapping.Document(&row.Row, f.Columns != nil)
		}
		if err == nil {
			err = document.CheckRow(d.ID, &d.Fields)
		}
		if err != nil {
			if refusals++; refusals <= maxRefused {
				refused = append(refused, refusalOf(row.Line, err))
			}
			continue
		}
		if len(documents) < n {
			documents = append(documents, client.NewDocument{
				ID: d.ID, Collection: cmp.Or(d.Fields.Collection, g.Options.Into), Title: d.Fields.Title, Text: d.Fields.Text,
				URL: d.Fields.URL, Tags: d.Fields.Tags, Metadata: d.Fields.Metadata,
			})
		}
	}
	return documents, refused, refusals
}

// maxRefused is how many refusals a preview has.
const maxRefused = 20

// Import sends all rows. Errors of the file are a *FileError; others are those of the client. The outcome is nil if nothing was sent.
func (f *File) Import(ctx context.Context, c *client.Client, g *Guess, progress func()) (*client.DocumentImport, error) {
	rows := &rowsOf{rows: f.rows, id: cmp.Or(g.Options.ID, "id"), seen: map[[16]byte]struct{}{}}
	if f.Columns != nil {
		rows.header = source.AppendCSV(nil, f.Columns)
	}
	return c.ImportRows(ctx, rows, g.Options, progress)
}

// rowsOf are the rows of a source as the client sends them. The server sees which rows of a request are equal; rowsOf sees it for all
// of a file.
type rowsOf struct {
	rows   *source.Reader
	header []byte
	id     string                // the name of the value that is the ID
	seen   map[[16]byte]struct{} // hashes of rows without one
}

// maxSeen bounds the memory for hashes, to about 100 MB.
const maxSeen = 2_000_000

// repeats reports whether an equal row without an ID was read before.
func (r *rowsOf) repeats(row *source.Row) bool {
	if slices.Contains(mapping.Names(&row.Row), r.id) {
		return false
	}
	sum := sha256.Sum256(row.Text)
	key := [16]byte(sum[:16])
	if _, there := r.seen[key]; there {
		return true
	}
	if len(r.seen) < maxSeen {
		r.seen[key] = struct{}{}
	}
	return false
}

func (r *rowsOf) Header() []byte { return r.header }

func (r *rowsOf) Next() ([]byte, int64, error) {
	row, err := r.rows.Next()
	if err == io.EOF { //nolint:errorlint // a source returns io.EOF itself
		return nil, row.Line, err
	}
	if err != nil {
		return nil, row.Line, &FileError{err}
	}
	if p := row.Err; p != nil {
		return nil, row.Line, &client.RefusedRow{ImportError: refusalOf(row.Line, p)}
	}
	if r.repeats(&row) {
		return nil, row.Line, &client.RefusedRow{Repeated: true}
	}
	return row.Text, row.Line, nil
}

// Command returns the flags of `keepsake documents import` that import as options say.
func Command(o client.ImportOptions, word func(string) string) string {
	var parts []string
	for _, p := range []struct{ flag, value string }{
		{"id", o.ID},
		{"title", o.Title},
		{"text", strings.Join(o.Text, ",")},
		{"tags", o.Tags},
		{"url", o.URL},
		{"collection", o.Collection},
		{"rest", o.Rest},
	} {
		if p.value != "" {
			parts = append(parts, fmt.Sprintf("--%s %s", p.flag, word(p.value)))
		}
	}
	return strings.Join(parts, " ")
}
