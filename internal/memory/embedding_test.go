package memory_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/memory"
	"keepsake/internal/memory/embedding"
)

// synonyms are words that the model of the tests knows to mean the same.
var synonyms = map[string]string{"heißgetränk": "kaffee", "gerne": "mag", "wohnort": "lissabon", "haustier": "kater"}

// model is an endpoint whose vectors have one dimension for each word.
type model struct {
	mu    sync.Mutex
	sent  map[string]int // by text
	fails error
	meet  func(texts []string) // called with the texts of a request; can be nil
	size  int
}

func (m *model) Encode(_ context.Context, texts []string) ([][]float32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, text := range texts {
		m.sent[text]++
	}
	if m.meet != nil {
		m.meet(texts)
	}
	if m.fails != nil {
		return nil, m.fails
	}
	list := make([][]float32, len(texts))
	for i, text := range texts {
		v := make([]float32, m.size)
		for word := range strings.FieldsSeq(strings.ToLower(strings.Trim(text, "?."))) {
			if other := synonyms[word]; other != "" {
				word = other
			}
			h := fnv.New32a()
			h.Write([]byte(word))
			v[h.Sum32()%uint32(m.size)]++
		}
		list[i] = v
	}
	return list, nil
}

func (m *model) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails = err
}

// timesSent returns how often texts were sent that contain a word.
func (m *model) timesSent(word string) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for text, times := range m.sent {
		if strings.Contains(text, word) {
			n += times
		}
	}
	return n
}

// withModel is a process of the same instance with an embeddings endpoint, which wsp_a uses.
func (b *bundle) withModel(name string, m *model) *bundle {
	m.sent = map[string]int{}
	if m.size == 0 {
		m.size = 211
	}
	return b.with(func(o *memory.Options) {
		o.Embeddings = &memory.Embeddings{
			Client: embedding.NewClient(embedding.Options{
				Encoder: m, Model: name, DailyTexts: 10_000, Count: b.store.Memories.CountEmbedded, Now: b.now, Log: slog.New(slog.DiscardHandler),
				After: func(time.Duration) <-chan time.Time { return nil },
			}),
			Uses:       func(workspaceID string) bool { return workspaceID == "wsp_a" },
			Workspaces: func() []string { return []string{"wsp_a"} },
			Alone: func(ctx context.Context, fn func(ctx context.Context) error) error {
				return b.engine.Alone(ctx, "embeddings", fn)
			},
		}
	})
}

var german = []string{
	"Trinkt morgens schwarzen Kaffee", "Zog letztes Jahr nach Lissabon", "Der Kater heißt Felix", "Arbeitet als Lehrerin in einer Grundschule",
	"Fährt jeden Samstag Fahrrad", "Spielt seit der Kindheit Geige", "Isst kein Fleisch", "Liest am liebsten Krimis", "Hat zwei Brüder in Hamburg",
	"Lernt gerade Portugiesisch", "Schläft schlecht bei Vollmond", "Plant eine Reise durch Island",
}

// vectors counts the stored vectors of wsp_a.
func (b *bundle) vectors(t *testing.T) (n int) {
	t.Helper()
	noError(t, b.engine.Main().In(t.Context()).QueryRow(t.Context(), `SELECT count(*) FROM memory_vector WHERE workspace_id = 'wsp_a' AND octet_length(sealed) > 0`).Scan(&n))
	return n
}

func (b *bundle) tell(t *testing.T, subject string, texts ...string) (ids []string) {
	t.Helper()
	for _, text := range texts {
		ids = append(ids, b.create(t, memory.Memory{SubjectID: subject, Kind: memory.Fact, Text: text}).ID)
	}
	return ids
}

func (b *bundle) wantFirst(t *testing.T, query, text string) *memory.Recalled {
	t.Helper()
	found, err := b.Recaller.Recall(t.Context(), anna, memory.RecallQuery{SubjectID: "ada", Query: query, Explain: true})
	noError(t, err)
	switch {
	case text == "" && len(found.Results) > 0:
		t.Errorf("%q finds %q", query, found.Results[0].Memory.Text)
	case text != "" && (len(found.Results) == 0 || found.Results[0].Memory.Text != text):
		t.Errorf("%q finds %d memories and not %q first", query, len(found.Results), text)
	}
	return found
}

