// Package memory keeps what applications and agents remember about people: sealed, recalled, forgotten for good.
//
// A memory is a short text about one subject, the person. At rest there is only ciphertext under a key of the subject's
// own; looking something up goes through keyed hashes. Erasing a person is destroying that key: the rows that are left
// are of a dead generation, which nobody reads and nobody can.
package memory

import "time"

// Hash is what a name is looked up by at rest: a keyed hash of it. The zero value stands for no name.
type Hash = [16]byte

// Kind is what sort of thing is remembered.
type Kind string

// The kinds.
const (
	Fact        Kind = "fact" // the default
	Preference  Kind = "preference"
	Event       Kind = "event"
	Instruction Kind = "instruction"
	Summary     Kind = "summary"
	Turn        Kind = "turn" // of a conversation
	Note        Kind = "note"
)

// Kinds lists all of them.
func Kinds() []Kind { return []Kind{Fact, Preference, Event, Instruction, Summary, Turn, Note} }

// Status says whether a memory still holds.
type Status string

// The statuses.
const (
	Active     Status = "active"
	Superseded Status = "superseded" // its ValidTo has passed
)

// Memory is one revision of a memory, opened.
type Memory struct {
	ID         string // mem_…
	SubjectID  string
	AgentID    string // empty: none; so are SessionID, Speaker, Key and Source
	SessionID  string
	Kind       Kind
	Text       string
	Speaker    string
	Tags       []string
	Metadata   map[string]any // string, float64 or bool
	Importance *float64       // 0 to 1
	Pinned     bool
	OccurredAt *time.Time
	ValidFrom  *time.Time
	ValidTo    *time.Time
	ExpiresAt  *time.Time
	Key        string // natural key, unique in the subject
	Source     string
	CreatedAt  time.Time
	UpdatedAt  time.Time // of this revision
	CreatedBy  string    // auth.Principal.Actor
	UpdatedBy  string    // of this revision
	Revision   int64
}

// Status is the memory's at a moment.
func (m *Memory) Status(now time.Time) Status {
	if m.ValidTo != nil && !now.Before(*m.ValidTo) {
		return Superseded
	}
	return Active
}

// At is the moment a memory is of: when it occurred, else when it was created.
func (m *Memory) At() time.Time {
	if m.OccurredAt != nil {
		return *m.OccurredAt
	}
	return m.CreatedAt
}

// Expired reports whether the memory is no more at a moment.
func (m *Memory) Expired(now time.Time) bool { return m.ExpiresAt != nil && !now.Before(*m.ExpiresAt) }

// Duplicates says what to do with a memory if its subject has an equal one. A memory with a natural key is never compared.
type Duplicates int

// The ways to treat duplicates.
const (
	DefaultDuplicates Duplicates = iota // return the equal memory, but store another turn or event
	AllowDuplicates                     // store another one
	Deduplicate                         // return the equal memory, also for a turn or an event
)

// Optional is a field of a Change: left out (the zero value), given, or taken away (Set and no To).
type Optional[T any] struct {
	Set bool
	To  *T
}

// Give is a field that is set to v.
func Give[T any](v T) Optional[T] { return Optional[T]{Set: true, To: &v} }

// Take is a field that is taken away.
func Take[T any]() Optional[T] { return Optional[T]{Set: true} }

// Change is a merge patch. Subject, agent and session are fixed.
type Change struct {
	Kind       Optional[Kind] // cannot be taken away; neither can Text and Pinned
	Text       Optional[string]
	Speaker    Optional[string]
	Tags       Optional[[]string]
	Metadata   Optional[map[string]any] // merged name by name: a nil value takes its name away
	Importance Optional[float64]
	Pinned     Optional[bool]
	OccurredAt Optional[time.Time]
	ValidFrom  Optional[time.Time]
	ValidTo    Optional[time.Time]
	ExpiresAt  Optional[time.Time]
	Key        Optional[string]
	Source     Optional[string]
}

