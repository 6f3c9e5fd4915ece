package memory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"keepsake/internal/auth"
	"keepsake/internal/id"
	"keepsake/internal/problem"
)

// A chunk is what one unit of work stores: enough lines to share the cost of a commit, few enough bytes that others are not
// kept waiting.
const (
	chunkLines = 256
	chunkBytes = 1 << 20
)

// arrival is a line of an import on its way.
type arrival struct {
	draft
	number  int
	named   bool // the line brings its id
	kept    bool // and its own times, authors and revision
	history []*Memory
	older   []*Row // history, sealed
}

// Import stores lines in chunks, each chunk one unit of work. A bad line fails alone. requireID refuses lines without an
// id: a request that may be repeated must not make new ids each time. When the body breaks off, or the store fails, the
// chunks before stay stored and the error says so.
func (s *Service) Import(ctx context.Context, p *auth.Principal, lines Lines, requireID bool) (Imported, error) {
	var total Imported
	for done := false; !done; {
		if err := ctx.Err(); err != nil {
			return total, fmt.Errorf("import: %w", err)
		}
		var chunk []*arrival
		var err error
		if chunk, done, err = s.readChunk(ctx, p, lines, requireID); err != nil {
			return total, fmt.Errorf("read import: %w", brokenOff(err, total))
		}
		counts, err := s.importChunk(ctx, p, chunk)
		if err != nil {
			return total, fmt.Errorf("store a chunk of an import: %w", err)
		}
		total.add(counts)
	}
	return total, nil
}

