package memory

import (
	"context"
	"io"
	"log/slog"
	"time"

	"keepsake/internal/audit"
	"keepsake/internal/coalesce"
	"keepsake/internal/fairshare"
	"keepsake/internal/seal"
	"keepsake/internal/text"
	"keepsake/internal/unit"
)

// Keys keeps the data keys of subjects: *seal.Subjects.
type Keys interface {
	// Find gives a key that was made; seal.ErrDestroyed where there is none (any more).
	Find(ctx context.Context, workspaceID string, subject Hash, generation int64) (*seal.DataKey, error)
	// Ensure gives keys and makes those that are missing, on stable storage before it returns; seal.ErrDestroyed where one was
	// destroyed. It is a unit of work of another database: never call it inside one.
	Ensure(ctx context.Context, workspaceID string, want []seal.SubjectGeneration) ([]*seal.DataKey, error)
	// Destroy ends all keys of a subject up to a generation: on stable storage first, then in memory.
	Destroy(ctx context.Context, workspaceID string, subject Hash, upTo int64) error
	// Forget drops a key from memory that another process has destroyed.
	Forget(workspaceID string, subject Hash)
}

// Lookup makes the hashes under which names are found.
type Lookup interface {
	Subject(workspaceID, id string) [16]byte
	Agent(workspaceID, id string) [16]byte
	Session(workspaceID, id string) [16]byte
}

// Journal is told, outside the database and its backups, what was erased, so that no backup brings it back.
type Journal interface {
	// SubjectErased is called in the unit of work that ends the generation.
	SubjectErased(ctx context.Context, workspaceID string, subject Hash, generation int64, at time.Time) error
	// MemoriesErased is called in the unit of work that erases memories of one subject.
	MemoriesErased(ctx context.Context, workspaceID string, subject Hash, ids []string, at time.Time) error
	// MemoriesExpired is called in the unit of work that erases what of one subject has expired.
	MemoriesExpired(ctx context.Context, workspaceID string, subject Hash) error
}

// Log is the access log: *audit.Log.
type Log interface {
	audit.Recorder
	audit.Reader
	// Subject is the pseudonym of a subject, whose name the log must not hold.
	Subject(workspaceID, subjectID string) string
	// Accesses reads who read or changed the memories of a subject, newest first.
	Accesses(ctx context.Context, a audit.Accesses) ([]*audit.Row, error)
}

// Options is what a Service needs.
type Options struct {
	Store   Store
	Units   unit.Runner
	Keys    Keys
	Lookup  Lookup
	Audit   Log
	Journal Journal
	// Alone says that no other process writes to the store: what was written last in this one need not be asked for.
	Alone bool
	// Max is how many memories a workspace may hold, 0 for no limit, and MaxBytes how many bytes it may store, nil for no
	// limit.
	Max      func(workspaceID string) int64
	MaxBytes func(workspaceID string) *int64
	// Sign makes a compact JWS of a payload, by a key of the JWKS.
	Sign func(payload []byte) (string, error)
	// Answered hears under which data key an answer must be kept, where it is kept at all. May be nil.
	Answered func(ctx context.Context, workspaceID string, subject Hash, generation int64)
	// Dropped is called when a subject's data key was destroyed, and returns once no other process has it in memory any more.
	// May be nil.
	Dropped func(ctx context.Context, workspaceID string, subject Hash) error
	// Erased hears that a subject's generations up to one are gone: what is kept in memory of them goes, too. May be nil.
	Erased func(workspaceID string, subject Hash, generation int64)
	// Shares divides the processors among the workspaces whose recalls and lists take long. May be nil.
	Shares *fairshare.Scheduler
	// RecallBytes is how much memory the indexes of recall may take together.
	RecallBytes int64
	Now         func() time.Time
	Random      io.Reader // of ids
	Log         *slog.Logger
}

// Service holds the rules of memories. All of it is safe for concurrent use. Every method acts for a principal and
// reaches only what that one's key is bound to: anything else is problem.Missing, like what never was.
type Service struct {
	o       Options
	words   *text.Analyzer
	recalls *recalls
	batches *coalesce.Batcher[*single]
	written generations
}

// NewService makes a Service.
func NewService(o Options) *Service {
	s := &Service{o: o, words: text.NewAnalyzer(), recalls: newRecalls(o.RecallBytes)}
	s.batches = s.newBatcher()
	return s
}
