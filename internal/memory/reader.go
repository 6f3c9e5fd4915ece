package memory

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"keepsake/internal/base/fairshare"
	"keepsake/internal/base/problem"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
)

// Filter selects memories of a list, newest first. Empty fields select all.
type Filter struct {
	SubjectID string // required for Tags
	AgentID   string
	SessionID string
	Kinds     []Kind
	IDs       []string   // at most MaxListIDs; nil: any
	Tags      []string   // all must match
	From, To  *time.Time // Memory.At is at or after From, and before To
	After     *Position  // only memories after this position of the list
	Limit     int
}

// MaxListIDs is how many memories a list can name.
const MaxListIDs = 100

// Position is the position of a memory in a list.
type Position struct {
	At time.Time `json:"at"`
	ID string    `json:"id"`
}

// Position returns the memory's position in a list.
func (m *Memory) Position() Position { return Position{At: m.At(), ID: m.ID} }

// Reader reads memories and their histories.
type Reader struct {
	store  rowStore
	opener *opener
	lookup Lookup
	log    accessLog
	shares *fairshare.Scheduler
	now    clock
}

// Memory reads a memory.
func (r *Reader) Memory(ctx context.Context, p *auth.Principal, id string) (*Memory, error) {
	_, m, err := r.find(ctx, p, id)
	if err != nil {
		return nil, err
	}
	if err := r.log.readMemories(ctx, p, audit.MemoryRead, []*Memory{m}); err != nil {
		return nil, err
	}
	return m, nil
}

// find reads a memory without an entry in the access log.
func (r *Reader) find(ctx context.Context, p *auth.Principal, id string) (*Row, *Memory, error) {
	if !ValidID(id) {
		return nil, nil, problem.Missing()
	}
	row, err := r.store.Memory(ctx, p.WorkspaceID, id, visibilityOf(r.lookup, p), r.now())
	if err != nil {
		return nil, nil, fmt.Errorf("read memory: %w", err)
	}
	memories, err := r.opener.memories(ctx, p.WorkspaceID, []*Row{row})
	if err != nil {
		return nil, nil, fmt.Errorf("read memory: %w", err)
	}
	if len(memories) == 0 {
		return nil, nil, problem.Missing()
	}
	return row, memories[0], nil
}

// History reads at most limit revisions of a memory, newest first, with the current one. If before is not 0, it reads only
// revisions below it.
func (r *Reader) History(ctx context.Context, p *auth.Principal, id string, before int64, limit int) (list []*Memory, more bool, err error) {
	_, current, err := r.find(ctx, p, id)
	if err != nil {
		return nil, false, err
	}
	if before <= 0 || before > current.Revision {
		list, before = append(list, current), current.Revision
	}
	read := limit + 1
	if p.AgentID != "" {
		read = 0 // all, because older revisions can belong to another agent
	}
	rows, err := r.store.MemoryRevisions(ctx, p.WorkspaceID, []string{id}, before, read)
	if err != nil {
		return nil, false, fmt.Errorf("read history: %w", err)
	}
	older, err := r.opener.memories(ctx, p.WorkspaceID, rows)
	if err != nil {
		return nil, false, fmt.Errorf("read history: %w", err)
	}
	for _, m := range older {
		if visible(p, m) {
			list = append(list, m)
		}
	}
	if more = len(list) > limit; more {
		list = list[:limit]
	}
	if err := r.log.readMemories(ctx, p, audit.MemoryHistory, []*Memory{current}); err != nil {
		return nil, false, err
	}
	return list, more, nil
}

// List reads memories, newest first.
func (r *Reader) List(ctx context.Context, p *auth.Principal, f Filter) (list []*Memory, more bool, err error) {
	rows, err := r.rowFilter(p, &f)
	if err != nil {
		return nil, false, err
	}
	list, more, err = r.collect(ctx, p.WorkspaceID, rows, f.Tags, f.Limit)
	if err != nil {
		return nil, false, fmt.Errorf("list memories: %w", err)
	}
	if len(list) == 0 && f.SubjectID != "" {
		err = r.log.read(ctx, r.log.entry(p, audit.MemoryListed, f.SubjectID, nil))
	} else {
		err = r.log.readMemories(ctx, p, audit.MemoryListed, list)
	}
	if err != nil {
		return nil, false, err
	}
	return list, more, nil
}

// RecordShownAgain records that a stored response shows memories again. They need only SubjectID and ID.
func (r *Reader) RecordShownAgain(ctx context.Context, p *auth.Principal, memories []*Memory) error {
	return r.log.readMemories(ctx, p, audit.MemoryRead, memories)
}

// rowFilter validates a filter and converts it for the store.
func (r *Reader) rowFilter(p *auth.Principal, f *Filter) (_ *RowFilter, err error) {
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
		if err := checkKind("kind", kind); err != nil {
			return nil, err
		}
	}
	if err := rules.Tags("tag", f.Tags); err != nil {
		return nil, err
	}
	if len(f.Tags) > 0 && f.SubjectID == "" {
		return nil, problem.Validation("subjectId", problem.Required, "subjectId is required with tag, because tags are encrypted for each subject.")
	}
	rows := newRowFilter(r.lookup, p, f.SubjectID, f.AgentID, f.SessionID)
	if len(f.IDs) > MaxListIDs {
		return nil, problem.Validation("id", problem.TooLong, "At most "+strconv.Itoa(MaxListIDs)+" IDs can be given.")
	}
	rows.Kinds, rows.IDs, rows.From, rows.To, rows.After = f.Kinds, f.IDs, f.From, f.To, f.After
	rows.Now, rows.Limit = r.now(), f.Limit+1
	return rows, nil
}

// tagPage is the number of memories that are decrypted at a time to compare their tags.
const tagPage = 500

// collect reads up to limit memories that have all tags. The store cannot compare tags, because they are encrypted.
func (r *Reader) collect(ctx context.Context, workspaceID string, f *RowFilter, tags []string, limit int) (list []*Memory, more bool, err error) {
	if len(tags) > 0 {
		f.Limit = max(tagPage, limit+1)
	}
	task := r.shares.Start(ctx, workspaceID)
	defer task.End()
	for m, err := range r.opener.list(ctx, task, r.store, workspaceID, f) {
		switch {
		case err != nil:
			return nil, false, err
		case !hasTags(m, tags):
		case len(list) == limit:
			return list, true, nil
		default:
			list = append(list, m)
		}
	}
	return list, false, nil
}

func hasTags(m *Memory, tags []string) bool {
	for _, tag := range tags {
		if !slices.Contains(m.Tags, tag) {
			return false
		}
	}
	return true
}
