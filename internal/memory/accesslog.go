package memory

import (
	"context"
	"slices"
	"strings"

	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
)

// AccessLog is *audit.Log.
type AccessLog interface {
	audit.Recorder
	audit.Reader
	// Subject returns the pseudonym of a subject, whose name the log must not contain.
	Subject(workspaceID, subjectID string) string
	// Accesses reads who read or changed the memories of a subject, newest first.
	Accesses(ctx context.Context, a audit.Accesses) ([]*audit.Row, error)
}

// accessLog writes entries about the memories of subjects. An entry about a read is written before the response.
type accessLog struct{ log AccessLog }

// entry returns an entry about a subject, if subjectID is set, and at most audit.MaxMemoryIDs of its memories.
func (l accessLog) entry(p *auth.Principal, action audit.Action, subjectID string, ids []string) audit.Entry {
	e := audit.Entry{Action: action, WorkspaceID: p.WorkspaceID, Actor: p.Actor(), Count: int64(len(ids))}
	if subjectID != "" {
		e.Target = l.log.Subject(p.WorkspaceID, subjectID)
	}
	if len(ids) > 0 {
		e.Details = map[string]string{audit.MemoryIDs: audit.JoinMemoryIDs(ids)}
	}
	return e
}

// entries returns as many entries as it takes to name all ids, and one if there are none.
func (l accessLog) entries(p *auth.Principal, action audit.Action, subjectID string, ids []string) (list []audit.Entry) {
	if len(ids) == 0 {
		return []audit.Entry{l.entry(p, action, subjectID, nil)}
	}
	for chunk := range slices.Chunk(ids, audit.MaxMemoryIDs) {
		list = append(list, l.entry(p, action, subjectID, chunk))
	}
	return list
}

// record writes entries in the transaction of ctx.
func (l accessLog) record(ctx context.Context, entries ...audit.Entry) error {
	for _, e := range entries {
		if err := l.log.Record(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// read writes entries about a read, in an order that does not depend on that of readMemories' map.
func (l accessLog) read(ctx context.Context, entries ...audit.Entry) error {
	slices.SortStableFunc(entries, func(a, b audit.Entry) int { return strings.Compare(a.Target, b.Target) })
	return l.log.Read(ctx, entries...)
}

// readMemories writes the entries about a read of memories, which need only SubjectID and ID.
func (l accessLog) readMemories(ctx context.Context, p *auth.Principal, action audit.Action, memories []*Memory) error {
	ids := map[string][]string{}
	for _, m := range memories {
		ids[m.SubjectID] = append(ids[m.SubjectID], m.ID)
	}
	var entries []audit.Entry
	for subjectID, ids := range ids {
		entries = append(entries, l.entries(p, action, subjectID, ids)...)
	}
	return l.read(ctx, entries...)
}