func TestVectorsOfAnEndpointFindMemories(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bundle) {
		m := &model{}
		old := b.tell(t, "ada", german[:6]...) // before there was an endpoint
		e := b.withModel("m", m)
		e.tell(t, "ada", german[6:]...)
		_, err := e.put(t.Context(), bert, memory.Memory{SubjectID: "ada", Kind: memory.Fact, Text: "secret of another workspace"})
		noError(t, err)
		e.wantFirst(t, "Heißgetränk?", "")
		noError(t, e.Backfiller.Backfill(t.Context()))
		if n := b.vectors(t); n != len(german) {
			t.Fatalf("%d vectors are stored", n)
		}
		found := e.wantFirst(t, "Heißgetränk?", german[0])
		w := found.Results[0].Why
		sum := w.Words + w.Related + w.Together + w.Neighbours + w.Session + w.Speaker + w.Date + w.Answer + w.Meaning + w.Worth
		if w.Meaning <= 0 || math.Abs(sum-found.Results[0].Score) > 1e-5 || found.Degraded || len(found.Results[0].Matched) != 0 {
			t.Errorf("the parts %+v have the sum %v, the score is %v; degraded: %v", w, sum, found.Results[0].Score, found.Degraded)
		}
		e.wantFirst(t, "Quantenphysik?", "")
		b.withModel("m", &model{}).wantFirst(t, "Wohnort?", german[1]) // another process

		if n := m.timesSent("another workspace"); n != 0 {
			t.Errorf("%d texts of a workspace without embeddings were sent", n)
		}
		rows, _, err := b.SubjectReader.AccessLog(t.Context(), anna, "ada", "", 50)
		noError(t, err)
		for _, id := range append(old, "{}") { // the row of a query names no memory
			if !slices.ContainsFunc(rows, func(r *audit.Row) bool { return r.Action == audit.MemoryEmbedded && strings.Contains(r.Details, id) }) {
				t.Errorf("the access log does not say that %s was sent", id)
			}
		}

		text := "Trinkt nur noch Tee"
		_, err = e.Changer.Change(t.Context(), anna, old[0], memory.Change{Text: memory.SetTo(text)}, nil)
		noError(t, err)
		e.wantFirst(t, "Heißgetränk?", "") // the vector of the older text does not count
		noError(t, e.Backfiller.Backfill(t.Context()))
		e.wantFirst(t, "Heißgetränk?", "")
		e.wantFirst(t, "Kater?", german[2])
		if m.timesSent(text) != 1 || m.timesSent(german[5]) != 1 {
			t.Errorf("texts were sent again: %v", m.sent)
		}
		progress, err := b.store.Memories.EmbeddingProgress(t.Context(), "wsp_a", "m/211")
		noError(t, err)
		if progress != (memory.EmbeddingProgress{Subjects: 1, Memories: 12}) {
			t.Errorf("the progress is %+v", progress)
		}
	})
}

func TestAnInterruptedBackfillContinues(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bundle) {
		m := &model{}
		e := b.withModel("m", m)
		var texts []memory.Memory
		for i := range 200 { // one change
			texts = append(texts, memory.Memory{SubjectID: "ada", Kind: memory.Fact, Text: fmt.Sprintf("number %d", i)})
		}
		_, err := e.batch(t.Context(), anna, true, texts...)
		noError(t, err)
		requests := 0
		m.meet = func(batch []string) {
			if requests++; requests == 4 { // one finds out the size of vectors
				m.fails = &embedding.Error{Reason: embedding.Connection}
			}
		}
		if err := e.Backfiller.Backfill(t.Context()); err == nil {
			t.Fatal("no error")
		}
		if n := b.vectors(t); n != 2*embedding.MaxBatch {
			t.Errorf("%d vectors were stored", n)
		}
		m.fail(nil)
		if err := e.Backfiller.Backfill(t.Context()); err == nil {
			t.Error("it was not paused")
		}
		b.pass(time.Second) // the first pause
		noError(t, e.Backfiller.Backfill(t.Context()))
		if n := b.vectors(t); n != len(texts) {
			t.Errorf("%d vectors are stored", n)
		}
		if n := m.timesSent("number "); n != len(texts)+embedding.MaxBatch {
			t.Errorf("%d texts were sent", n)
		}
	})
}

