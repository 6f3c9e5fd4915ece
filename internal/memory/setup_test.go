package memory_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/vectors"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/memory"
	"keepsake/internal/memory/seal"
	"keepsake/internal/store"
	"keepsake/internal/store/postgres"
	"keepsake/internal/store/sqlite"
	"keepsake/internal/store/sqlite/sqlitetest"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

func TestMain(m *testing.M) {
	testtier.Checks(20) // a case writes to a real database
	enginetest.Main(m)
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// bundle is a process with a service of memories, over a real store, with a clock that a test moves.
type bundle struct {
	*memory.Service
	options  memory.Options
	store    *store.Store
	keys     *seal.Subjects
	lookup   seal.Lookup
	log      *audit.Log
	clock    *atomic.Int64 // Unix microseconds
	max      *atomic.Int64
	maxBytes *atomic.Pointer[int64]
	dir      string
	engine   store.Engine
	journal  *journal

	mu       sync.Mutex
	answered []string // of which subjects and generations answers told
}

func (b *bundle) now() time.Time       { return time.UnixMicro(b.clock.Load()).UTC() }
func (b *bundle) pass(d time.Duration) { b.clock.Add(d.Microseconds()) }

// onBoth runs a test on each engine.
func onBoth(t *testing.T, test func(t *testing.T, b *bundle)) {
	t.Helper()
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, onSQLite(t))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, onPostgres(t, migrated(t)))
	})
}

// onBothInLong is onBoth for a test that the quick tier runs on SQLite alone: what differs between the engines is in the
// store, whose own tests run on both.
func onBothInLong(t *testing.T, test func(t *testing.T, b *bundle)) {
	t.Helper()
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, onSQLite(t))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		testtier.Long(t, "the quick tier runs it on SQLite")
		test(t, onPostgres(t, migrated(t)))
	})
}

func migrated(t testing.TB) string {
	t.Helper()
	return enginetest.PostgresCopy(t, "migrated", func(ctx context.Context, url string) error {
		return postgres.Migrate(ctx, postgres.Options{URL: url})
	})
}

func onSQLite(t testing.TB) *bundle {
	t.Helper()
	dir := sqlitetest.Dir(t)
	engine, err := sqlite.Open(context.WithoutCancel(t.Context()), sqlite.Options{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	noError(t, err)
	t.Cleanup(func() { noError(t, engine.Close()) })
	return assemble(t, engine, dir, true)
}

func onPostgres(t testing.TB, url string) *bundle {
	t.Helper()
	engine, err := postgres.Open(context.WithoutCancel(t.Context()), postgres.Options{
		URL: url, Connections: 8, // and on a busy machine a crowd may wait for long
		Connect: time.Minute, Acquire: time.Minute, Lock: time.Minute, Commit: time.Minute, Answer: time.Minute,
	})
	noError(t, err)
	t.Cleanup(func() { engine.Close() })
	return assemble(t, engine, t.TempDir(), true)
}

var master = seal.MasterKey{1, 2, 3}

func assemble(t testing.TB, engine store.Engine, dir string, fresh bool) *bundle {
	t.Helper()
	b := &bundle{store: store.New(engine), engine: engine, dir: dir, clock: &atomic.Int64{}, max: &atomic.Int64{}, maxBytes: &atomic.Pointer[int64]{}, journal: &journal{}}
	b.clock.Store(noon.UnixMicro())
	secrets, err := seal.Open(t.Context(), b.store.Secrets, master, fresh)
	noError(t, err)
	secret, err := secrets.Ensure(t.Context(), seal.LookupSecret)
	noError(t, err)
	b.lookup = seal.NewLookup(secret)
	b.keys = seal.NewSubjects(seal.SubjectsOptions{Store: b.store.SubjectKeys, Secrets: secrets, Now: b.now})
	b.log = audit.NewLog(audit.Options{
		Store: b.store.Audit, Units: b.store, Chain: id.New("chn"), Secret: make([]byte, 32),
		Checkpoints: filepath.Join(t.TempDir(), "audit.checkpoints"), Random: rand.Reader, Now: b.now, Log: slog.New(slog.DiscardHandler),
	})
	b.options = memory.Options{
		Store: b.store.Memories, Units: b.store, Keys: b.keys, Lookup: b.lookup, Audit: b.log, Journal: b.journal,
		Alone: !engine.Shared(), MaxMemories: func(string) *int64 { return b.most() }, MaxBytes: func(string) *int64 { return b.maxBytes.Load() },
		Sign: func(payload []byte) (string, error) { return base64.RawURLEncoding.EncodeToString(payload), nil },
		SealAnswerWith: func(_ context.Context, workspaceID string, subject memory.Hash, generation int64) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.answered = append(b.answered, fmt.Sprintf("%s %x %d", workspaceID, subject, generation))
		},
		Vectors: vectors.Builtin, Now: b.now, Random: rand.Reader, Log: slog.New(slog.DiscardHandler),
	}
	b.Service = memory.NewService(b.options)
	return b
}

// with is the same process with other options.
func (b *bundle) with(change func(o *memory.Options)) *bundle {
	other := &bundle{
		options: b.options, store: b.store, keys: b.keys, lookup: b.lookup, log: b.log, clock: b.clock, max: b.max, dir: b.dir,
		engine: b.engine, journal: b.journal,
	}
	change(&other.options)
	other.Service = memory.NewService(other.options)
	return other
}

// beside is another process on the same database.
func (b *bundle) beside(t testing.TB, engine store.Engine) *bundle {
	t.Helper()
	other := assemble(t, engine, b.dir, false)
	other.clock = b.clock
	return other
}

// journal records its calls.
type journal struct {
	mu       sync.Mutex
	subjects []int64
	memories []string
	expired  int
}

func (j *journal) SubjectErased(_ context.Context, _ string, _ memory.Hash, generation int64, _ time.Time) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.subjects = append(j.subjects, generation)
	return nil
}

