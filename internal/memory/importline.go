package memory

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/govern/auth"
)

// ImportLine is a line of an import. Its memory needs a subject and a text. CreatedAt, CreatedBy, UpdatedAt, UpdatedBy, Revision and
// the history can be missing.
type ImportLine struct {
	Number int // from 1
	Portable
	Err error // says why the line cannot be imported
}

// Lines returns the lines of an import one by one; ok is false after the last. An error says that the body cannot be read
// further.
type Lines func() (line ImportLine, ok bool, err error)

// importLine is a validated line.
type importLine struct {
	draft
	number  int
	at      time.Time // of the import
	hasID   bool
	past    past
	history []*Memory
	older   []*Row // history, encrypted
}

// past says what a line tells about the past of its memory. A memory that exists keeps the rest.
type past struct {
	createdAt, createdBy, updatedAt, updatedBy bool

	revision bool // or a history
}

// newLine validates a line.
func (i *Importer) newLine(p *auth.Principal, given *ImportLine, requireID bool, now time.Time) *importLine {
	line := &importLine{number: given.Number, at: storedTime(now)}
	if line.err = given.Err; line.err != nil {
		return line
	}
	m := *given.Memory
	history := make([]*Memory, len(given.History))
	for i := range history {
		revision := *given.History[i]
		history[i] = &revision
	}
	line.hasID = m.ID != ""
	switch {
	case line.hasID && !ValidID(m.ID):
		line.err = problem.Validation("id", problem.Format, "id must be one that was made here or elsewhere by Keepsake: mem_ and 26 characters.")
		return line
	case !line.hasID && requireID:
		line.err = problem.Validation("id", problem.Required, "id is required in every line of a request with an Idempotency-Key.")
		return line
	case !line.hasID:
		m.ID = id.At(id.Memory, now, i.random)
	}
	if p.Bound() { // such a key cannot say what others did
		m.CreatedAt, m.UpdatedAt, m.CreatedBy, m.UpdatedBy, m.Revision, history = time.Time{}, time.Time{}, "", "", 0, nil
	}
	line.past = past{
		createdAt: !m.CreatedAt.IsZero(), createdBy: m.CreatedBy != "", updatedAt: !m.UpdatedAt.IsZero(), updatedBy: m.UpdatedBy != "",
		revision: m.Revision != 0 || len(history) > 0,
	}
	m.ImportedBy = p.Actor()
	m.fillPast(m.ImportedBy, history, now)
	if m.Kind == "" {
		m.Kind = Fact
	}
	if line.err = lineError(m.bind(p)); line.err != nil {
		return line
	}
	if line.err = checkExpiry(m.ExpiresAt, now); line.err != nil {
		return line
	}
	if line.err = line.addHistory(&m, history, now); line.err != nil {
		return line
	}
	m.normalize()
	line.memory, line.subject, line.compare = &m, i.lookup.Subject(p.WorkspaceID, m.SubjectID), DefaultDuplicates.compares(&m)
	return line
}

// fillPast sets what a line leaves out of the past of its memory: it was created and changed now by its importer.
func (m *Memory) fillPast(by string, history []*Memory, now time.Time) {
	if m.CreatedAt.IsZero() {
		m.CreatedAt = now
		if first := append(slices.Clone(history), m)[0]; !first.UpdatedAt.IsZero() && first.UpdatedAt.Before(now) {
			m.CreatedAt = first.UpdatedAt
		}
	}
	m.CreatedBy = cmp.Or(m.CreatedBy, by)
	last, lastAt := int64(0), m.CreatedAt
	for _, revision := range append(slices.Clone(history), m) {
		if revision.Revision == 0 {
			revision.Revision = last + 1
		}
		if revision.UpdatedAt.IsZero() {
			revision.UpdatedAt = lastAt
		}
		revision.UpdatedBy = cmp.Or(revision.UpdatedBy, m.CreatedBy)
		last, lastAt = revision.Revision, revision.UpdatedAt
	}
}

// size estimates the stored bytes of a line.
func (l *importLine) size() int {
	if l.memory == nil {
		return 256
	}
	bytes := l.memory.size()
	for _, m := range l.history {
		bytes += m.size()
	}
	return bytes
}

// sealHistory encrypts the older revisions. base is another revision of the memory.
func (l *importLine) sealHistory(state *subjectState, base *Row) error {
	l.older = make([]*Row, len(l.history))
	for i, older := range l.history {
		row, err := state.sealMemory(older, base)
		if err != nil {
			return err
		}
		l.older[i] = row
	}
	return nil
}

// lineError converts problem.Missing, because a line is no resource.
func lineError(err error) error {
	if p, ok := problem.As(err); ok && p.Kind == problem.NotFound {
		return problem.Validation("subjectId", problem.NotAllowed, "This key has no access to the subject or agent of the line.")
	}
	return err
}

// addHistory validates the times, authors and revisions of a line, and adds its older revisions.
func (l *importLine) addHistory(m *Memory, history []*Memory, now time.Time) error {
	if m.CreatedAt.After(now) {
		return problem.Validation("createdAt", problem.TooLargeVal, "createdAt must not lie in the future.")
	}
	if m.Revision < 1 {
		return problem.Validation("revision", problem.TooSmall, "revision must be at least 1.")
	}
	if err := checkOrigin("", m); err != nil {
		return err
	}
	last := int64(0)
	for i, revision := range history {
		at := fmt.Sprintf("history[%d].", i)
		older := *revision
		older.ID, older.SubjectID, older.AgentID, older.SessionID = m.ID, m.SubjectID, m.AgentID, m.SessionID
		older.CreatedAt, older.CreatedBy, older.ImportedBy = m.CreatedAt, m.CreatedBy, m.ImportedBy
		if older.Kind == "" {
			older.Kind = Fact
		}
		older.truncateTimes()
		if err := below(at, older.check()); err != nil {
			return err
		}
		if err := checkOrigin(at, &older); err != nil {
			return err
		}
		if older.Revision <= last || older.Revision >= m.Revision {
			return problem.Validation(at+"revision", problem.InvalidVal, "The revisions of a history must increase and stay below the revision of the line.")
		}
		last = older.Revision
		older.normalize()
		l.history = append(l.history, &older)
	}
	l.history = l.history[max(0, len(l.history)-(maxRevisions-1)):]
	return nil
}

// below puts at before the field of a problem.
func below(at string, err error) error {
	p, ok := problem.As(err)
	if !ok || p.Details.Field == "" {
		return err
	}
	return problem.Validation(at+p.Details.Field, p.Details.Issue, at+p.Message)
}

// checkOrigin validates the times and authors of a line. They can contradict each other, because the clock of the instance that
// exported the line can have been wrong.
func checkOrigin(at string, m *Memory) error {
	for _, f := range []struct {
		field string
		at    time.Time
	}{{"createdAt", m.CreatedAt}, {"updatedAt", m.UpdatedAt}} {
		if f.at.Before(firstTime) || f.at.After(lastTime) || f.at.IsZero() {
			return problem.Validation(at+f.field, problem.Format, at+f.field+" must be after 0001-01-01T00:00:00Z and before the year 10000.")
		}
	}
	for _, f := range []struct{ field, by string }{{"createdBy", m.CreatedBy}, {"updatedBy", m.UpdatedBy}} {
		if err := rules.String(at+f.field, f.by, 64); err != nil {
			return err
		}
	}
	return nil
}
