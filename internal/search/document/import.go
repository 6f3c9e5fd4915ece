package document

import (
	"cmp"
	"context"
	"fmt"

	"keepsake/internal/base/field"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/event"
)

// Line is a line of an import: a document, or the reason why there is none.
type Line struct {
	Number  int    // from 1
	ID      string // empty: it follows from Content
	Content Content
	Fields  Fields
	Issues  []field.IssueCount // what the document lacks of the line
	Err     error              // a problem.Problem: the line cannot be imported

	repeats *int64 // set if the ID follows from the content: the change before the import, see Put.IfChange
}

// Lines returns the lines of an import one by one; ok is false after the last. An error says that the body cannot be read
// further.
type Lines func() (line Line, ok bool, err error)

// ImportOptions contains the options of an import.
type ImportOptions struct {
	// Into is the collection of lines without one; empty: DefaultCollection.
	Into string
	// Replace deletes the other documents of Into, once all lines are stored and none was refused.
	Replace bool
}

// Imported counts the lines of an import.
type Imported struct {
	Received int
	Created  int
	Replaced int
	Deleted  int // see ImportOptions.Replace
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
	good  int // lines to store
	bytes int
	done  bool // the last chunk
}

// Import stores lines in chunks. An invalid line does not affect the others. After an error, the chunks before it remain
// stored.
func (s *Service) Import(ctx context.Context, workspaceID string, lines Lines, o ImportOptions) (Imported, error) {
	var total Imported
	state, err := s.o.Store.DocumentState(ctx, workspaceID)
	if err != nil {
		return total, fmt.Errorf("import: %w", err)
	}
	before := state.Change
	index := importIndex{o: &s.o, workspaceID: workspaceID}
	bulk := event.NewBulk(s.o.Events, event.DocumentImported, workspaceID)
	defer bulk.End(ctx)
	defer unit.AfterCommit(ctx, index.endPart) // also of what was stored before an error
	for done := false; !done; {
		if err := ctx.Err(); err != nil {
			return total, fmt.Errorf("import: %w", err)
		}
		c, err := s.readChunk(workspaceID, lines, o, &before)
		if err != nil {
			return total, fmt.Errorf("read import: %w", interrupted(err, total))
		}
		if err := s.storeChunk(ctx, workspaceID, c, &total, &index, bulk); err != nil {
			return total, fmt.Errorf("store a chunk of an import: %w", err)
		}
		index.follow(ctx)
		done = c.done
	}
	if o.Replace && total.Failed == 0 {
		if err := s.deleteUnchanged(ctx, workspaceID, o.Into, before, &total); err != nil {
			return total, fmt.Errorf("delete what an import replaces: %w", err)
		}
	}
	return total, nil
}

// deleteUnchanged deletes the documents of a collection that did not change after a change.
func (s *Service) deleteUnchanged(ctx context.Context, workspaceID, collection string, change int64, total *Imported) error {
	deleted, err := s.deleteWhere(ctx, workspaceID, Filter{Collection: collection, Sort: ByID}, func(d *Document) bool { return d.Change <= change }, false)
	total.Deleted = deleted.Deleted
	return err
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

// stored adds a chunk to the part. written are the documents that it changed, by a transaction with a mark.
func (x *importIndex) stored(c *chunk, written []*Document, mark int64) {
	x.o.Stored(x.workspaceID, written, mark)
	x.last = written[len(written)-1].Change
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
func (s *Service) readChunk(workspaceID string, lines Lines, o ImportOptions, before *int64) (chunk, error) {
	var c chunk
	seen := map[string]bool{} // generated IDs
	for len(c.lines) < chunkLines && c.bytes < chunkBytes {
		line, ok, err := lines()
		if err != nil {
			return c, err
		}
		if !ok {
			c.done = true
			return c, nil
		}
		line.Err = s.accept(workspaceID, &line, o, before)
		switch {
		case line.Err != nil:
		case line.repeats != nil && seen[line.ID]:
			line.Err = ErrRepeated
		default:
			c.good++
			if line.repeats != nil {
				seen[line.ID] = true
			}
		}
		c.lines = append(c.lines, line)
		c.bytes += len(line.Fields.Title) + len(line.Fields.Text)
	}
	return c, nil
}

// accept validates a line and sets its ID if it has none.
func (s *Service) accept(workspaceID string, line *Line, o ImportOptions, before *int64) error {
	if line.Err != nil {
		return line.Err
	}
	if line.Fields.Collection == "" {
		line.Fields.Collection = cmp.Or(o.Into, DefaultCollection)
	}
	if line.ID == "" {
		line.ID, line.repeats = rowID(s.o.RowKey, workspaceID, line.Fields.Collection, line.Content), before
	}
	return CheckRow(line.ID, &line.Fields)
}

// CheckRow validates a row of an import. Its ID is empty if it is to follow from the content. The error is a 400 *problem.Problem that
// names the field.
func CheckRow(id string, f *Fields) error {
	if id != "" && !ValidID(id) {
		return errBadID
	}
	return f.check()
}

// storeChunk stores the valid lines of a chunk in one transaction.
func (s *Service) storeChunk(ctx context.Context, workspaceID string, c chunk, total *Imported, index *importIndex, bulk *event.Bulk) error {
	var stored Imported
	put := func(ctx context.Context) error {
		stored = Imported{} // the transaction can run several times
		written, mark, err := s.putLines(ctx, workspaceID, c.lines, &stored)
		if err != nil || len(written) == 0 {
			return err
		}
		unit.AfterCommit(ctx, func() { index.stored(&c, written, mark) })
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

// repeated counts a line without an ID that is equal to one before it.
var repeated = field.IssueCount{Field: "body", Issue: string(problem.Duplicate), Count: 1}

// putLines stores and counts lines, and returns what it wrote and the mark of the transaction. A line that the store refuses, because
// the workspace is full, does not affect the others.
func (s *Service) putLines(ctx context.Context, workspaceID string, lines []Line, counts *Imported) (stored []*Document, mark int64, err error) {
	now, put := s.now(), Put{Max: s.o.Max(workspaceID), MaxBytes: s.o.MaxBytes(workspaceID)}
	writes := make([]Write, 0, len(lines))
	for i := range lines {
		if lines[i].Err == nil {
			p := put
			p.IfChange = lines[i].repeats
			writes = append(writes, Write{Document: lines[i].Fields.document(lines[i].ID, now), Put: p})
		}
	}
	written, err := s.o.Store.PutDocuments(ctx, workspaceID, writes)
	if err != nil {
		return nil, 0, err
	}
	refused := map[string]error{} // by ID
	for i := range lines {
		counts.Received++
		switch err := lines[i].Err; {
		case err == nil:
		case err == ErrRepeated && refused[lines[i].ID] == nil: //nolint:errorlint // our own value
			counts.Note(repeated)
			continue
		default:
			if err == ErrRepeated { //nolint:errorlint // our own value
				err = refused[lines[i].ID]
			}
			counts.Fail(lines[i].Number, err)
			continue
		}
		for _, issue := range lines[i].Issues {
			counts.Note(issue)
		}
		w := written[0]
		mark = w.Mark
		switch {
		case w.Refused == ErrRepeated: //nolint:errorlint // our own value
			counts.Note(repeated)
		case w.Refused != nil:
			counts.Fail(lines[i].Number, w.Refused)
			refused[lines[i].ID] = w.Refused
		case w.Created:
			counts.Created++
			stored = append(stored, writes[0].Document)
		default:
			counts.Replaced++
			stored = append(stored, writes[0].Document)
		}
		writes, written = writes[1:], written[1:]
	}
	return stored, mark, nil
}
