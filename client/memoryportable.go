package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
)

// MemoryImport is the result of an import of memories.
type MemoryImport struct {
	Import
	Unchanged int64 `json:"unchanged"` // equal to the stored memory
}

// ExportSubject writes a subject's memories with their history to w, one JSON object per line, oldest first.
func (c *Client) ExportSubject(ctx context.Context, id string, w io.Writer) error {
	r := request{method: http.MethodGet, path: subjects + "/" + url.PathEscape(id) + "/export", accept: mediaLines}
	return c.call(ctx, r, w)
}

// ImportMemories is ImportDocuments for memories. A line is as ExportSubject writes it, or a NewMemory. A line whose memory
// was erased is refused.
func (c *Client) ImportMemories(ctx context.Context, r io.Reader, progress func(bytes int64)) (*MemoryImport, error) {
	total := &MemoryImport{Import: Import{Errors: []ImportError{}, Issues: []ImportIssue{}}}
	const longest = 33 << 20
	return total, importLines(ctx, c, memories, newParts(r, longest), part.named, progress, func(outcome *MemoryImport, firstLine int64) {
		total.add(&outcome.Import, firstLine)
		total.Unchanged += outcome.Unchanged
	})
}
