package console

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"keepsake/client"
)

// documentsData is what the page of documents shows: the result of a search, or the documents that changed last.
type documentsData struct {
	Query      string
	Collection string
	Found      *client.Found // nil: nothing was searched
	Recent     []client.Document
	Message    string
}

func listDocuments(v *visit) response {
	page, err := v.api().ListDocuments(v.Context(), client.DocumentQuery{Sort: "-updatedAt", Limit: 20})
	if err != nil {
		return v.fail(err)
	}
	return show(documentsPage(documentsData{Recent: page.Items}))
}

// searchDocuments searches. The query is in the body of the request, because addresses are logged and kept in histories.
func searchDocuments(v *visit) response {
	data := documentsData{Query: v.form.Get("q"), Collection: v.form.Get("collection")}
	if strings.TrimSpace(data.Query) == "" {
		if v.isFragment() {
			return listFragment(v)
		}
		return redirect("/console/documents")
	}
	found, err := v.api().Search(v.Context(), client.Query{
		Q: data.Query, Collection: data.Collection, Cursor: v.form.Get("cursor"), Limit: new(20), Facets: []string{"collection"},
	})
	if e, ok := errors.AsType[*client.Error](err); ok && e.Status < http.StatusInternalServerError {
		data.Message = e.Error()
	} else if err != nil {
		return v.fail(err)
	}
	data.Found = found
	if v.isFragment() {
		return show(documentResults(data))
	}
	return show(documentsPage(data))
}

func listFragment(v *visit) response {
	page, err := v.api().ListDocuments(v.Context(), client.DocumentQuery{Sort: "-updatedAt", Limit: 20})
	if err != nil {
		return v.fail(err)
	}
	return show(documentResults(documentsData{Recent: page.Items}))
}

func showDocument(v *visit) response {
	document, err := v.api().Document(v.Context(), v.PathValue("id"))
	if err != nil {
		return v.fail(err)
	}
	return show(documentPage(*document))
}

func deleteDocumentForm(v *visit) response {
	document, err := v.api().Document(v.Context(), v.PathValue("id"))
	if err != nil {
		return v.fail(err)
	}
	return show(deleteDocumentPage(*document))
}

func deleteDocument(v *visit) response {
	if err := v.api().DeleteDocument(v.Context(), v.PathValue("id"), nil); err != nil {
		return v.fail(err)
	}
	return redirect("/console/documents")
}

func documentPath(id string) string { return "/console/documents/" + url.PathEscape(id) }

// importData is what the import shows.
type importData struct {
	Result  *client.Import // nil before an import
	Message string
}

func importForm(*visit) response { return show(importPage(importData{})) }

// maxUpload is the largest file that a page imports. Larger ones need a client that reports progress.
const maxUpload = 8 << 20

// importDocuments imports an uploaded file of lines.
func importDocuments(v *visit) response {
	v.ExtendDeadlines()
	v.Body = http.MaxBytesReader(nil, v.Body, maxUpload)
	file, err := uploaded(v)
	if err != nil {
		return response{status: http.StatusBadRequest, page: importPage(importData{Message: "Choose a file of at most 8 MiB. The command line imports larger ones."})}
	}
	result, err := v.api().ImportDocuments(v.Context(), file, nil)
	if e, ok := errors.AsType[*client.Error](err); ok && e.Status < http.StatusInternalServerError {
		return response{status: e.Status, page: importPage(importData{Message: e.Error(), Result: result})}
	}
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return response{status: http.StatusRequestEntityTooLarge, page: importPage(importData{
			Message: "The file is larger than 8 MiB. The command line imports it. What is listed here was imported.", Result: result,
		})}
	}
	if err != nil {
		return v.fail(err)
	}
	return show(importPage(importData{Result: result}))
}

// uploaded returns the file of a form.
func uploaded(v *visit) (io.Reader, error) {
	parts, err := v.MultipartReader()
	if err != nil {
		return nil, err
	}
	for {
		part, err := parts.NextPart()
		if err != nil {
			return nil, err
		}
		if part.FormName() == "file" && part.FileName() != "" {
			return part, nil
		}
	}
}

// piece is a part of a text, which matches a search or not.
type piece struct {
	Text string
	Mark bool
}

// marked divides a text at its highlights, which count code points.
func marked(text, field string, highlights []client.Highlight) []piece {
	var list []piece
	runes, at := []rune(text), 0
	for _, h := range highlights {
		if h.Field != field || h.Start < at || h.End > len(runes) || h.Start >= h.End {
			continue
		}
		list = append(list, piece{string(runes[at:h.Start]), false}, piece{string(runes[h.Start:h.End]), true})
		at = h.End
	}
	return append(list, piece{string(runes[at:]), false})
}
