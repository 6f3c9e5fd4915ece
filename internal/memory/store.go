package memory

import (
	"context"
	"time"
)

// Store stores memories. It consists of interfaces, so that each part of a Service names those that it uses. Methods see only
// the named workspace and the current generation of each subject. Methods that write join the transaction of ctx, which must
// have locked the rows of the subjects.
type Store interface {
	subjectStore
	subjectLocker
	rowStore
	writeStore
	matchStore
	countStore
	eraseStore
	planStore
	erasureStore
	expiryStore
	vectorStore
}

// SubjectRow is the row of a subject. It remains after an erasure, without SealedID, so that no generation is used twice.
type SubjectRow struct {
	Hash       Hash
	Generation int64  // number of its data key, from 1; an erasure begins the next
	Change     int64  // number of its last change
	SealedID   []byte // its encrypted ID; nil if nothing was written in this generation
	Memories   int64
	Bytes      int64 // of their texts
	CreatedAt  time.Time
	UpdatedAt  time.Time
	ErasedAt   *time.Time // the last erasure

	// The times of the first and the last memory. Only ListMemorySubjects sets them.
	FirstAt, LastAt *time.Time
}

// Row is a revision of a memory. Of older revisions only ID, Subject, Generation, Revision and Sealed are stored; OwnKey is
// that of the memory.
type Row struct {
	ID         string
	Subject    Hash
	Generation int64
	Agent      Hash
	Session    Hash
	KeyHash    Hash // natural key, hashed with the data key
	DedupHash  Hash // dedup key, hashed with the data key
	Kind       Kind
	At         time.Time
	CreatedAt  time.Time
	UpdatedAt  time.Time
	ExpiresAt  *time.Time
	Size       int64 // bytes of the text
	Revision   int64
	Change     int64 // the subject's change that wrote it
	Sealed     []byte
	// OwnKey is the memory's own key, which encrypts it together with the data key; OwnKeySlot says where it is stored, 0 if it is
	// not yet.
	OwnKey     []byte
	OwnKeySlot int64
}

func (r *Row) expired(now time.Time) bool { return r.ExpiresAt != nil && !now.Before(*r.ExpiresAt) }

// Visibility is what a caller can see. A zero hash does not restrict it.
type Visibility struct {
	Subject Hash
	Agent   Hash
}

// RowFilter selects rows, newest first or, with OldestFirst, oldest first. Zero fields select all.
type RowFilter struct {
	Visible     Visibility
	Subject     Hash
	Agent       Hash
	Session     Hash
	Kinds       []Kind
	IDs         []string // at most MaxListIDs; nil: any
	From, To    *time.Time
	After       *Position // only rows after this position in the order of the list
	OldestFirst bool
	Now         time.Time // rows that have expired by then are left out
	Limit       int
}

// subjectStore reads the rows of subjects.
type subjectStore interface {
	// MemorySubject reads the row of a subject; nil if there is none.
	MemorySubject(ctx context.Context, workspaceID string, subject Hash) (*SubjectRow, error)
	// MemorySubjects reads the existing rows of subjects, in any order.
	MemorySubjects(ctx context.Context, workspaceID string, subjects []Hash) ([]*SubjectRow, error)
	// ListMemorySubjects reads at most limit subjects with memories after a position, newest first. For a caller who is bound
	// to an agent, only the memories of the agent count.
	ListMemorySubjects(ctx context.Context, workspaceID string, visibility Visibility, after *SubjectPosition, now time.Time, limit int) ([]*SubjectRow, error)
}

// subjectLocker writes the rows of subjects.
type subjectLocker interface {
	// LockMemorySubjects locks rows until the transaction ends and returns them in the given order. It creates missing rows
	// with the time at. Subjects must be sorted, so that transactions cannot deadlock.
	LockMemorySubjects(ctx context.Context, workspaceID string, subjects []Hash, at time.Time) ([]*SubjectRow, error)
	// SaveMemorySubjects writes locked rows.
	SaveMemorySubjects(ctx context.Context, workspaceID string, subjects []*SubjectRow) error
	// SaveMemorySubjectCounts writes Change, Memories, Bytes and UpdatedAt of locked rows.
	SaveMemorySubjectCounts(ctx context.Context, workspaceID string, subjects []*SubjectRow) error
}

// rowStore reads memories.
type rowStore interface {
	// Memory reads a memory; problem.Missing if there is none.
	Memory(ctx context.Context, workspaceID, id string, visibility Visibility, now time.Time) (*Row, error)
	// MemoriesByID reads the existing memories of ids, in any order, also those that have expired.
	MemoriesByID(ctx context.Context, workspaceID string, ids []string) ([]*Row, error)
	// MemoryTombstones returns those of ids that were erased.
	MemoryTombstones(ctx context.Context, workspaceID string, ids []string) ([]string, error)
	// MemoriesOf reads like MemoriesByID the memories of one generation of a subject. current reports whether change is the
	// subject's last change; it is false if no memory is found.
	MemoriesOf(ctx context.Context, workspaceID string, subject Hash, generation, change int64, ids []string) (rows []*Row, current bool, err error)
	// ListMemories reads at most f.Limit memories.
	ListMemories(ctx context.Context, workspaceID string, f *RowFilter) ([]*Row, error)
	// MemoryRevisions reads older revisions of memories, newest first: below the revision before, unless it is 0, and at
	// most limit of each, unless that is 0.
	MemoryRevisions(ctx context.Context, workspaceID string, ids []string, before int64, limit int) ([]*Row, error)
	// MemoryChanges reads what was written of a subject after a change and up to another one, in the order of the changes. Of the
	// rows it reads only what is needed to decrypt them, Size, Change and ExpiresAt. A caller that catches up must read the
	// subject's row before and remember its Change; a later change is then read again the next time.
	MemoryChanges(ctx context.Context, workspaceID string, subject Hash, generation, after, upTo int64) ([]*Row, error)
	// ErasedMemories reads the IDs of what was erased of a subject after a change.
	ErasedMemories(ctx context.Context, workspaceID string, subject Hash, after int64) ([]string, error)
}
