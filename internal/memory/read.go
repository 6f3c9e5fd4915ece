package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"keepsake/internal/audit"
	"keepsake/internal/auth"
	"keepsake/internal/problem"
)

// Memory reads one.
func (s *Service) Memory(ctx context.Context, p *auth.Principal, id string) (*Memory, error) {
	_, m, err := s.find(ctx, p, id)
	if err != nil {
		return nil, err
	}
	if err := s.looked(ctx, p, audit.MemoryRead, []*Memory{m}); err != nil {
		return nil, err
	}
	return m, nil
}

// find reads one without a word to the log.
func (s *Service) find(ctx context.Context, p *auth.Principal, id string) (*Row, *Memory, error) {
	if !ValidID(id) {
		return nil, nil, problem.Missing()
	}
	r, err := s.o.Store.Memory(ctx, p.WorkspaceID, id, s.reach(p), s.o.Now())
	if err != nil {
		return nil, nil, fmt.Errorf("read memory: %w", err)
	}
	opened, err := s.open(ctx, p.WorkspaceID, []*Row{r})
	if err != nil {
		return nil, nil, fmt.Errorf("read memory: %w", err)
	}
	if len(opened) == 0 {
		return nil, nil, problem.Missing()
	}
	return r, opened[0], nil
}

// History reads revisions of a memory, newest first, the current one among them: at most limit below one (0: from the
// newest on).
func (s *Service) History(ctx context.Context, p *auth.Principal, id string, before int64, limit int) (list []*Memory, more bool, err error) {
	_, current, err := s.find(ctx, p, id)
	if err != nil {
		return nil, false, err
	}
	if before <= 0 || before > current.Revision {
		list, before = append(list, current), current.Revision
	}
	rows, err := s.o.Store.MemoryRevisions(ctx, p.WorkspaceID, []string{id}, before, limit+1)
	if err != nil {
		return nil, false, fmt.Errorf("read history: %w", err)
	}
	older, err := s.open(ctx, p.WorkspaceID, rows)
	if err != nil {
		return nil, false, fmt.Errorf("read history: %w", err)
	}
	for _, m := range older {
		if mine(p, m) { // it may have been another agent's
			list = append(list, m)
		}
	}
	if more = len(list) > limit; more {
		list = list[:limit]
	}
	if err := s.looked(ctx, p, audit.MemoryHistory, []*Memory{current}); err != nil {
		return nil, false, err
	}
	return list, more, nil
}

// List reads memories newest first.
func (s *Service) List(ctx context.Context, p *auth.Principal, f Filter) (list []*Memory, more bool, err error) {
	rows, err := s.filter(p, &f)
	if err != nil {
		return nil, false, err
	}
	list, more, err = s.collect(ctx, p.WorkspaceID, rows, f.Tags, f.Limit)
	if err != nil {
		return nil, false, fmt.Errorf("list memories: %w", err)
	}
	if err := s.looked(ctx, p, audit.MemoryListed, list); err != nil {
		return nil, false, err
	}
	return list, more, nil
}

// filter is f as the store understands it.
func (s *Service) filter(p *auth.Principal, f *Filter) (_ *RowFilter, err error) {
	if f.SubjectID != "" || p.SubjectID != "" {
		if f.SubjectID, err = subjectOf(p, f.SubjectID); err != nil {
			return nil, err
		}
	}
	if f.AgentID, err = agentOf(p, f.AgentID); err != nil {
		return nil, err
	}
	if err := checkName("sessionId", f.SessionID, false); err != nil {
		return nil, err
	}
	for _, kind := range f.Kinds {
		if !slices.Contains(Kinds(), kind) {
			return nil, problem.Validation("kind", problem.NotAllowed, "There is no such kind.")
		}
	}
	if err := rules.Tags("tag", f.Tags); err != nil {
		return nil, err
	}
	if len(f.Tags) > 0 && f.SubjectID == "" {
		return nil, problem.Validation("subjectId", problem.Required, "subjectId is required where tag is given: tags are sealed, and looked through inside one subject.")
	}
	r := &RowFilter{
		Reach: s.reach(p), Kinds: f.Kinds, From: f.From, To: f.To, Beyond: f.Before, Now: s.o.Now(), Limit: f.Limit + 1,
	}
	s.name(p.WorkspaceID, r, f.SubjectID, f.AgentID, f.SessionID)
	return r, nil
}

