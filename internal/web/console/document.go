package console

import (
	"errors"
	"fmt"
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
