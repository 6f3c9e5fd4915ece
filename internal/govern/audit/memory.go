package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"keepsake/internal/base/id"
)

// The actions on memories. Target is Log.Subject of their subject.
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
	// MemoryEmbedded says that texts of memories or, without their IDs, a query were sent to the embeddings endpoint.
	MemoryEmbedded Action = "memory.embedded"

	SubjectErased        Action = "subject.erased"
	SubjectRead          Action = "subject.read"
	SubjectListed        Action = "subject.listed"
	SubjectAccessLogRead Action = "subject.access_log_read"
)

// MemoryIDs is the member of Details with the IDs of an entry's memories, as JoinMemoryIDs formats them.
const MemoryIDs = "memoryIds"

// Memories is the member of Details with the number of memories that were erased with a subject. No entry lists them.
const Memories = "memories"

// ReceiptID is the member of Details with the ID of the receipt of an erased subject, which the receipt has too.
const ReceiptID = "receiptId"

// MaxMemoryIDs is how many IDs an entry holds, so that a row stays small. Count says how many there were.
const MaxMemoryIDs = 100

// JoinMemoryIDs formats IDs for Details. It drops IDs beyond MaxMemoryIDs; to name more, write several entries.
func JoinMemoryIDs(ids []string) string {
	return strings.Join(ids[:min(len(ids), MaxMemoryIDs)], " ")
}

// SplitMemoryIDs is the reverse of JoinMemoryIDs.
func SplitMemoryIDs(text string) []string { return strings.Fields(text) }

// subjectKind is the kind of the pseudonyms of subjects.
const subjectKind = "subject"

// Subject returns the pseudonym of a subject, because the log must not contain its ID. It differs between workspaces.
func (l *Log) Subject(workspaceID, subjectID string) string {
	return l.Pseudonym(subjectKind, workspaceID+"\x00"+subjectID)
}

// ReadActions are the actions that only read memories. Stores number actions by their position here, so add new ones at
// the end.
var ReadActions = []Action{
	MemoryRead, MemoryListed, MemoryRecalled, MemoryContext, MemoryHistory, MemoryExported, SubjectRead, SubjectListed,
	SubjectAccessLogRead, MemoryEmbedded,
}

// IsRead reports whether a is one of ReadActions.
func (a Action) IsRead() bool { return slices.Contains(ReadActions, a) }

// aboutMemories reports whether a is an action on memories.
func (a Action) aboutMemories() bool {
	return a.Frequent() || strings.HasPrefix(string(a), "subject.")
}

// Frequent reports whether a happens so often that lists are not filtered by it alone.
func (a Action) Frequent() bool { return strings.HasPrefix(string(a), "memory.") }

// checkMemories rejects an entry about memories that could hold a client's text or the name of a person: a mistake would stay
// in the log for ever.
func (e *Entry) checkMemories() error {
	if !e.Action.aboutMemories() {
		return nil
	}
	if e.Target != "" && (!strings.HasPrefix(e.Target, subjectKind+":") || len(e.Target) != len(subjectKind)+1+22) {
		return fmt.Errorf("audit: the target of %s is not a pseudonym of a subject", e.Action)
	}
	for name, value := range e.Details {
		fits := plain
		if name == MemoryIDs {
			fits = onlyMemoryIDs
		}
		if !fits(value) {
			return fmt.Errorf("audit: the member %s of the details of %s contains a forbidden value", name, e.Action)
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

// plain accepts IDs, numbers and fixed words that are too short to be anything else.
func plain(text string) bool {
	const most = 64
	return len(text) <= most && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// Accesses chooses entries on the memories of a subject.
type Accesses struct {
	WorkspaceID string
	SubjectID   string
	Actor       string // only the entries of this actor; empty: all
	Before      string // only rows older than the one with this ID
	Limit       int
}

// Accesses reads the entries about a subject's memories, newest first. It first writes the entries that this process has queued.
func (l *Log) Accesses(ctx context.Context, a Accesses) ([]*Row, error) {
	if err := l.settle(ctx); err != nil {
		return nil, err
	}
	return l.Store.ListAuditRows(ctx, Filter{
		WorkspaceID: a.WorkspaceID, Actor: a.Actor, Target: l.Subject(a.WorkspaceID, a.SubjectID), Before: a.Before, Limit: a.Limit,
	})
}
