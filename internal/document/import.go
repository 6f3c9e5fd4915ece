package document

import "context"

// Line is one line of an import: either a document or why there is none.
type Line struct {
	Number int    // from 1
	ID     string // empty: made, unless ImportOptions.RequireID
	Fields Fields
	Err    error // a problem.Problem: the line could not be decoded
}

// Lines hands over the lines of an import one by one: ok is false after the last. An error means that the body could
// not be read further; the lines before it count.
type Lines func() (line Line, ok bool, err error)

// ImportOptions says how an import is run.
type ImportOptions struct {
	// RequireID refuses lines without an id: a request that may be repeated must not make new ids each time.
	RequireID bool
}

// LineError tells why one line was not imported.
type LineError struct {
	Line    int
	Field   string
	Issue   string
	Message string
}

// Imported counts what an import did. Errors holds the first MaxLineErrors.
type Imported struct {
	Received int
	Created  int
	Replaced int
	Failed   int
	Errors   []LineError
}

// MaxLineErrors is how many line errors an import tells in full.
const MaxLineErrors = 100

// Import stores the lines in chunks, each chunk one unit of work. A bad line fails alone.
func (s *Service) Import(ctx context.Context, workspaceID string, lines Lines, o ImportOptions) (Imported, error) {
	return Imported{}, errTodo
}