// MemoriesExpired implements memory.Journal.
func (j *journal) MemoriesExpired(context.Context, string, memory.Hash) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.expired++
	return nil
}

func (j *journal) MemoriesErased(_ context.Context, _ string, _ memory.Hash, ids []string, _ time.Time) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.memories = append(j.memories, ids...)
	return nil
}

// anna may do everything in her workspace; the others are bound, or in another one.
var (
	anna    = &auth.Principal{Kind: auth.User, WorkspaceID: "wsp_a", UserID: "usr_anna"}
	bert    = &auth.Principal{Kind: auth.User, WorkspaceID: "wsp_b", UserID: "usr_bert"}
	ofAda   = &auth.Principal{Kind: auth.User, WorkspaceID: "wsp_a", UserID: "usr_bound", SubjectID: "ada"}
	ofCoach = &auth.Principal{Kind: auth.User, WorkspaceID: "wsp_a", UserID: "usr_agent", AgentID: "coach"}
)

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func codeOf(err error) string {
	var p *problem.Problem
	if errors.As(err, &p) {
		return p.Code
	}
	return fmt.Sprint(err)
}

func wantCode(t testing.TB, err error, code string) {
	t.Helper()
	if got := codeOf(err); got != code {
		t.Fatalf("got %v, want %s", err, code)
	}
}

// wantField checks that something was refused for a field.
func wantField(t testing.TB, err error, field string, issue problem.Issue) {
	t.Helper()
	p, ok := problem.As(err)
	if !ok || p.Details.Field != field || p.Details.Issue != issue {
		t.Fatalf("got %v (%+v), want %s %s", err, p, field, issue)
	}
}

// create stores one as anna.
func (b *bundle) create(t testing.TB, m memory.Memory) *memory.Memory {
	t.Helper()
	stored, err := b.put(t.Context(), anna, m)
	noError(t, err)
	return stored.Memory
}

func (b *bundle) put(ctx context.Context, p *auth.Principal, m memory.Memory) (*memory.Stored, error) {
	return b.putItem(ctx, p, memory.Item{Memory: m})
}

func (b *bundle) putItem(ctx context.Context, p *auth.Principal, item memory.Item) (*memory.Stored, error) {
	prepared, err := b.Writer.Prepare(ctx, p, item)
	if err != nil {
		return nil, err
	}
	return b.Writer.Create(ctx, prepared)
}

func (b *bundle) batch(ctx context.Context, p *auth.Principal, atomic bool, list ...memory.Memory) ([]memory.Result, error) {
	items := make([]memory.Item, len(list))
	for i, m := range list {
		items[i].Memory = m
	}
	return b.batchItems(ctx, p, atomic, items)
}

func (b *bundle) batchItems(ctx context.Context, p *auth.Principal, atomic bool, items []memory.Item) ([]memory.Result, error) {
	prepared, err := b.Writer.PrepareBatch(ctx, p, items, atomic)
	if err != nil {
		return nil, err
	}
	return b.Writer.Batch(ctx, prepared)
}

func say(text string) memory.Memory { return memory.Memory{SubjectID: "ada", Text: text} }

// texts are those of a list.
func texts(list []*memory.Memory) []string {
	all := []string{}
	for _, m := range list {
		all = append(all, m.Text)
	}
	return all
}

func (b *bundle) list(t testing.TB, p *auth.Principal, f memory.Filter) []*memory.Memory {
	t.Helper()
	if f.Limit == 0 {
		f.Limit = 200
	}
	list, _, err := b.Reader.List(t.Context(), p, f)
	noError(t, err)
	return list
}

func wantTexts(t testing.TB, got []*memory.Memory, want ...string) {
	t.Helper()
	if !slices.Equal(texts(got), want) && len(got)+len(want) > 0 {
		t.Errorf("got %q, want %q", texts(got), want)
	}
}

// actions are what the access log has of a subject, newest first.
func (b *bundle) actions(t testing.TB, workspaceID, subjectID string) []audit.Action {
	t.Helper()
	rows, err := b.log.Accesses(t.Context(), audit.Accesses{WorkspaceID: workspaceID, SubjectID: subjectID, Limit: 1000})
	noError(t, err)
	var all []audit.Action
	for _, r := range rows {
		all = append(all, r.Action)
	}
	return all
}

// most is the limit of memories; nil if it is 0.
func (b *bundle) most() *int64 {
	if max := b.max.Load(); max > 0 {
		return &max
	}
	return nil
}
