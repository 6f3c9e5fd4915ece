package memory

import "time"

// Hash is a keyed hash by which rows are found: of a name, a natural key or a dedup key. The zero value stands for none.
type Hash = [16]byte

// Kind says what a memory contains.
type Kind string

// The kinds.
const (
	Fact        Kind = "fact" // the default
	Preference  Kind = "preference"
	Event       Kind = "event"
	Instruction Kind = "instruction"
	Summary     Kind = "summary"
	Turn        Kind = "turn" // one utterance of a conversation
	Note        Kind = "note"
)

// Kinds lists all kinds.
func Kinds() []Kind { return []Kind{Fact, Preference, Event, Instruction, Summary, Turn, Note} }

// Status says whether a memory is still valid.
type Status string

// The statuses.
const (
	Active     Status = "active"     // also before its ValidFrom
	Superseded Status = "superseded" // its ValidTo has passed
)

// Memory is a revision of a memory in plaintext. Strings that are not set are empty.
type Memory struct {
	ID         string // mem_…
	SubjectID  string
	AgentID    string
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
	Key        string // natural key, unique within the subject
	Source     string
	CreatedAt  time.Time
	UpdatedAt  time.Time // of this revision
	CreatedBy  string    // auth.Principal.Actor
	UpdatedBy  string    // of this revision
	ImportedBy string    // auth.Principal.Actor of the import that this revision and its past come from
	Revision   int64
}

// Status returns the status of a memory at a time.
func (m *Memory) Status(now time.Time) Status {
	if m.ValidTo != nil && !now.Before(*m.ValidTo) {
		return Superseded
	}
	return Active
}

// At returns the time of a memory: when it occurred or, if that is not set, when it was created.
func (m *Memory) At() time.Time {
	if m.OccurredAt != nil {
		return *m.OccurredAt
	}
	return m.CreatedAt
}

// size estimates the stored bytes of a revision.
func (m *Memory) size() int {
	bytes := 256 + len(m.Text)
	for _, tag := range m.Tags {
		bytes += len(tag)
	}
	for name, value := range m.Metadata {
		bytes += len(name)
		if s, ok := value.(string); ok {
			bytes += len(s)
		}
	}
	return bytes
}

// Expired reports whether a memory has expired at a time.
func (m *Memory) Expired(now time.Time) bool { return m.ExpiresAt != nil && !now.Before(*m.ExpiresAt) }