// Two processes, or the two tasks of one, can fill the same subject.
func TestSubjectFilledTwiceAtOnceIsComplete(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bundle) {
		m := &model{}
		e, other := b.withModel("m", m), b.withModel("m", &model{})
		e.tell(t, "ada", german[0])
		noError(t, e.Backfiller.Backfill(t.Context())) // from now on it looks at changed subjects only
		e.tell(t, "ada", german[1])
		m.meet = func([]string) {
			m.meet = nil
			noError(t, other.Backfiller.Backfill(t.Context()))
		}
		noError(t, e.Backfiller.Backfill(t.Context()))
		noError(t, e.Backfiller.Backfill(t.Context()))
		progress, err := b.store.Memories.EmbeddingProgress(t.Context(), "wsp_a", "m/211")
		noError(t, err)
		if progress != (memory.EmbeddingProgress{Subjects: 1, Memories: 2}) || m.timesSent(german[1]) != 1 {
			t.Errorf("the progress is %+v, and the memory was sent %d times", progress, m.timesSent(german[1]))
		}
	})
}

func TestAnotherModelReplacesVectors(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	e := b.withModel("m", &model{})
	e.tell(t, "ada", german...)
	noError(t, e.Backfiller.Backfill(t.Context()))
	e.wantFirst(t, "Heißgetränk?", german[0])
	for name, size := range map[string]int{"m": 241, "n": 211} {
		other := b.withModel(name, &model{size: size})
		other.wantFirst(t, "Heißgetränk?", "")
		noError(t, other.Backfiller.Backfill(t.Context()))
		other.wantFirst(t, "Heißgetränk?", german[0])
	}
}

func TestVectorsAreErasedWithTheirMemories(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bundle) {
		e := b.withModel("m", &model{})
		at := b.now().Add(time.Minute)
		ids := e.tell(t, "ada", german...)
		expiring := b.create(t, memory.Memory{SubjectID: "ada", Kind: memory.Fact, Text: "läuft bald ab", ExpiresAt: &at}).ID
		e.tell(t, "bob", "Kaffee")
		noError(t, e.Backfiller.Backfill(t.Context()))
		if n := b.vectors(t); n != len(ids)+2 {
			t.Fatalf("%d vectors", n)
		}
		c := carve(t, b)
		keys := c.keys(ids[0], ids[1], expiring)
		sealed := [][]byte{}
		rows, err := b.store.Memories.MemoryVectors(t.Context(), "wsp_a", b.lookup.Subject("wsp_a", "ada"), 1, -1, "m/211")
		noError(t, err)
		for _, r := range rows {
			if slices.Contains([]string{ids[0], ids[1], expiring}, r.MemoryID) {
				sealed = append(sealed, r.Sealed)
			}
			if bytes.Contains(r.Sealed, make([]byte, 64)) {
				t.Error("a vector is stored in the clear")
			}
		}
		noError(t, e.Eraser.Delete(t.Context(), anna, ids[0], nil))
		plan, err := e.Forgetter.Plan(t.Context(), anna, memory.Forget{SubjectID: "ada", IDs: ids[1:2]})
		noError(t, err)
		_, err = e.Forgetter.Forget(t.Context(), anna, "ada", plan.ID)
		noError(t, err)
		for range 40 {
			b.pass(time.Minute)
			noError(t, e.Sweeper.Sweep(t.Context(), b.now()))
		}
		if n := b.vectors(t); n != len(ids)-2+1 {
			t.Errorf("%d vectors are left", n)
		}
		c.want("the keys of erased vectors", keys, 0)
		if !b.engine.Shared() { // on PostgreSQL, the bytes stay and do not open
			c.want("erased vectors", sealed, 0)
		}
		e.wantFirst(t, "Heißgetränk?", "")
		_, err = e.SubjectEraser.Erase(t.Context(), anna, "ada")
		noError(t, err)
		if n := b.vectors(t); n != 1 {
			t.Errorf("%d vectors are left after an erasure", n)
		}
	})
}