func (i *Imported) add(o Imported) {
	i.Received += o.Received
	i.Created += o.Created
	i.Replaced += o.Replaced
	i.Unchanged += o.Unchanged
	i.Failed += o.Failed
	i.Errors = append(i.Errors, o.Errors[:min(len(o.Errors), MaxLineErrors-len(i.Errors))]...)
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

// readChunk reads lines until a chunk is full, and says whether they were the last.
func (s *Service) readChunk(ctx context.Context, p *auth.Principal, lines Lines, requireID bool) (chunk []*arrival, done bool, err error) {
	by, now := callerOf(ctx, p), s.o.Now()
	for bytes := 0; len(chunk) < chunkLines && bytes < chunkBytes; {
		line, ok, err := lines()
		if err != nil {
			return nil, false, err
		}
		if !ok {
			return chunk, true, nil
		}
		a := s.arrival(p, &line, requireID, now.Add(time.Duration(len(chunk))*250*time.Nanosecond))
		a.number, a.by = line.Number, by
		chunk = append(chunk, a)
		bytes += 256
		for _, m := range append(a.history, a.memory) {
			if m != nil {
				bytes += len(m.Text)
			}
		}
	}
	return chunk, false, nil
}

// arrival checks a line.
func (s *Service) arrival(p *auth.Principal, line *ImportLine, requireID bool, now time.Time) *arrival {
	a := &arrival{kept: line.Kept}
	if a.err = line.Err; a.err != nil {
		return a
	}
	m := *line.Memory
	switch a.named = m.ID != ""; {
	case a.named && !ValidID(m.ID):
		a.err = problem.Validation("id", problem.Format, "id must be one that was made here or elsewhere by Keepsake: mem_ and 26 characters.")
		return a
	case !a.named && requireID:
		a.err = problem.Validation("id", problem.Required, "id is required in every line of a request with an Idempotency-Key.")
		return a
	case !a.named && a.kept:
		a.err = problem.Validation("id", problem.Required, "id is required in a line that brings its own past.")
		return a
	case !a.named:
		m.ID = id.At(id.Memory, now, s.o.Random)
	}
	if !a.kept {
		m.CreatedAt, m.UpdatedAt, m.CreatedBy, m.UpdatedBy, m.Revision = now, now, p.Actor(), p.Actor(), 1
	}
	if m.Kind == "" {
		m.Kind = Fact
	}
	if a.err = inLine(s.complete(p, &m, m.SubjectID, m.AgentID)); a.err != nil {
		return a
	}
	if a.err = checkExpiry(m.ExpiresAt, now); a.err != nil {
		return a
	}
	if a.err = a.checkPast(&m, line.History); a.err != nil {
		return a
	}
	m.tidy()
	a.memory, a.subject = &m, s.o.Lookup.Subject(p.WorkspaceID, m.SubjectID)
	a.deduplicate = DefaultDuplicates.compares(&m)
	return a
}

// inLine says of what a caller may not reach that a line cannot name it.
func inLine(err error) error {
	if p, ok := problem.As(err); ok && p.Kind == problem.NotFound {
		return problem.Validation("subjectId", problem.NotAllowed, "This key has no access to the subject or agent of the line.")
	}
	return err
}

// checkPast checks what a line says of its past, and takes over its older revisions.
func (a *arrival) checkPast(m *Memory, history []*Memory) error {
	if !a.kept {
		return nil
	}
	if m.Revision < 1 {
		return problem.Validation("revision", problem.TooSmall, "revision must be at least 1.")
	}
	if err := checkTold("", m); err != nil {
		return err
	}
	last := int64(0)
	for i, line := range history {
		at := fmt.Sprintf("history[%d].", i)
		older := *line
		older.ID, older.SubjectID, older.CreatedAt, older.CreatedBy = m.ID, m.SubjectID, m.CreatedAt, m.CreatedBy
		if older.Kind == "" {
			older.Kind = Fact
		}
		if err := below(at, older.check()); err != nil {
			return err
		}
		if err := checkTold(at, &older); err != nil {
			return err
		}
		if older.Revision <= last || older.Revision >= m.Revision {
			return problem.Validation(at+"revision", problem.InvalidVal, "The revisions of a history must increase and stay below the revision of the line.")
		}
		last = older.Revision
		older.tidy()
		a.history = append(a.history, &older)
	}
	a.history = a.history[max(0, len(a.history)-(maxRevisions-1)):] // no more are kept
	return nil
}

// below puts the field of a problem below another.
func below(at string, err error) error {
	p, ok := problem.As(err)
	if !ok || p.Details.Field == "" {
		return err
	}
	return problem.Validation(at+p.Details.Field, p.Details.Issue, at+p.Message)
}

// checkTold checks the times and authors that a line tells.
func checkTold(at string, m *Memory) error {
	for _, of := range []struct {
		field string
		at    time.Time
	}{{"createdAt", m.CreatedAt}, {"updatedAt", m.UpdatedAt}} {
		if of.at.Before(firstTime) || of.at.After(lastTime) || of.at.IsZero() {
			return problem.Validation(at+of.field, problem.Format, at+of.field+" must lie in the years 1 to 9999.")
		}
	}
	for _, of := range []struct{ field, by string }{{"createdBy", m.CreatedBy}, {"updatedBy", m.UpdatedBy}} {
		if err := rules.String(at+of.field, of.by, 64); err != nil {
			return err
		}
	}
	return nil
}

// importChunk stores what can be stored of a chunk.
func (s *Service) importChunk(ctx context.Context, p *auth.Principal, chunk []*arrival) (counts Imported, err error) {
	ids := map[Hash]string{}
	for _, a := range chunk {
		if a.err == nil {
			ids[a.subject] = a.memory.SubjectID
		}
	}
	if len(ids) == 0 {
		for _, a := range chunk {
			counts.Received++
			counts.fail(a.number, a.err)
		}
		return counts, nil
	}
	for range tries {
		counts, err = s.storeChunk(ctx, p, chunk, ids)
		if !errors.Is(err, ErrAgain) {
			return counts, err
		}
	}
	return counts, errErasing
}

func (s *Service) storeChunk(ctx context.Context, p *auth.Principal, chunk []*arrival, ids map[Hash]string) (counts Imported, err error) {
	seen, err := s.see(ctx, p.WorkspaceID, ids)
	if err != nil {
		return counts, err
	}
	for _, a := range chunk {
		if a.err != nil {
			continue
		}
		if err := a.sealAll(seen[a.subject]); err != nil {
			return counts, err
		}
	}
	err = s.commit(ctx, p.WorkspaceID, seen, func(ctx context.Context, left room) (works []*work, err error) {
		works, counts, err = s.decideImport(ctx, p.WorkspaceID, chunk, seen, left)
		return works, err
	})
	return counts, err
}

// fail counts a line that was not imported.
func (i *Imported) fail(line int, err error) {
	i.Failed++
	if len(i.Errors) == MaxLineErrors {
		return
	}
	e := LineError{Line: line, Field: "body", Issue: string(problem.InvalidVal), Message: "The line could not be imported."}
	if p, ok := problem.As(err); ok {
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
