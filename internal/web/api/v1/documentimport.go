package v1

import (
	"context"
	"errors"
	"io"

	"keepsake/internal/base/field"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/auth"
	"keepsake/internal/search/document"
	"keepsake/internal/web/endpoint"
)

// AddPortableDocuments declares the import and export of documents.
func AddPortableDocuments(r *endpoint.Registry, documents *document.Service) {
	load := documentOperation("importDocuments", "POST", "/import", "Import documents from lines of JSON", auth.Write)
	load.Description = "Each line is a document in the format of createDocument. A document whose ID exists is replaced. An invalid line does " +
		"not affect the others. If the request has an Idempotency-Key, every line must have an ID. The body can also be a JSON array of at most " +
		"8 MiB; line is then the position in the array, starting at 1."
	load.Class, load.Media, load.Idempotent = endpoint.Stream, endpoint.MediaLines, true
	load.Lines = []string{
		`{"id":"opening-hours","collection":"handbook","title":"Opening hours","text":"Open from Monday to Friday, from 9 to 5."}`,
		`{"id":"refunds","collection":"handbook","title":"Refunds","text":"Send it back within 30 days.","tags":["orders"]}`,
	}
	decoder := endpoint.NewDecoder[newDocument]()
	endpoint.Add(r, load, func(ctx context.Context, in *importDocuments) (*importResult, error) {
		lines, err := in.lines(decoder)
		if err != nil {
			return nil, err
		}
		imported, err := documents.Import(ctx, auth.From(ctx).WorkspaceID, lines, document.ImportOptions{RequireID: in.IdempotencyKey != ""})
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
	IdempotencyKey string `header:"Idempotency-Key" doc:"A key that makes the import safe to retry. Every line must then have an ID."`
	Stream         io.Reader
	Array          bool
}

type exportDocuments struct {
	Collection string `query:"collection" doc:"The collection to export. Without it, all documents are exported."`
}

type exportedDocuments struct {
	Lines endpoint.Sequence[portableDocument]
}

// portableDocument is a line of an export.
type portableDocument struct {
	ID         string        `json:"id" doc:"The ID of the document, which an import keeps."`
	Collection string        `json:"collection" doc:"The collection that the document belongs to."`
	Title      string        `json:"title" doc:"The title of the document. It is empty if the document has none."`
	Text       string        `json:"text" doc:"The text of the document as it was stored. It is empty if the document has none."`
	URL        *string       `json:"url" doc:"The URL of the original. It is null if none was stored."`
	Tags       []string      `json:"tags" doc:"The tags of the document, in the order in which they were sent."`
	Metadata   wire.Metadata `json:"metadata" doc:"The metadata of the document: strings, numbers or booleans by name."`
	Language   *string       `json:"language" doc:"The language of the document, as it was stored. It is null if none was." example:"en"`
}

func viewOfPortableDocument(d *document.Document) *portableDocument {
	return &portableDocument{
		ID: d.ID, Collection: d.Collection, Title: d.Title, Text: d.Text, URL: textOrNull(d.URL), Tags: d.Tags, Metadata: d.Metadata,
		Language: textOrNull(d.Language),
	}
}

type importResult struct {
	Body struct {
		Received int         `json:"received" doc:"The number of lines that were read, without blank ones."`
		Created  int         `json:"created" doc:"The number of lines whose document is new."`
		Replaced int         `json:"replaced" doc:"The number of lines whose document replaced one with the same ID."`
		Failed   int         `json:"failed" doc:"The number of lines that were refused."`
		Errors   []lineError `json:"errors" doc:"The first 100 lines that were refused, in the order of the lines."`
		Issues   []lineIssue `json:"issues" doc:"How many lines failed for which reason, the most frequent first."`
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
	Count int    `json:"count" doc:"The number of lines that failed for this reason."`
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
	out.Body.Received, out.Body.Created, out.Body.Replaced, out.Body.Failed = i.Received, i.Created, i.Replaced, i.Failed
	out.Body.Errors, out.Body.Issues = failuresOf(&i.Failures)
	return out
}

// maxLine is the maximum size of a line: the longest text with every character escaped.
const maxLine = 2 << 20

// lines returns the documents of the body one by one.
func (in *importDocuments) lines(decoder *endpoint.Decoder[newDocument]) (document.Lines, error) {
	if !in.Array {
		return documentLines(in.Stream, decoder), nil
	}
	body, err := io.ReadAll(in.Stream)
	if err != nil {
		return nil, err
	}
	items, err := wire.Array(body)
	if err != nil {
		return nil, err
	}
	return documentItems(items, decoder), nil
}

// documentLines reads documents from a body with one JSON object per line. It skips blank lines. A line that is too long or
// invalid is returned as such; an unreadable body is an error.
func documentLines(body io.Reader, decoder *endpoint.Decoder[newDocument]) document.Lines {
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
			return documentLine(decoder, lines.Number(), text), true, nil
		}
	}
}

// documentItems is documentLines for the values of an array.
func documentItems(items []wire.Value, decoder *endpoint.Decoder[newDocument]) document.Lines {
	number := 0
	return func() (document.Line, bool, error) {
		if number == len(items) {
			return document.Line{}, false, nil
		}
		number++
		return documentLine(decoder, number, items[number-1]), true, nil
	}
}

func documentLine(decoder *endpoint.Decoder[newDocument], number int, text []byte) document.Line {
	line := document.Line{Number: number}
	var d newDocument
	if line.Err = decoder.Decode(text, &d); line.Err != nil {
		return line
	}
	if d.ID != nil {
		line.ID = string(*d.ID)
	}
	line.Fields = d.fields()
	return line
}
