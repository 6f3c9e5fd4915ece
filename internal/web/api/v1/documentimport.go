package v1

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"keepsake/internal/base/field"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/table"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/auth"
	"keepsake/internal/search/document"
	"keepsake/internal/search/mapping"
	"keepsake/internal/web/endpoint"
)

// AddPortableDocuments declares the import and export of documents.
func AddPortableDocuments(r *endpoint.Registry, documents *document.Service) {
	load := documentOperation("importDocuments", "POST", "/import", "Import documents from lines of JSON or a CSV", auth.Write)
	load.Description = "Each line is a document in the format of createDocument. A document whose ID exists is replaced. An invalid line does " +
		"not affect the others. A line without an ID gets one that follows from its workspace, collection and content, so that importing it " +
		"again replaces the document. The body can also be a JSON array of at most 8 MiB; line is then the position in the array, starting " +
		"at 1. Or it is a CSV whose first row has the names of the columns; line is then the line on which a row begins. Rows of any form " +
		"become documents if the parameters say which of their values are which fields. Values of nested objects have names with dots."
	load.Class, load.Media, load.Idempotent = endpoint.Stream, endpoint.MediaLines, true
	load.Lines = []string{
		`{"id":"opening-hours","collection":"handbook","title":"Opening hours","text":"Open from Monday to Friday, from 9 to 5."}`,
		`{"id":"refunds","collection":"handbook","title":"Refunds","text":"Send it back within 30 days.","tags":["orders"]}`,
	}
	load.Table = "id,collection,title,text,tags\n" +
		"opening-hours,handbook,Opening hours,\"Open from Monday to Friday, from 9 to 5.\",\n" +
		"refunds,handbook,Refunds,Send it back within 30 days.,orders|returns\n"
	decoder := endpoint.NewDecoder[newDocument]()
	endpoint.Add(r, load, func(ctx context.Context, in *importDocuments) (*importResult, error) {
		options, err := in.options()
		if err != nil {
			return nil, err
		}
		lines, err := in.lines(decoder)
		if err != nil {
			return nil, err
		}
		imported, err := documents.Import(ctx, auth.From(ctx).WorkspaceID, lines, options)
		if err != nil {
			return nil, err
		}
		return viewOfImport(imported), nil
	})

	export := documentOperation("exportDocuments", "GET", "/export", "Export documents as lines of JSON", auth.Read)
	export.Class = endpoint.Stream
	export.Description = "Each line is a document in the format of importDocuments, in the order of the IDs."
	endpoint.Add(r, export, func(ctx context.Context, in *exportDocuments) (*exportedDocuments, error) {
		found := documents.Export(ctx, auth.From(ctx).WorkspaceID, in.Collection)
		return &exportedDocuments{Lines: func(yield func(*portableDocument, error) bool) {
			for d, err := range found {
				var view *portableDocument
				if err == nil {
					view = viewOfPortableDocument(d)
				}
				if !yield(view, err) {
					return
				}
			}
		}}, nil
	})
}

type importDocuments struct {
	IdempotencyKey string `header:"Idempotency-Key" doc:"A key that makes the import safe to retry."`
	ID             string `query:"id" maxLength:"1024" doc:"The name of the value that is the ID. An integer is taken as its digits. The default is id."`
	Title          string `query:"title" maxLength:"1024" doc:"The name of the value that is the title. The default is title." example:"name"`
	Text           string `query:"text" maxLength:"1024" doc:"The name of the value that is the text, or several names separated by commas, whose values are joined by blank lines. The default is text." example:"description,notes"`
	Tags           string `query:"tags" maxLength:"1024" doc:"The name of the value that has the tags: an array, or a text in which they are parted by |. The default is tags."`
	URL            string `query:"url" maxLength:"1024" doc:"The name of the value that is the URL. The default is url."`
	Collection     string `query:"collection" maxLength:"1024" doc:"The name of the value that is the collection. The default is collection."`
	Into           string `query:"into" maxLength:"128" doc:"The collection of the rows that have none."`
	Replace        bool   `query:"replace" doc:"Whether the documents of the collection into that are not in the body are deleted, once all rows are stored and none failed."`
	Rest           string `query:"rest" default:"refuse" enum:"metadata,refuse,drop" doc:"What becomes of the other values of a row: with refuse the row is refused, with drop they are left out, and with metadata they become metadata, where texts of more than 1,024 characters are cut."`
	Stream         io.Reader
	Array          bool
	Table          bool
}

// options returns what the import does with its lines.
func (in *importDocuments) options() (document.ImportOptions, error) {
	o := document.ImportOptions{Into: in.Into, Replace: in.Replace}
	switch {
	case in.Into != "" && field.Blank(in.Into):
		return o, problem.Validation("into", problem.Required, "into must not be blank.")
	case strings.ContainsRune(in.Into, 0):
		return o, problem.Validation("into", problem.Format, "into must not contain the character U+0000.")
	case in.Replace && in.Into == "":
		return o, problem.Validation("into", problem.Required, "into is required with replace, which deletes documents of that collection.")
	}
	return o, nil
}