// name puts the hashes of names into a filter.
func (s *Service) name(workspaceID string, r *RowFilter, subjectID, agentID, sessionID string) {
	if subjectID != "" {
		r.Subject = s.o.Lookup.Subject(workspaceID, subjectID)
	}
	if agentID != "" {
		r.Agent = s.o.Lookup.Agent(workspaceID, agentID)
	}
	if sessionID != "" {
		r.Session = s.o.Lookup.Session(workspaceID, sessionID)
	}
}

// tagPage is how many memories are opened at a time where tags decide.
const tagPage = 500

// collect reads up to limit memories, and says whether there are more. Tags are sealed, so memories are opened until enough
// have them.
func (s *Service) collect(ctx context.Context, workspaceID string, f *RowFilter, tags []string, limit int) (list []*Memory, more bool, err error) {
	if len(tags) > 0 {
		f.Limit = max(tagPage, limit+1)
	}
	task := s.o.Shares.Start(ctx, workspaceID)
	defer task.Release()
	for {
		task.Release()
		rows, err := s.o.Store.ListMemories(ctx, workspaceID, f)
		if err != nil {
			return nil, false, err
		}
		opened, err := s.open(ctx, workspaceID, rows)
		if err != nil {
			return nil, false, err
		}
		for _, m := range opened {
			if err := task.Step(len(m.Text)); err != nil {
				return nil, false, err
			}
			if !hasTags(m, tags) {
				continue
			}
			if len(list) == limit {
				return list, true, nil
			}
			list = append(list, m)
		}
		if len(rows) < f.Limit {
			return list, false, nil
		}
		last := rows[len(rows)-1]
		f.Beyond = &Position{At: last.At, ID: last.ID}
	}
}

func hasTags(m *Memory, tags []string) bool {
	for _, tag := range tags {
		if !slices.Contains(m.Tags, tag) {
			return false
		}
	}
	return true
}

// ShowAgain tells the log that memories are about to be shown by an answer that was kept. They need only SubjectID and ID.
func (s *Service) ShowAgain(ctx context.Context, p *auth.Principal, shown []*Memory) error {
	return s.looked(ctx, p, audit.MemoryRead, shown)
}

// looked tells the log which memories are about to be shown: one row for each subject.
func (s *Service) looked(ctx context.Context, p *auth.Principal, action audit.Action, shown []*Memory) error {
	var entries []audit.Entry
	ids := map[string][]string{}
	for _, m := range shown {
		ids[m.SubjectID] = append(ids[m.SubjectID], m.ID)
	}
	for subjectID, of := range ids {
		entries = append(entries, s.entries(p, action, subjectID, of)...)
	}
	return s.log(ctx, entries)
}

// log writes rows about what is about to be shown.
func (s *Service) log(ctx context.Context, entries []audit.Entry) error {
	slices.SortStableFunc(entries, func(a, b audit.Entry) int { return strings.Compare(a.Target, b.Target) })
	return s.o.Audit.Read(ctx, entries...)
}

// AccessLog reads who did what with a subject's memories, newest first: at most limit rows older than one.
func (s *Service) AccessLog(ctx context.Context, p *auth.Principal, subjectID, before string, limit int) (rows []*audit.Row, more bool, err error) {
	subjectID, err = subjectNamed(p, subjectID)
	if err != nil {
		return nil, false, err
	}
	a := audit.Accesses{WorkspaceID: p.WorkspaceID, SubjectID: subjectID, Before: before, Limit: limit + 1}
	if p.AgentID != "" { // a subject without memories of the agent is not there, nor is what others did
		if _, err := s.known(ctx, p, subjectID); err != nil {
			return nil, false, err
		}
		a.Actor = p.Actor()
	} else {
		row, err := s.o.Store.MemorySubject(ctx, p.WorkspaceID, s.o.Lookup.Subject(p.WorkspaceID, subjectID))
		if err != nil {
			return nil, false, fmt.Errorf("read subject: %w", err)
		}
		if row == nil || len(row.SealedID) == 0 && row.ErasedAt == nil {
			return nil, false, problem.Missing()
		}
	}
	if rows, err = s.o.Audit.Accesses(ctx, a); err != nil {
		return nil, false, fmt.Errorf("read access log: %w", err)
	}
	if more = len(rows) > limit; more {
		rows = rows[:limit]
	}
	if err := s.o.Audit.Read(ctx, s.entry(p, audit.SubjectAccessLogRead, subjectID, nil)); err != nil {
		return nil, false, err
	}
	return rows, more, nil
}
