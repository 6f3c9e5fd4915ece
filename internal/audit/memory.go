package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"keepsake/internal/id"
)

// The actions on memories. Target is Log.Subject of whom they are about.
const (
	MemoryCreated       Action = "memory.created"
	MemoryUpdated       Action = "memory.updated"
	MemoryRead          Action = "memory.read"
	MemoryListed        Action = "memory.listed"
	MemoryRecalled      Action = "memory.recalled"
	MemoryContext       Action = "memory.context"
	MemoryHistory       Action = "memory.history"
	MemoryExported      Action = "memory.exported"
	MemoryImported      Action = "memory.imported"
	MemoryForgetPlanned Action = "memory.forget_planned"
	MemoryForgotten     Action = "memory.forgotten"
	MemoryErasedOne     Action = "memory.erased_one"
	MemoryExpired       Action = "memory.expired"

	SubjectErased        Action = "subject.erased"
	SubjectRead          Action = "subject.read"
	SubjectListed        Action = "subject.listed"
	SubjectAccessLogRead Action = "subject.access_log_read"
)

// MemoryIDs is the member of Details that holds the ids of the memories an entry is about, as JoinMemoryIDs writes them.
const MemoryIDs = "memoryIds"

// Memories is the member of Details that tells how many memories went with a subject; no entry lists these.
const Memories = "memories"

// MaxMemoryIDs is how many ids an entry holds, so that a row stays small. Count tells how many there were.
const MaxMemoryIDs = 100

// JoinMemoryIDs writes ids for Details. Those beyond MaxMemoryIDs are cut: whoever has to name all of them writes several
// entries.
func JoinMemoryIDs(ids []string) string {
	return strings.Join(ids[:min(len(ids), MaxMemoryIDs)], " ")
}

// SplitMemoryIDs reads what JoinMemoryIDs wrote.
func SplitMemoryIDs(text string) []string { return strings.Fields(text) }

// subjectKind is the kind of the pseudonyms of subjects.
const subjectKind = "subject"

// Subject is the pseudonym of a subject, whose readable id the log must not hold: another one in another workspace.
func (l *Log) Subject(workspaceID, subjectID string) string {
	return l.Pseudonym(subjectKind, workspaceID+"\x00"+subjectID)
}

// ReadActions are those that only look at memories. Stores number actions by their place here, so new ones go to the end.
var ReadActions = []Action{
	MemoryRead, MemoryListed, MemoryRecalled, MemoryContext, MemoryHistory, MemoryExported, SubjectRead, SubjectListed,
	SubjectAccessLogRead,
}

// IsRead reports whether a is one of ReadActions.
func (a Action) IsRead() bool { return slices.Contains(ReadActions, a) }

// aboutMemories reports whether a is an action on memories.
func (a Action) aboutMemories() bool {
	return a.Frequent() || strings.HasPrefix(string(a), "subject.")
}

// Frequent reports whether a is done so often that nobody looks for it alone.
func (a Action) Frequent() bool { return strings.HasPrefix(string(a), "memory.") }

// checkMemories refuses an entry on memories that could hold what somebody stored, or name whom it is about: a mistake
// would stay in the log for good.
func (e *Entry) checkMemories() error {
	if !e.Action.aboutMemories() {
		return nil
	}
	if e.Target != "" && (!strings.HasPrefix(e.Target, subjectKind+":") || len(e.Target) != len(subjectKind)+1+22) {
		return fmt.Errorf("audit: the target of %s is no pseudonym of a subject", e.Action)
	}
	for name, value := range e.Details {
		fits := plain
		if name == MemoryIDs {
			fits = onlyMemoryIDs
		}
		if !fits(value) {
			return fmt.Errorf("audit: the member %s of the details of %s holds something else than it may", name, e.Action)
		}
	}
	return nil
}

func onlyMemoryIDs(text string) bool {
	for word := range strings.SplitSeq(text, " ") {
		if _, ok := id.Parse(id.Memory, word); !ok && text != "" {
			return false
		}
	}
	return true
}

// plain takes the ids, numbers and words of ours that are short enough to be nothing else.
func plain(text string) bool {
	const most = 64
	return len(text) <= most && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// Accesses chooses entries on the memories of a subject.
type Accesses struct {
	WorkspaceID string
	SubjectID   string
	Actor       string // only what this one did; empty: everybody
	Before      string // only rows older than the one of this id
	Limit       int
}

// Accesses reads who read or changed the memories of a subject, newest first, with what this process has not written yet.
func (l *Log) Accesses(ctx context.Context, a Accesses) ([]*Row, error) {
	if err := l.settle(ctx); err != nil {
		return nil, err
	}
	return l.Store.ListAuditRows(ctx, Filter{
		WorkspaceID: a.WorkspaceID, Actor: a.Actor, Target: l.Subject(a.WorkspaceID, a.SubjectID), Before: a.Before, Limit: a.Limit,
	})
}