// mapping returns how rows become documents.
func (in *importDocuments) mapping() (mapping.Mapping, error) {
	m := mapping.Mapping{ID: in.ID, Title: in.Title, Tags: in.Tags, URL: in.URL, Collection: in.Collection, Rest: mapping.Rest(in.Rest)}
	if in.Text == "" {
		return m, nil
	}
	m.Text = strings.Split(in.Text, ",")
	if slices.Contains(m.Text, "") {
		return m, problem.Validation("text", problem.Format, "text must be names that are separated by commas.")
	}
	return m, nil
}

type exportDocuments struct {
	Collection string `query:"collection" doc:"The collection to export. Without it, all documents are exported."`
}

type exportedDocuments struct {
	Lines endpoint.Sequence[portableDocument]
}

// portableDocument is a line of an export.
type portableDocument struct {
	ID         string             `json:"id" doc:"The ID of the document, which an import keeps."`
	Collection string             `json:"collection" doc:"The collection that the document belongs to."`
	Title      string             `json:"title" doc:"The title of the document. It is empty if the document has none."`
	Text       string             `json:"text" doc:"The text of the document as it was stored. It is empty if the document has none."`
	URL        *string            `json:"url" doc:"The URL of the original. It is null if none was stored."`
	Tags       []string           `json:"tags" doc:"The tags of the document, in the order in which they were sent."`
	Metadata   wire.MetadataLists `json:"metadata" doc:"The metadata of the document: strings, numbers, booleans or arrays of these by name."`
	Language   *string            `json:"language" doc:"The language of the document, as it was stored. It is null if none was." example:"en"`
}

func viewOfPortableDocument(d *document.Document) *portableDocument {
	return &portableDocument{
		ID: d.ID, Collection: d.Collection, Title: d.Title, Text: d.Text, URL: textOrNull(d.URL), Tags: d.Tags, Metadata: d.Metadata,
		Language: textOrNull(d.Language),
	}
}

type importResult struct {
	Body struct {
		Received int         `json:"received" doc:"The number of lines or rows that were read, without blank ones."`
		Created  int         `json:"created" doc:"The number of lines whose document is new."`
		Replaced int         `json:"replaced" doc:"The number of lines whose document replaced one with the same ID."`
		Deleted  int         `json:"deleted" doc:"The number of documents that were deleted, because replace is true and the body does not contain them."`
		Failed   int         `json:"failed" doc:"The number of lines that were refused."`
		Errors   []lineError `json:"errors" doc:"The first 100 lines that were refused, in the order of the lines."`
		Issues   []lineIssue `json:"issues" doc:"How many lines failed for which reason, and what was left out of lines that were imported, the most frequent first. Lines that are equal to one before them, and have no ID, are counted as duplicate."`
	}
}

type lineError struct {
	Line    int    `json:"line" doc:"The number of the line, starting at 1."`
	Field   string `json:"field" doc:"The field with the problem, body for the whole line, or the limit of the tier that is reached."`
	Issue   string `json:"issue"`
	Message string `json:"message"`
}

type lineIssue struct {
	Field string `json:"field" doc:"The field with the problem, body for the whole line, or the limit of the tier that is reached."`
	Issue string `json:"issue"`
	Count int    `json:"count" doc:"The number of lines that failed for this reason, or of values that were left out for it."`
}

// failuresOf returns the errors and the issues of an import.
func failuresOf(f *field.Failures) (errors []lineError, issues []lineIssue) {
	for _, e := range f.Errors {
		errors = append(errors, lineError(e))
	}
	for _, i := range f.Issues() {
		issues = append(issues, lineIssue(i))
	}
	return errors, issues
}

func viewOfImport(i document.Imported) *importResult {
	out := &importResult{}
	out.Body.Received, out.Body.Created, out.Body.Replaced, out.Body.Deleted, out.Body.Failed = i.Received, i.Created, i.Replaced, i.Deleted, i.Failed
	out.Body.Errors, out.Body.Issues = failuresOf(&i.Failures)
	return out
}

// maxLine is the maximum size of a line: the longest text with every character escaped.
const maxLine = 2 << 20