func TestErasedWhileItsVectorIsMade(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bundle) {
		m := &model{}
		e := b.withModel("m", m)
		ids := e.tell(t, "ada", german...)
		m.meet = func(texts []string) {
			if slices.Contains(texts, german[0]) {
				noError(t, b.Eraser.Delete(t.Context(), anna, ids[0], nil))
				_, err := b.Changer.Change(t.Context(), anna, ids[1], memory.Change{Text: memory.SetTo("neu")}, nil)
				noError(t, err)
			}
		}
		noError(t, e.Backfiller.Backfill(t.Context()))
		rows, err := b.store.Memories.MemoryVectors(t.Context(), "wsp_a", b.lookup.Subject("wsp_a", "ada"), 1, -1, "m/211")
		noError(t, err)
		for _, r := range rows { // the next look finds what has changed
			if r.MemoryID == ids[0] || r.MemoryID == ids[1] && r.Revision != 2 {
				t.Errorf("revision %d of %s has a vector", r.Revision, r.MemoryID)
			}
		}
		if len(rows) != len(ids)-1 || m.timesSent("neu") != 1 {
			t.Errorf("%d vectors, want %d", len(rows), len(ids)-1)
		}
		m.meet = func(texts []string) {
			if slices.Contains(texts, "zuletzt") {
				_, err := b.SubjectEraser.Erase(t.Context(), anna, "ada")
				noError(t, err)
			}
		}
		e.tell(t, "ada", "zuletzt")
		noError(t, e.Backfiller.Backfill(t.Context()))
		if n := b.vectors(t); n != 0 || m.timesSent("zuletzt") != 1 {
			t.Errorf("%d vectors of an erased subject", n)
		}
	})
}

func TestAWorkspaceCanStopAndBeginAgain(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	m := &model{}
	e := b.withModel("m", m)
	var off atomic.Bool
	e = e.with(func(o *memory.Options) {
		o.Embeddings.Uses = func(string) bool { return !off.Load() }
		o.Embeddings.Workspaces = func() []string {
			if off.Load() {
				return nil
			}
			return []string{"wsp_a"}
		}
	})
	e.tell(t, "ada", german[:6]...)
	noError(t, e.Backfiller.Backfill(t.Context()))
	off.Store(true)
	e.tell(t, "ada", german[6:]...)
	noError(t, e.Backfiller.Backfill(t.Context()))
	found, err := e.Recaller.Recall(t.Context(), anna, memory.RecallQuery{SubjectID: "ada", Query: "Reise?"})
	noError(t, err)
	if n := b.vectors(t); n != 6 || m.timesSent("Island") != 0 || m.timesSent("Reise?") != 0 || found.Degraded || len(found.Results) == 0 {
		t.Errorf("%d vectors; sent: %v; found: %+v", n, m.sent, found)
	}
	off.Store(false)
	noError(t, e.Backfiller.Backfill(t.Context()))
	if n := b.vectors(t); n != len(german) || m.timesSent("Kaffee") != 1 {
		t.Errorf("%d vectors; sent: %v", n, m.sent)
	}
}

func TestExpiredMemoriesAreNotSent(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	m := &model{}
	e := b.withModel("m", m)
	at := b.now().Add(time.Minute)
	e.create(t, memory.Memory{SubjectID: "ada", Kind: memory.Fact, Text: "expired", ExpiresAt: &at})
	e.tell(t, "ada", "stays")
	b.pass(time.Minute)
	noError(t, e.Backfiller.Backfill(t.Context()))
	if m.timesSent("expired") != 0 || m.timesSent("stays") != 1 {
		t.Errorf("sent: %v", m.sent)
	}
}

func TestRecallWorksWithoutItsEndpoint(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	m := &model{}
	e := b.withModel("m", m)
	e.tell(t, "ada", german...)
	noError(t, e.Backfiller.Backfill(t.Context()))
	m.fail(&embedding.Error{Reason: embedding.Status})
	for _, query := range []string{"Kaffee?", "Heißgetränk?"} {
		plain, err := b.Recaller.Recall(t.Context(), anna, memory.RecallQuery{SubjectID: "ada", Query: query})
		noError(t, err)
		got, err := e.Recaller.Recall(t.Context(), anna, memory.RecallQuery{SubjectID: "ada", Query: query})
		noError(t, err)
		if !got.Degraded || plain.Degraded || len(got.Results) != len(plain.Results) {
			t.Errorf("%q: degraded %v, %v; %d results, %d without an endpoint", query, got.Degraded, plain.Degraded, len(got.Results), len(plain.Results))
		}
		for i := range plain.Results {
			if got.Results[i].Memory.ID != plain.Results[i].Memory.ID || got.Results[i].Score != plain.Results[i].Score {
				t.Errorf("%q: result %d differs", query, i)
			}
		}
	}
	packed, err := e.Recaller.Context(t.Context(), anna, memory.ContextQuery{RecallQuery: memory.RecallQuery{SubjectID: "ada", Query: "Kaffee?"}})
	noError(t, err)
	if !packed.Degraded {
		t.Error("a context does not say that it is degraded")
	}
	if packed, err = e.Recaller.Context(t.Context(), anna, memory.ContextQuery{RecallQuery: memory.RecallQuery{SubjectID: "ada"}}); err != nil || packed.Degraded {
		t.Errorf("a context without a query is degraded, %v", err)
	}
	nothing, err := e.Recaller.Recall(t.Context(), anna, memory.RecallQuery{SubjectID: "unknown", Query: "Kaffee?"})
	noError(t, err)
	if !nothing.Degraded || len(nothing.Results) != 0 {
		t.Errorf("an unknown subject: %+v", nothing)
	}
}

