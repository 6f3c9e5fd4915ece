package v1

import (
	"io"

	"keepsake/internal/document"
	"keepsake/internal/endpoint"
)

type importResult struct {
	Body struct {
		Received int         `json:"received"`
		Created  int         `json:"created"`
		Replaced int         `json:"replaced"`
		Failed   int         `json:"failed"`
		Errors   []lineError `json:"errors" doc:"The first 100."`
	}
}

type lineError struct {
	Line    int    `json:"line" doc:"From 1."`
	Field   string `json:"field"`
	Issue   string `json:"issue"`
	Message string `json:"message"`
}

func viewOfImport(i document.Imported) *importResult {
	out := &importResult{}
	out.Body.Received, out.Body.Created, out.Body.Replaced, out.Body.Failed = i.Received, i.Created, i.Replaced, i.Failed
	out.Body.Errors = make([]lineError, len(i.Errors))
	for n, e := range i.Errors {
		out.Body.Errors[n] = lineError(e)
	}
	return out
}

// documentLines reads documents from a body of one JSON object a line.
func documentLines(body io.Reader, decoder *endpoint.Decoder[newDocument]) document.Lines {
	panic("not yet")
}
