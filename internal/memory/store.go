package memory

import (
	"context"
	"time"
)

// Subject is what stands of a subject at rest. After an erasure the row stays, without a name: it keeps the number of the
// generation from being used again.
type Subject struct {
	Hash       Hash
	Generation int64  // number of its data key, from 1; each erasure begins the next
	Change     int64  // number of its last change
	SealedID   []byte // its readable id under the data key; nil: nothing was written in this generation
	Memories   int64
	Bytes      int64 // of their texts
	CreatedAt  time.Time
	UpdatedAt  time.Time
	ErasedAt   *time.Time // the last time

	// What a list of subjects tells besides: the moments of the first and the last memory.
	FirstAt, LastAt *time.Time
}

// Row is a revision of a memory as it lies at rest. Of older revisions only ID, Subject, Generation, Revision and Sealed
// are kept; Own is the memory's.
type Row struct {
	ID         string
	Subject    Hash
	Generation int64
	Agent      Hash
	Session    Hash
	Key        Hash // of the natural key, under the data key
	Same       Hash // of what makes two memories equal, under the data key
	Kind       Kind
	At         time.Time
	CreatedAt  time.Time
	UpdatedAt  time.Time
	ExpiresAt  *time.Time
	Size       int64 // bytes of the text
	Revision   int64
	Change     int64 // the subject's change that wrote it
	Sealed     []byte
	// Own is the memory's own key, by which it is sealed together with the data key, and OwnSlot where that lies; 0: nowhere
	// yet. What an earlier release sealed has none.
	Own     []byte
	OwnSlot int64
}

// Reach is what a caller's key is bound to: nothing else exists for it. Zero hashes bind to nothing.
type Reach struct {
	Subject Hash
	Agent   Hash
}

// RowFilter chooses rows of a list, newest first or, with Rising, oldest first. Zero members choose all.
type RowFilter struct {
	Reach
	Subject  Hash
	Agent    Hash
	Session  Hash
	Kinds    []Kind
	From, To *time.Time
	Beyond   *Position // only rows behind this place, in the order of the list
	Rising   bool
	Now      time.Time // what has expired by then is not there
	Limit    int
}

// Alike asks for the memory of a subject that has a natural key, or else for the first one that is equal.
type Alike struct {
	Subject    Hash
	Generation int64
	Key        Hash
	Same       Hash
}

// Erasure is an erasure of a subject that is under way.
type Erasure struct {
	ID          string
	WorkspaceID string
	Subject     Hash
	Generation  int64 // it and all before it are dead
	Change      int64 // the subject's last one in it
	Memories    int64 // that it had
	BeganAt     time.Time
}

// KeptPlan is a Plan at rest: for one credential and one use.
type KeptPlan struct {
	Plan
	Subject    Hash
	Generation int64
	Credential string
}

// Expired is a memory whose time is over.
type Expired struct {
	WorkspaceID string
	Subject     Hash
	ID          string
}

