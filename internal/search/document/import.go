package document

import (
	"context"
	"fmt"

	"keepsake/internal/base/field"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/event"
)

// Line is a line of an import: a document, or the reason why there is none.
type Line struct {
	Number int    // from 1
	ID     string // empty: generated, unless ImportOptions.RequireID is set
	Fields Fields
	Err    error // a problem.Problem: the line cannot be imported
}

// Lines returns the lines of an import one by one; ok is false after the last. An error says that the body cannot be read
// further.
type Lines func() (line Line, ok bool, err error)

// ImportOptions contains the options of an import.
type ImportOptions struct {
	// RequireID refuses lines without an ID, so that a repeated request does not generate new ones.
	RequireID bool
}

// Imported counts the lines of an import.
type Imported struct {
	Received int
	Created  int
	Replaced int
	field.Failures
}

// A chunk is what one transaction stores: enough lines to share the cost of a commit, few enough bytes that other writes do
// not wait for long.
const (
	chunkLines = 256
	chunkBytes = 1 << 20
)

// An import is indexed in parts of at least so many lines, or bytes of text, because a large part takes the index less time
// than many small ones.
const (
	partLines = 2_048
	partBytes = 1 << 20
)

// chunk contains lines to store.
type chunk struct {
	lines []Line
	good  int // lines that can be stored
	bytes int
	done  bool // the last chunk
}

// Import stores lines in chunks. An invalid line does not affect the others. After an error, the chunks before it remain
// stored.
func (s *Service) Import(ctx context.Context, workspaceID string, lines Lines, o ImportOptions) (Imported, error) {
	var total Imported
	index := importIndex{o: &s.o, workspaceID: workspaceID}
	bulk := event.NewBulk(s.o.Events, event.DocumentImported, workspaceID)
	defer bulk.End(ctx)
	defer unit.AfterCommit(ctx, index.endPart) // also of what was stored before an error
	for done := false; !done; {
		if err := ctx.Err(); err != nil {
			return total, fmt.Errorf("import: %w", err)
		}
		c, err := s.readChunk(lines, o)
		if err != nil {
			return total, fmt.Errorf("read import: %w", interrupted(err, total))
		}
		if err := s.storeChunk(ctx, workspaceID, c, &total, &index, bulk); err != nil {
			return total, fmt.Errorf("store a chunk of an import: %w", err)
		}
		index.follow(ctx)
		done = c.done
	}
	return total, nil
}

// importIndex reports to the index what an import has stored, in parts of several chunks. While a part grows, searches wait for what
// is stored of it.
type importIndex struct {
	o           *Options
	workspaceID string
	last        int64 // change that is stored
	lines       int   // stored since the last part
	bytes       int
	before      int64 // last change of the part before
	alone       bool  // the import does not wait for the index
}

// stored adds a chunk to the part. last is its last change.
func (x *importIndex) stored(c *chunk, last int64) {
	x.o.Stored(x.workspaceID, last)
	x.last = last
	x.lines += c.good
	x.bytes += c.bytes
}

// follow ends a part that is large enough, and waits until the index has the part before it.
func (x *importIndex) follow(ctx context.Context) {
	if x.lines < partLines && x.bytes < partBytes {
		return
	}
	before := x.before
	x.before = x.last
	x.endPart()
	if x.o.Pace != nil && !x.alone {
		x.alone = x.o.Pace(ctx, x.workspaceID, before) != nil
	}
}

// endPart reports the changes of the part, if there are any.
func (x *importIndex) endPart() {
	if x.lines > 0 {
		x.o.Changed(x.workspaceID, x.last)
		x.lines, x.bytes = 0, 0
	}
}

// interrupted adds to the error that ended a body how much of it was stored.
func interrupted(err error, before Imported) error {
	p, ok := problem.As(err)
	if !ok || before.Received == 0 {
		return err
	}
	reported := *p
	reported.Message += fmt.Sprintf(" The %d lines before that were read, and what was imported of them stays.", before.Received)
	return reported.Because(err)
}

// readChunk reads and validates lines until a chunk is full.
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

// accept validates a line and generates its ID if it has none.
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

// storeChunk stores the valid lines of a chunk in one transaction.
func (s *Service) storeChunk(ctx context.Context, workspaceID string, c chunk, total *Imported, index *importIndex, bulk *event.Bulk) error {
	var stored Imported
	put := func(ctx context.Context) error {
		stored = Imported{} // the transaction can run several times
		written, err := s.putLines(ctx, workspaceID, c.lines, &stored)
		if err != nil || len(written) == 0 {
			return err
		}
		last := written[len(written)-1]
		unit.AfterCommit(ctx, func() { index.stored(&c, last.Change) })
		return bulk.Add(ctx, itemsOf(written), c.done)
	}
	run := put
	if c.good > 0 {
		run = func(ctx context.Context) error { return s.o.Units.Run(ctx, put) }
		if background := s.o.Background; background != nil {
			run = func(ctx context.Context) error {
				return background(ctx, func() error { return s.o.Units.Run(ctx, put) })
			}
		}
	}
	if err := run(ctx); err != nil {
		return err
	}
	total.Received += stored.Received
	total.Created += stored.Created
	total.Replaced += stored.Replaced
	total.Failures.Add(stored.Failures)
	return nil
}

// putLines stores and counts lines, and returns what it wrote. A line that the store refuses, because the workspace is full,
// does not affect the others.
func (s *Service) putLines(ctx context.Context, workspaceID string, lines []Line, counts *Imported) (stored []*Document, err error) {
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
			counts.Fail(lines[i].Number, lines[i].Err)
			continue
		}
		w := written[0]
		switch {
		case w.Refused != nil:
			counts.Fail(lines[i].Number, w.Refused)
		case w.Created:
			counts.Created++
			stored = append(stored, writes[0].Document)
		default:
			counts.Replaced++
			stored = append(stored, writes[0].Document)
		}
		writes, written = writes[1:], written[1:]
	}
	return stored, nil
}