// lines returns the documents of the body one by one.
func (in *importDocuments) lines(decoder *endpoint.Decoder[newDocument]) (document.Lines, error) {
	m, err := in.mapping()
	if err != nil {
		return nil, err
	}
	if in.Table {
		return tableLines(in.Stream, &m)
	}
	read := func(number int, text []byte) document.Line { return mappedLine(&m, number, text) }
	if m.Plain() {
		read = func(number int, text []byte) document.Line { return documentLine(decoder, number, text) }
	}
	if !in.Array && in.Replace {
		return notEmpty(documentLines(in.Stream, read)), nil
	}
	if !in.Array {
		return documentLines(in.Stream, read), nil
	}
	body, err := io.ReadAll(in.Stream)
	if err != nil {
		return nil, err
	}
	items, err := wire.Array(body)
	if err != nil {
		return nil, err
	}
	return documentItems(items, read), nil
}

// readLine makes a line of its text.
type readLine func(number int, text []byte) document.Line

// documentLines reads documents from a body with one JSON object per line. It skips blank lines. A line that is too long or
// invalid is returned as such; an unreadable body is an error.
func documentLines(body io.Reader, read readLine) document.Lines {
	lines := wire.NewLines(body, maxLine)
	return func() (document.Line, bool, error) {
		text, err := lines.Next()
		var tooLong *wire.TooLong
		switch {
		case err == io.EOF:
			return document.Line{}, false, nil
		case errors.As(err, &tooLong):
			return document.Line{Number: lines.Number(), Err: err}, true, nil
		case err != nil:
			return document.Line{}, false, err
		default:
			return read(lines.Number(), text), true, nil
		}
	}
}

// notEmpty refuses a body without lines, which a program that failed can have written.
func notEmpty(lines document.Lines) document.Lines {
	some := false
	return func() (document.Line, bool, error) {
		line, ok, err := lines()
		if !ok && err == nil && !some {
			err = problem.Validation("body", problem.Required, "The body is empty. With replace, this would delete all documents of the collection.")
		}
		some = true
		return line, ok, err
	}
}

// documentItems is documentLines for the values of an array.
func documentItems(items []wire.Value, read readLine) document.Lines {
	number := 0
	return func() (document.Line, bool, error) {
		if number == len(items) {
			return document.Line{}, false, nil
		}
		number++
		return read(number, items[number-1]), true, nil
	}
}

// tableLines is documentLines for a CSV.
func tableLines(body io.Reader, m *mapping.Mapping) (document.Lines, error) {
	rows := table.NewReader(body, ',', maxLine)
	columns, err := rows.Header()
	if err != nil {
		return nil, err
	}
	if err := m.CheckColumns(columns); err != nil {
		return nil, err
	}
	return func() (document.Line, bool, error) {
		row, err := rows.Next()
		switch {
		case err == io.EOF:
			return document.Line{}, false, nil
		case err != nil:
			return document.Line{}, false, err
		case row.Err != nil:
			return document.Line{Number: row.Line, Err: row.Err}, true, nil
		}
		cells := mapping.RowOfCells(columns, row.Cells)
		return lineOfRow(m, row.Line, &cells, true), true, nil
	}, nil
}

// documentLine reads a line that has the form of a document.
func documentLine(decoder *endpoint.Decoder[newDocument], number int, text []byte) document.Line {
	line := document.Line{Number: number}
	var d newDocument
	if line.Err = decoder.Decode(text, &d); line.Err != nil {
		return line
	}
	line.Fields = d.fields()
	if d.ID != nil {
		line.ID = string(*d.ID)
	} else if line.Err == nil {
		line.Content = document.ContentOf(&line.Fields, entriesIn(text, line.Fields.Metadata))
	}
	return line
}

// entriesIn returns metadata in the order in which the text of a line has it.
func entriesIn(text []byte, metadata map[string]any) []document.Entry {
	if len(metadata) == 0 {
		return nil
	}
	var row wire.Row
	_ = wire.DecodeLine(text, &row) // the line was decoded before
	var entries []document.Entry
	for _, m := range row.Members {
		own, _ := m.Value.(wire.Row)
		if m.Name != "metadata" {
			continue
		}
		for _, entry := range own.Members {
			if value, ok := metadata[entry.Name]; ok {
				entries = append(entries, document.Entry{Name: entry.Name, Value: value})
			}
		}
	}
	return entries
}

// mappedLine reads a line of any form.
func mappedLine(m *mapping.Mapping, number int, text []byte) document.Line {
	var row wire.Row
	if err := wire.DecodeLine(text, &row); err != nil {
		return document.Line{Number: number, Err: err}
	}
	return lineOfRow(m, number, &row, false)
}

func lineOfRow(m *mapping.Mapping, number int, row *wire.Row, isTable bool) document.Line {
	d, err := m.Document(row, isTable)
	if err != nil {
		return document.Line{Number: number, Err: err}
	}
	line := document.Line{Number: number, ID: d.ID, Fields: d.Fields, Issues: d.Issues}
	if d.ID == "" {
		line.Content = document.ContentOf(&d.Fields, d.Entries)
	}
	return line
}
