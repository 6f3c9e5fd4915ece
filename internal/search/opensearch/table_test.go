package opensearch_test

import (
	"context"
	"maps"
	"slices"
	"sync"

	"keepsake/internal/base/text"
	"keepsake/internal/search/document"
	"keepsake/internal/search/index"
	"keepsake/internal/search/opensearch"
)

// table is a table of documents with numbered changes.
type table struct {
	mu       sync.Mutex
	marks    int64 // all that were ever used
	rows     rows
	label    string
	settings int64 // the change that set the label
}

// rows are what a backup has.
type rows struct {
	now    document.State
	latest map[string]index.Change
	had    map[document.State]bool
}

func newTable() *table {
	return &table{rows: rows{latest: map[string]index.Change{}, had: map[document.State]bool{}}}
}

func (s *table) put(id, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(id, body)
}

func (s *table) putIn(l text.Language, id, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(id, body)
	s.rows.latest[id].Document.Language = &l
}

func (s *table) write(id, body string) {
	n := s.next()
	s.rows.latest[id] = index.Change{Number: n, ID: id, Document: &index.Document{
		Title: id, Text: body, Keys: []string{index.Collection("default")}, UpdatedAt: n,
	}}
}

// next returns the number of a new change.
func (s *table) next() int64 {
	s.marks++
	s.rows.now = document.State{Change: s.rows.now.Change + 1, Mark: s.marks}
	return s.rows.now.Change
}

func (s *table) remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows.latest[id] = index.Change{Number: s.next(), ID: id}
}

// lose replaces everything by a backup, and writes other changes before anyone looks.
func (s *table) lose(backup rows, write func(put func(id, text string))) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = backup
	write(s.write)
}

func (s *table) backup() rows {
	s.mu.Lock()
	defer s.mu.Unlock()
	return rows{s.rows.now, maps.Clone(s.rows.latest), maps.Clone(s.rows.had)}
}

// live returns the IDs of the documents.
func (s *table) live() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for id := range s.rows.latest {
		if s.rows.latest[id].Document != nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (s *table) setLabel(label string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.label, s.settings = label, s.next()
}

func (s *table) state() document.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows.now
}

func (s *table) Follow(_ context.Context, _ string, f document.Following) (*opensearch.Changes, document.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Has != (document.State{}) && !s.rows.had[f.Has] {
		return nil, document.State{}, document.ErrLost
	}
	s.rows.had[s.rows.now] = true
	return s.changes(f.After, f.Limit), s.rows.now, nil
}

func (s *table) changes(after int64, limit int) *opensearch.Changes {
	var list []index.Change
	for _, c := range s.rows.latest {
		if c.Number > after {
			list = append(list, c)
		}
	}
	if s.settings > after {
		list = append(list, index.Change{Number: s.settings})
	}
	slices.SortFunc(list, func(a, b index.Change) int { return int(a.Number - b.Number) })
	c := &opensearch.Changes{Last: after}
	for _, change := range list[:min(limit, len(list))] {
		if c.Last = change.Number; change.ID == "" {
			c.Settings = true
			continue
		}
		c.List = append(c.List, change)
	}
	return c
}

func (s *table) State(context.Context, string) (document.State, error) { return s.state(), nil }

func (s *table) States(_ context.Context, workspaceIDs []string) (map[string]document.State, error) {
	states := map[string]document.State{}
	for _, id := range workspaceIDs {
		states[id] = s.state()
	}
	return states, nil
}

func (s *table) HadState(_ context.Context, _ string, had document.State) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows.had[had], nil
}

func (s *table) Label(context.Context, string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.label, nil
}
