package console

import (
	"errors"
	"fmt"
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
	Pages      pages
	Message    string
}

func listDocuments(v *visit) response {
	data, err := v.recentDocuments()
	if err != nil {
		return v.fail(err)
	}
	return show(documentsPage(data))
}

// recentDocuments reads the documents that changed last.
func (v *visit) recentDocuments() (documentsData, error) {
	page, err := v.api().ListDocuments(v.Context(), client.DocumentQuery{Sort: "-updatedAt", Limit: 20, Cursor: v.URL.Query().Get("cursor")})
	if err != nil {
		return documentsData{}, err
	}
	return documentsData{Recent: page.Items, Pages: v.pages("/console/documents", nil, page.NextCursor)}, nil
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
	if found != nil {
		data.Pages = v.pages("/console/documents", url.Values{"q": {data.Query}, "collection": {data.Collection}}, found.NextCursor)
	}
	if v.isFragment() {
		return show(documentResults(data))
	}
	return show(documentsPage(data))
}

func listFragment(v *visit) response {
	data, err := v.recentDocuments()
	if err != nil {
		return v.fail(err)
	}
	return show(documentResults(data))
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
	return done("/console/documents", "deleted")
}

func documentPath(id string) string { return "/console/documents/" + url.PathEscape(id) }

// importData is what the import shows.
type importData struct {
	Result  *client.DocumentImport // nil before an import
	Message string
}

func importForm(*visit) response { return show(importPage(importData{})) }

// importDocuments imports an uploaded file while it arrives. The file can have any length: the client sends it to the API in
// parts.
func importDocuments(v *visit) response {
	v.Stream()
	file, err := uploaded(v)
	if err != nil {
		return v.imported(http.StatusBadRequest, importData{Message: "Choose a file."})
	}
	result, err := v.api().ImportDocuments(v.Context(), file, nil)
	if err == nil {
		return v.imported(http.StatusOK, importData{Result: result})
	}
	_, _ = io.Copy(io.Discard, file) // browsers show a response only after they have sent the file
	if errors.Is(err, client.ErrLineTooLong) {
		return v.imported(http.StatusBadRequest, importData{Result: result, Message: "A line is longer than any document. Is this a file with one JSON object per line, or an array of objects?"})
	}
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Status == http.StatusForbidden {
		return v.fail(err)
	}
	resp := v.imported(e.Status, importData{Result: result, Message: v.reason(e) + " " + stoppedText})
	resp.header = retryHeader(e)
	return resp
}

// stoppedText says what an import that was stopped has done.
const stoppedText = "What is listed below was imported before. You can import the whole file again: documents with an ID are replaced, not stored twice."

// imported shows the result of an import.
func (v *visit) imported(status int, data importData) response {
	if v.isFragment() {
		return response{status: status, page: importResult(data)}
	}
	return response{status: status, page: importPage(data)}
}

// uploaded returns the file of a form.
func uploaded(v *visit) (io.Reader, error) {
	v.Body = watchedBody{v.Body, v}
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

// valueText returns a value of metadata as people read it. The values of a list are parted by commas.
func valueText(value any) string {
	list, ok := value.([]any)
	if !ok {
		return fmt.Sprint(value)
	}
	texts := make([]string, len(list))
	for i, element := range list {
		texts[i] = fmt.Sprint(element)
	}
	return strings.Join(texts, ", ")
}
