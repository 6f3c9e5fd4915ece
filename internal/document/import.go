package document

import (
	"context"
	"errors"
	"fmt"

	"keepsake/internal/problem"
	"keepsake/internal/unit"
)

// Line is one line of an import: either a document or why there is none.
type Line struct {
	Number int    // from 1
	ID     string // empty: made, unless ImportOptions.RequireID
	Fields Fields
	Err    error // a problem.Problem: the line cannot be imported
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

// A chunk is what one unit of work stores: enough lines to share the cost of a commit, few enough bytes that others
// are not kept waiting.
const (
	chunkLines = 256
	chunkBytes = 1 << 20
)

// chunk is a number of lines on their way into the store.
type chunk struct {
	lines []Line
	good  int // lines that can be stored
	bytes int
	done  bool // nothing follows
}

// Import stores the lines in chunks, each chunk one unit of work. A bad line fails alone. When the body breaks off, or
// the store fails, the chunks before stay stored and the error says so.
func (s *Service) Import(ctx context.Context, workspaceID string, lines Lines, o ImportOptions) (Imported, error) {
	var total Imported
	pace := s.o.Pace
	for done := false; !done; {
		if err := ctx.Err(); err != nil {
			return total, fmt.Errorf("import: %w", err)
		}
		c, err := s.readChunk(lines, o)
		if err != nil {
			return total, fmt.Errorf("read import: %w", brokenOff(err, total))
		}
		if err := s.storeChunk(ctx, workspaceID, c, &total); err != nil {
			return total, fmt.Errorf("store a chunk of an import: %w", err)
		}
		if pace != nil && pace(ctx, workspaceID) != nil {
			pace = nil
		}
		done = c.done
	}
	return total, nil
}

// brokenOff says with the problem that ended a body how much of it was stored before.
func brokenOff(err error, before Imported) error {
	p, ok := problem.As(err)
	if !ok || before.Received == 0 {
		return err
	}
	told := *p
	told.Message += fmt.Sprintf(" The %d lines before that were read, and what was imported of them stays.", before.Received)
	return told.Because(err)
}

// readChunk reads lines until a chunk is full. Those that cannot be stored say why.
func (s *Service) readChunk(lines Lines, o ImportOptions) (chunk, error) {
	var c chunk
	for len(c.lines) < chunkLines && c.bytes < chunkBytes {
		line, ok, err := lines()
		if err != nil {
			return c, err
		}
		if !ok {
			c.done = true
			return c, nil
		}
		if line.Err = s.accept(&line, o); line.Err == nil {
			c.good++
		}
		c.lines = append(c.lines, line)
		c.bytes += len(line.Fields.Title) + len(line.Fields.Text)
	}
	return c, nil
}

// accept checks one line and gives it an id where it has none.
func (s *Service) accept(line *Line, o ImportOptions) error {
	switch {
	case line.Err != nil:
		return line.Err
	case line.ID == "" && o.RequireID:
		return problem.Validation("id", problem.Required, "id is required in every line of a request with an Idempotency-Key.")
	case line.ID == "":
		line.ID = s.o.NewID()
	case !ValidID(line.ID):
		return errBadID
	}
	return line.Fields.check()
}

// storeChunk stores what can be stored of a chunk in one unit of work.
func (s *Service) storeChunk(ctx context.Context, workspaceID string, c chunk, total *Imported) error {
	var stored Imported
	put := func(ctx context.Context) error {
		stored = Imported{} // the unit may run again
		last, err := s.putLines(ctx, workspaceID, c.lines, &stored)
		if err == nil && last != nil {
			unit.AfterCommit(ctx, func() { s.o.Changed(workspaceID, last.Change) })
		}
		return err
	}
	run := put
	if c.good > 0 {
		run = func(ctx context.Context) error { return s.o.Units.Run(ctx, put) }
	}
	if err := run(ctx); err != nil {
		return err
	}
	total.Received += stored.Received
	total.Created += stored.Created
	total.Replaced += stored.Replaced
	total.Failed += stored.Failed
	total.Errors = append(total.Errors, stored.Errors[:min(len(stored.Errors), MaxLineErrors-len(total.Errors))]...)
	return nil
}

// putLines stores lines one after the other and counts what became of each. A line the store refuses, because the
// workspace is full, fails alone.
func (s *Service) putLines(ctx context.Context, workspaceID string, lines []Line, counts *Imported) (last *Document, err error) {
	now, put := s.now(), Put{Max: s.o.Max(workspaceID), MaxBytes: s.o.MaxBytes(workspaceID)}
	writes := make([]Write, 0, len(lines))
	for i := range lines {
		if lines[i].Err == nil {
			writes = append(writes, Write{Document: lines[i].Fields.document(lines[i].ID, now), Put: put})
		}
	}
	written, err := s.o.Store.PutDocuments(ctx, workspaceID, writes)
	if err != nil {
		return nil, err
	}
	for i := range lines {
		counts.Received++
		if lines[i].Err != nil {
			counts.fail(lines[i].Number, lines[i].Err)
			continue
		}
		w := written[0]
		switch {
		case w.Refused != nil:
			counts.fail(lines[i].Number, w.Refused)
		case w.Created:
			counts.Created++
			last = writes[0].Document
		default:
			counts.Replaced++
			last = writes[0].Document
		}
		writes, written = writes[1:], written[1:]
	}
	return last, nil
}

// fail counts a line that was not imported.
func (i *Imported) fail(line int, err error) {
	i.Failed++
	if len(i.Errors) == MaxLineErrors {
		return
	}
	e := LineError{Line: line, Field: "body", Issue: string(problem.InvalidVal), Message: "The line could not be imported."}
	var p *problem.Problem
	if errors.As(err, &p) {
		e.Message = p.Message
		switch {
		case p.Details.Field != "":
			e.Field, e.Issue = p.Details.Field, string(p.Details.Issue)
		case p.Code == problem.CodeLimitReached:
			e.Field, e.Issue = p.Details.Limit, string(problem.NotAllowed)
		}
	}
	i.Errors = append(i.Errors, e)
}