// Store keeps memories. What it reads is of living generations only, and of the workspace that is named: anything else is
// not there. Methods that write join the unit of work of ctx, in which the rows of the subjects they write are held.
type Store interface {
	// MemorySubject reads the row of a subject; nil where there never was one.
	MemorySubject(ctx context.Context, workspaceID string, subject Hash) (*Subject, error)
	// MemorySubjects reads those rows of subjects that there are, in no order.
	MemorySubjects(ctx context.Context, workspaceID string, subjects []Hash) ([]*Subject, error)
	// HoldMemorySubjects keeps rows of subjects from other units until this one ends, and gives them in the order asked for.
	// Those that are missing are made, as of at. Subjects are given in rising order, so that nobody waits in a circle.
	HoldMemorySubjects(ctx context.Context, workspaceID string, subjects []Hash, at time.Time) ([]*Subject, error)
	// SaveMemorySubjects writes rows that are held.
	SaveMemorySubjects(ctx context.Context, workspaceID string, subjects []*Subject) error
	// CountMemorySubjects writes of rows that are held Change, Memories, Bytes and UpdatedAt, which change with each memory.
	CountMemorySubjects(ctx context.Context, workspaceID string, subjects []*Subject) error
	// ListMemorySubjects reads subjects that have a name, newest first, at most limit of those behind a place. For a caller
	// who is bound to an agent they are those in which the agent has memories, which alone count.
	ListMemorySubjects(ctx context.Context, workspaceID string, reach Reach, after *PersonPosition, now time.Time, limit int) ([]*Subject, error)

	// Memory reads one; problem.Missing where there is none.
	Memory(ctx context.Context, workspaceID, id string, reach Reach, now time.Time) (*Row, error)
	// MemoriesByID reads those of ids that there are, in no order; also those that have expired.
	MemoriesByID(ctx context.Context, workspaceID string, ids []string) ([]*Row, error)
	// MemoriesOf is MemoriesByID for memories of one subject in one generation. still says that the subject's last change is
	// that of change, which is not known where there are none.
	MemoriesOf(ctx context.Context, workspaceID string, subject Hash, generation, change int64, ids []string) (rows []*Row, still bool, err error)
	// ListMemories reads at most f.Limit.
	ListMemories(ctx context.Context, workspaceID string, f *RowFilter) ([]*Row, error)
	// MemoriesAlike reads for each of wanted the one that has its key, or the first ones that are equal to it, at most limit.
	MemoriesAlike(ctx context.Context, workspaceID string, wanted []Alike, limit int, now time.Time) ([]*Row, error)
	// MemoryRevisions reads older revisions of memories, of each at most limit below a revision (0: below none), newest first.
	MemoryRevisions(ctx context.Context, workspaceID string, ids []string, before int64, limit int) ([]*Row, error)
	// MemoryChanges reads what of a subject was written and erased by changes after one. Whoever follows reads the subject's
	// row first and remembers the change that it names: what comes in between is read again the next time.
	MemoryChanges(ctx context.Context, workspaceID string, subject Hash, generation, after int64) (rows []*Row, erased []string, err error)

	// InsertMemories adds memories whose ids are new; ErrAgain where one is not.
	InsertMemories(ctx context.Context, workspaceID string, rows []*Row) error
	// ReplaceMemories writes further revisions over memories that there are.
	ReplaceMemories(ctx context.Context, workspaceID string, rows []*Row) error
	// AddMemoryRevisions adds older revisions; those that there are stay as they are.
	AddMemoryRevisions(ctx context.Context, workspaceID string, rows []*Row) error
	// TrimMemoryRevisions removes the oldest revisions of a memory but for some.
	TrimMemoryRevisions(ctx context.Context, workspaceID, id string, keep int) error
	// TrimmedBytes is how many bytes TrimMemoryRevisions would give back.
	TrimmedBytes(ctx context.Context, workspaceID, id string, keep int) (int64, error)
	// EraseMemories removes memories of one subject with their older revisions, erases their own keys, and leaves tombstones of
	// a change.
	EraseMemories(ctx context.Context, workspaceID string, subject Hash, ids []string, change int64, at time.Time) error
	// MemoryTombstones says which of ids were erased.
	MemoryTombstones(ctx context.Context, workspaceID string, ids []string) ([]string, error)

	// MemoryCount reads how many memories a workspace holds, and keeps the number from other units until this one ends.
	MemoryCount(ctx context.Context, workspaceID string) (int64, error)
	// StorageRoom is how many bytes a workspace may still store if it may store most, and keeps the number from other units
	// until this one ends. Where MemoryCount or AddMemoryCount are called, too, they are called first.
	StorageRoom(ctx context.Context, workspaceID string, most int64) (int64, error)
	// AddMemoryCount changes the number.
	AddMemoryCount(ctx context.Context, workspaceID string, by int64) error

	// KeepMemoryPlan stores a plan. Of those of its credential the oldest go, so that there are at most some.
	KeepMemoryPlan(ctx context.Context, workspaceID string, p *KeptPlan, most int) error
	// HoldMemoryPlan reads a plan and keeps others from using it; problem.Missing where there is none.
	HoldMemoryPlan(ctx context.Context, workspaceID, id string) (*KeptPlan, error)
	// DropMemoryPlan removes one.
	DropMemoryPlan(ctx context.Context, workspaceID, id string) error
	// DropMemoryPlans removes those of a subject's generations up to one.
	DropMemoryPlans(ctx context.Context, workspaceID string, subject Hash, generation int64) error
	// PruneMemoryPlans removes those that expired before now.
	PruneMemoryPlans(ctx context.Context, now time.Time) error

	// BeginErasure notes an erasure that has to be brought to its end.
	BeginErasure(ctx context.Context, e *Erasure) error
	// Erasures lists those that are under way.
	Erasures(ctx context.Context) ([]*Erasure, error)
	// EraseDeadMemories removes memories of an erasure with their older revisions, leaves tombstones that name no subject, and
	// takes the subject out of those that there are. It does at most limit of these, and says how many: fewer, and nothing is
	// left.
	EraseDeadMemories(ctx context.Context, e *Erasure, limit int, at time.Time) (did int, err error)
	// EndErasure notes that nothing is left to be done.
	EndErasure(ctx context.Context, e *Erasure) error

	// ScrubErased sees to it that what was erased is in no file of the database any more, if any of it was erased before a
	// moment. It is not for inside a unit.
	ScrubErased(ctx context.Context, before time.Time) error

	// ExpiredMemories lists at most limit memories, of all workspaces, that had expired at now.
	ExpiredMemories(ctx context.Context, now time.Time, limit int) ([]Expired, error)
}
