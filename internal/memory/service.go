package memory

import (
	"context"
	"io"
	"iter"
	"log/slog"
	"time"

	"keepsake/internal/audit"
	"keepsake/internal/auth"
	"keepsake/internal/unit"
)

// DataKey seals what is remembered of one subject in one generation.
type DataKey interface {
	Seal(plain, about []byte) []byte
	Open(sealed, about []byte) ([]byte, error)
	// Hash is a keyed hash of a text, of no use once the key is gone.
	Hash(kind, text string) [16]byte
}

// KeyOf names a data key.
type KeyOf struct {
	Subject    Hash
	Generation int64
}

// Keys keeps the data keys of subjects.
type Keys interface {
	// Find gives a key that was made; ErrNoKey where there is none (any more).
	Find(ctx context.Context, workspaceID string, subject Hash, generation int64) (DataKey, error)
	// Ensure gives keys and makes those that are missing, on stable storage before it returns. It is a unit of work of another
	// database: never call it inside one.
	Ensure(ctx context.Context, workspaceID string, want []KeyOf) ([]DataKey, error)
	// Destroy ends all keys of a subject up to a generation: on stable storage first, then in memory.
	Destroy(ctx context.Context, workspaceID string, subject Hash, upTo int64) error
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
}

// Log is what the access log offers.
type Log interface {
	audit.Recorder
	// Pseudonym stands for a name that the log must not hold.
	Pseudonym(kind, name string) string
	// ListAuditRows reads rows newest first.
	ListAuditRows(ctx context.Context, f audit.Filter) ([]*audit.Row, error)
}

// Options is what a Service needs.
type Options struct {
	Store   Store
	Units   unit.Runner
	Keys    Keys
	Lookup  Lookup
	Audit   Log
	Journal Journal
	// Max is how many memories a workspace may hold, 0 for no limit.
	Max func(workspaceID string) int64
	// Sign makes a compact JWS of a payload, by a key of the JWKS.
	Sign func(payload []byte) (string, error)
	// Answered hears under which data key an answer must be kept, where it is kept at all. May be nil.
	Answered func(ctx context.Context, workspaceID string, subject Hash, generation int64)
	// Erased hears that a subject's generations up to one are gone: what is kept in memory of them goes, too.
	Erased func(workspaceID string, subject Hash, generation int64)
	Now    func() time.Time
	Random io.Reader // of ids
	Log    *slog.Logger
}

// Service holds the rules of memories. All of it is safe for concurrent use. Every method acts for a principal and
// reaches only what that one's key is bound to: anything else is problem.Missing, like what never was.
type Service struct {
	o Options
}

// NewService makes a Service.
func NewService(o Options) *Service { return &Service{o: o} }

// Prepared is a New that was checked and sealed, or a batch of them. What Prepare saw may have changed when it comes to be
// written; then it is decided again.
type Prepared struct {
	batch *batch
}

type batch struct{}

// Prepare does of Create what must not happen inside a unit of work.
func (s *Service) Prepare(ctx context.Context, p *auth.Principal, n New) (*Prepared, error) {
	panic(unbuilt)
}

// Create writes what was prepared: a new memory, one in place of that with its key, or none where an equal one is there.
func (s *Service) Create(ctx context.Context, p *auth.Principal, prepared *Prepared) (*Stored, error) {
	panic(unbuilt)
}

// PrepareBatch does of Batch what must not happen inside a unit of work. With atomic an item that cannot be written is the
// error, with its field below items[n].
func (s *Service) PrepareBatch(ctx context.Context, p *auth.Principal, items []Item, atomic bool) (*Prepared, error) {
	panic(unbuilt)
}

// Batch writes what was prepared, as if one after the other, and tells of each item in its order.
func (s *Service) Batch(ctx context.Context, p *auth.Principal, prepared *Prepared) ([]Result, error) {
	panic(unbuilt)
}

// Memory reads one.
func (s *Service) Memory(ctx context.Context, p *auth.Principal, id string) (*Memory, error) {
	panic(unbuilt)
}

// Change writes a further revision. ifRevision, when given, must be the stored one.
func (s *Service) Change(ctx context.Context, p *auth.Principal, id string, c Change, ifRevision *int64) (*Memory, error) {
	panic(unbuilt)
}

// Delete erases one memory with its history.
func (s *Service) Delete(ctx context.Context, p *auth.Principal, id string, ifRevision *int64) error {
	panic(unbuilt)
}

// History reads revisions of a memory, newest first, the current one among them: at most limit below one (0: from the
// newest on).
func (s *Service) History(ctx context.Context, p *auth.Principal, id string, before int64, limit int) (list []*Memory, more bool, err error) {
	panic(unbuilt)
}

// List reads memories newest first.
func (s *Service) List(ctx context.Context, p *auth.Principal, f Filter) (list []*Memory, more bool, err error) {
	panic(unbuilt)
}

// PlanForget says what a Forget would erase, and keeps that for an hour and for the caller's credential.
func (s *Service) PlanForget(ctx context.Context, p *auth.Principal, f Forget) (*Plan, error) {
	panic(unbuilt)
}

// Forget erases what of a plan is still there, and says how many that were.
func (s *Service) Forget(ctx context.Context, p *auth.Principal, subjectID, planID string) (int, error) {
	panic(unbuilt)
}

// Subjects lists subjects by when their first memory came, newest first.
func (s *Service) Subjects(ctx context.Context, p *auth.Principal, after *PersonPosition, limit int) (list []*Person, more bool, err error) {
	panic(unbuilt)
}

// Subject reads one.
func (s *Service) Subject(ctx context.Context, p *auth.Principal, id string) (*Person, error) {
	panic(unbuilt)
}

// EraseSubject destroys a subject's data key and removes what was sealed under it.
func (s *Service) EraseSubject(ctx context.Context, p *auth.Principal, id string) (*Receipt, error) {
	panic(unbuilt)
}

// Export reads all memories of a subject with their history, oldest first.
func (s *Service) Export(ctx context.Context, p *auth.Principal, subjectID string) (iter.Seq2[*Portable, error], error) {
	panic(unbuilt)
}

// Import stores lines in chunks, each chunk one unit of work. A bad line fails alone. requireID refuses lines without an
// id: a request that may be repeated must not make new ids each time.
func (s *Service) Import(ctx context.Context, p *auth.Principal, lines Lines, requireID bool) (Imported, error) {
	panic(unbuilt)
}

// AccessLog reads who did what with a subject's memories, newest first: at most limit rows older than one.
func (s *Service) AccessLog(ctx context.Context, p *auth.Principal, subjectID, before string, limit int) (rows []*audit.Row, more bool, err error) {
	panic(unbuilt)
}

const unbuilt = "memory: not built yet"