func TestChangedSubjectsAreFilledAfterThePause(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	m := &model{}
	e := b.withModel("m", m)
	e.tell(t, "ada", german[0])
	noError(t, e.Backfiller.Backfill(t.Context()))
	m.fail(&embedding.Error{Reason: embedding.Connection})
	e.tell(t, "ada", german[1])
	if err := e.Backfiller.FillChanged(t.Context()); err == nil {
		t.Fatal("no error")
	}
	m.fail(nil)
	b.pass(time.Second) // the first pause
	noError(t, e.Backfiller.FillChanged(t.Context()))
	if n := b.vectors(t); n != 2 {
		t.Errorf("%d vectors are stored", n)
	}
}

func TestAWorkspaceThatSendsALotLeavesOthersTheirShare(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bundle) {
		m := &model{}
		e := b.withModel("m", m).with(func(o *memory.Options) {
			o.Embeddings.Client = embedding.NewClient(embedding.Options{
				Encoder: m, Model: "m", DailyTexts: 20, Count: b.store.Memories.CountEmbedded, Now: b.now, Log: slog.New(slog.DiscardHandler),
				Workspaces: func() int { return 2 }, After: func(time.Duration) <-chan time.Time { return nil },
			})
			o.Embeddings.Uses = func(string) bool { return true }
			o.Embeddings.Workspaces = func() []string { return []string{"wsp_a", "wsp_b"} }
		})
		for i := range 30 {
			e.tell(t, fmt.Sprintf("person-%d", i%3), fmt.Sprintf("Nummer %d", i))
		}
		for _, text := range german[:3] {
			_, err := e.put(t.Context(), bert, memory.Memory{SubjectID: "ada", Kind: memory.Fact, Text: text})
			noError(t, err)
		}
		if err := e.Backfiller.Backfill(t.Context()); !errors.Is(err, embedding.ErrLimit) {
			t.Errorf("the back-fill ends with %v", err)
		}
		first, second := m.timesSent("Nummer"), m.timesSent(german[0])+m.timesSent(german[1])+m.timesSent(german[2])
		if first < 10 || first > 14 || second != 3 {
			t.Errorf("%d memories of one workspace were sent, %d of the other", first, second)
		}
		for _, p := range []*auth.Principal{anna, bert} {
			found, err := e.Recaller.Recall(t.Context(), p, memory.RecallQuery{SubjectID: "ada", Query: "Heißgetränk?"})
			noError(t, err)
			if found.Degraded {
				t.Errorf("a query of %s was not sent", p.WorkspaceID)
			}
		}
		rows, _, err := b.SubjectReader.AccessLog(t.Context(), anna, "person-0", "", 50)
		noError(t, err)
		logged := 0
		for _, r := range rows {
			if r.Action == audit.MemoryEmbedded {
				logged += strings.Count(r.Details, "mem_")
			}
		}
		if sent := m.timesSent("Nummer 0") + m.timesSent("Nummer 3") + m.timesSent("Nummer 6") + m.timesSent("Nummer 9"); logged > first || sent > logged {
			t.Errorf("the access log of a person names %d memories, %d of them at least were sent, and %d of the workspace", logged, sent, first)
		}
		b.pass(24 * time.Hour)
		for range 2 { // the rest, as far as the next days allow
			_ = e.Backfiller.Backfill(t.Context())
			b.pass(24 * time.Hour)
		}
		noError(t, e.Backfiller.Backfill(t.Context()))
		for i := range 30 {
			if n := m.timesSent(fmt.Sprintf("Nummer %d", i)); n < 1 {
				t.Errorf("memory %d was never sent", i)
			}
		}
	})
}