// Stored is the outcome of a write. Without Created and Deduplicated, the memory replaced the one with its key.
type Stored struct {
	Memory       *Memory
	Created      bool
	Deduplicated bool // an equal memory existed, and nothing was written
}

// Item is a memory to create. Its ID, times, authors and revision are ignored; an empty kind is Fact. Err, a
// problem.Problem, says why the item cannot be written.
type Item struct {
	Memory     Memory
	Duplicates Duplicates
	Err        error
}

// Result is what became of an Item.
type Result struct {
	Stored
	Err error // a problem.Problem; Memory is nil then
}

// Filter chooses memories of a list, newest first. Empty members choose all.
type Filter struct {
	SubjectID string // needed for Tags
	AgentID   string
	SessionID string
	Kinds     []Kind
	Tags      []string   // all must match
	From, To  *time.Time // of Memory.At: from the first on, before the second
	Before    *Position  // only memories older than this place
	Limit     int
}

// Position is a place in a list of memories: the moment and the id of the last one before it.
type Position struct {
	At time.Time `json:"at"`
	ID string    `json:"id"`
}

// Position is the memory's place in a list.
func (m *Memory) Position() Position { return Position{At: m.At(), ID: m.ID} }

// Forget says what is to be forgotten of a subject. Exactly one of IDs, Filter and Query is given.
type Forget struct {
	SubjectID string
	IDs       []string
	Filter    *ForgetFilter
	Query     string // every word must occur in the text
}

// ForgetFilter chooses memories of a subject; all that is given must match.
type ForgetFilter struct {
	Kinds     []Kind
	Tags      []string
	SessionID string
	AgentID   string
	From, To  *time.Time
}

// Plan is what a Forget would erase.
type Plan struct {
	ID        string // pln_…
	MemoryIDs []string
	ExpiresAt time.Time
}

// Person is what is known of a subject as a whole.
type Person struct {
	SubjectID string
	Memories  int64
	Bytes     int64      // of their texts
	FirstAt   *time.Time // the earliest Memory.At; nil where there are no memories
	LastAt    *time.Time // the latest
	CreatedAt time.Time  // when the first memory since the last erasure came
	UpdatedAt time.Time

	place Hash
}

// PersonPosition is a place in the list of subjects.
type PersonPosition struct {
	CreatedAt time.Time `json:"at"`
	Hash      []byte    `json:"of"`
}

// Position is the subject's place in a list.
func (p *Person) Position() PersonPosition {
	return PersonPosition{CreatedAt: p.CreatedAt, Hash: p.place[:]}
}

// Receipt proves that a subject was erased.
type Receipt struct {
	ID               string // rcp_…
	Memories         int64
	ErasedAt         time.Time
	KeyBackupsBefore time.Time // key files older than this still open older data
	Signature        string    // compact JWS over all of the above and the workspace's id
}

// Portable is a memory as it is exported and imported.
type Portable struct {
	Memory  *Memory
	History []*Memory // its older revisions, oldest first
}

// ImportLine is one line of an import: what to write, or why it cannot be.
type ImportLine struct {
	Number int // from 1
	Portable
	// Kept says that the line brings its own times, authors and revision, as an exported one does. One that does not is
	// written as of now, under Memory.ID where it has one.
	Kept bool
	Err  error
}

// Lines hands over the lines of an import one by one: ok is false after the last. An error means that the body could
// not be read further; the lines before it count.
type Lines func() (line ImportLine, ok bool, err error)

// LineError tells why one line was not imported.
type LineError struct {
	Line    int
	Field   string
	Issue   string
	Message string
}

// Imported counts what an import did. Errors holds the first MaxLineErrors.
type Imported struct {
	Received  int
	Created   int
	Replaced  int
	Unchanged int // was there already, as it is in the line
	Failed    int
	Errors    []LineError
}

// MaxLineErrors is how many line errors an import tells in full.
const MaxLineErrors = 100
