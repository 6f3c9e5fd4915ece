package search_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"keepsake/internal/base/page"
	"keepsake/internal/govern/audit/audittest"
	"keepsake/internal/govern/auth"
	"keepsake/internal/search"
	"keepsake/internal/search/collection"
	"keepsake/internal/search/document"
	"keepsake/internal/store"
	"keepsake/internal/store/postgres"
	"keepsake/internal/store/sqlite"
	"keepsake/internal/store/sqlite/sqlitetest"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

func TestMain(m *testing.M) {
	testtier.Checks(10) // a case writes and searches on real databases
	enginetest.Main(m)
}

// bundle is documents and their search on a real database in a folder of the test's own.
type bundle struct {
	t         *testing.T
	store     *store.Store
	documents *document.Service
	settings  *collection.Service
	indexer   *search.Indexer
	search    *search.Service
	dir       string
	clock     time.Time
	stop      func()
}

const workspace = "wsp_one"

func setup(t *testing.T) *bundle {
	t.Helper()
	return open(t, sqlitetest.Dir(t), nil)
}

// open starts on what is in dir.
func open(t *testing.T, dir string, change func(*search.IndexerOptions)) *bundle {
	t.Helper()
	engine, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return start(t, engine, dir, change)
}

// onPostgres starts on a database. A search waits for its index for that long.
func onPostgres(t *testing.T, url string, wait time.Duration) *bundle {
	t.Helper()
	engine, err := postgres.Open(t.Context(), postgres.Options{
		URL:     url, // its time-outs are longer than a busy machine needs
		Connect: time.Minute, Acquire: time.Minute, Lock: time.Minute, Commit: time.Minute, Answer: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	return start(t, engine, t.TempDir(), func(o *search.IndexerOptions) { o.Shared, o.Wait = true, wait })
}

func migrated(t *testing.T) (url string) {
	t.Helper()
	return enginetest.PostgresCopy(t, "migrated", func(ctx context.Context, url string) error {
		return postgres.Migrate(ctx, postgres.Options{URL: url})
	})
}

type engine interface {
	store.Engine
	Close() error
}

func start(t *testing.T, engine engine, dir string, change func(*search.IndexerOptions)) *bundle {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	b := &bundle{t: t, store: store.New(engine), dir: dir + "/index", clock: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	o := search.IndexerOptions{Dir: b.dir, Source: b.store.Documents, Settings: b.store.Documents, Log: log, Now: time.Now, Wait: 30 * time.Second} // a busy machine is no failure
	if change != nil {
		change(&o)
	}
	b.indexer = search.NewIndexer(o)
	b.search = search.NewService(b.indexer, page.NewSealer([]byte("secret of the test")), nil, time.Now)
	if inOpenSearch() {
		b.search.SetElsewhere(newFollower(t, o, shards()))
	}
	made := 0
	b.documents = document.NewService(document.Options{
		Store: b.store.Documents, Units: b.store, Changed: b.indexer.Notify, Stored: b.indexer.Record,
		Max:      func(string) *int64 { return nil },
		MaxBytes: func(string) *int64 { return nil },
		Now:      func() time.Time { return b.clock },
		NewID:    func() string { made++; return fmt.Sprintf("doc_%d", made) },
	})
	b.settings = collection.NewService(collection.Options{
		Store: b.store.Documents, Units: b.store, Audit: &audittest.Recorder{}, Changed: b.indexer.Notify,
		MaxBytes: func(string) *int64 { return nil }, Now: func() time.Time { return b.clock },
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- b.indexer.Run(ctx) }()
	stopped := false
	b.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run indexer: %v", err)
		}
		if err := b.indexer.Close(); err != nil {
			t.Errorf("close indexer: %v", err)
		}
		if err := engine.Close(); err != nil {
			t.Errorf("close engine: %v", err)
		}
	}
	t.Cleanup(b.stop)
	return b
}

func (b *bundle) put(id string, f document.Fields) {
	b.t.Helper()
	if _, _, err := b.documents.Put(b.t.Context(), workspace, id, f, document.Condition{}); err != nil {
		b.t.Fatalf("put %s: %v", id, err)
	}
}

// text puts documents that have an id and a text: id, text, id, text ….
func (b *bundle) text(pairs ...string) {
	b.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		b.put(pairs[i], document.Fields{Text: pairs[i+1]})
	}
}

// tune sets the settings of a collection.
func (b *bundle) tune(name string, s collection.Settings) {
	b.t.Helper()
	p := &auth.Principal{WorkspaceID: workspace}
	if _, err := b.settings.Put(b.t.Context(), p, name, s, collection.Condition{}); err != nil {
		b.t.Fatalf("set %+v: %v", s, err)
	}
}

func (b *bundle) find(r search.Request) *search.Answer {
	b.t.Helper()
	answer, err := b.search.Search(b.t.Context(), workspace, r)
	if err != nil {
		b.t.Fatalf("search %+v: %v", r, err)
	}
	return answer
}

// ids gives the ids found by a query, in order.
func (b *bundle) ids(q string) []string {
	b.t.Helper()
	return idsOf(b.find(search.Request{Query: q}))
}

func idsOf(a *search.Answer) []string {
	ids := []string{}
	for _, r := range a.Results {
		ids = append(ids, r.Document.ID)
	}
	return ids
}
