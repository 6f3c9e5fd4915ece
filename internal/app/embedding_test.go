package app_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/testing/await"
)

// embeddingsKey is the key of the endpoint of the tests.
const embeddingsKey = "sk-canary-embeddings"

// vectorServer is an embeddings endpoint on a free port. Its vectors have one dimension for each word, and it knows that some
// words mean the same.
type vectorServer struct {
	*httptest.Server
	mu       sync.Mutex
	requests int
	texts    []string
	wrongKey int
	broken   http.HandlerFunc // answers instead, if not nil
}

var sameMeaning = map[string]string{"heißgetränk": "kaffee", "wohnort": "lissabon"}

func serveVectors(t *testing.T) *vectorServer {
	t.Helper()
	s := &vectorServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Model string
			Input []string
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.URL.Path != "/v1/embeddings" || body.Model != "test-model" {
			t.Errorf("%s of the model %q: %v", r.URL.Path, body.Model, err)
		}
		s.mu.Lock()
		s.requests++
		s.texts = append(s.texts, body.Input...)
		if r.Header.Get("Authorization") != "Bearer "+embeddingsKey {
			s.wrongKey++
		}
		broken := s.broken
		s.mu.Unlock()
		if broken != nil {
			broken(w, r)
			return
		}
		var data []map[string]any
		for i, text := range body.Input {
			v := make([]float64, 311)
			for word := range strings.FieldsSeq(strings.ToLower(strings.Trim(text, "?.!"))) {
				if other := sameMeaning[word]; other != "" {
					word = other
				}
				h := fnv.New32a()
				h.Write([]byte(word))
				v[h.Sum32()%250]++ // the last ones are cut off
			}
			data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": v})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data, "model": body.Model})
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *vectorServer) set(c *config.Config) {
	c.Embeddings = config.Embeddings{
		URL: s.URL + "/v1", Model: "test-model", Key: embeddingsKey, AllowPrivate: true, DailyTexts: 10_000, Patience: c.Embeddings.Patience,
	}
}

func (s *vectorServer) breakBy(broken http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = broken
}

func (s *vectorServer) got() (requests int, texts []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, slices.Clone(s.texts)
}

var aboutAda = []string{
	"Trinkt morgens schwarzen Kaffee", "Zog letztes Jahr nach Lissabon", "Der Kater heißt Felix", "Arbeitet als Lehrerin an einer Schule",
	"Fährt jeden Samstag Fahrrad", "Spielt seit der Kindheit Geige", "Isst kein Fleisch", "Liest am liebsten Krimis", "Hat zwei Brüder in Hamburg",
	"Lernt gerade Portugiesisch", "Schläft schlecht bei Vollmond", "Plant eine Reise durch Island",
}

// embeddingTenant is a workspace with memories of the subject ada.
func embeddingTenant(t *testing.T, p *apptest.Running, name string, texts ...string) (*tenant, *client.Client) {
	t.Helper()
	n := newTenant(t, p, name, name)
	c, err := client.New(p.URL, n.key)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if _, err := c.CreateMemory(t.Context(), client.NewMemory{SubjectID: "ada", Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	return n, c
}

// useEmbeddings sets a workspace to use the endpoint and waits until its memories have vectors.
func useEmbeddings(t *testing.T, p *apptest.Running, workspaceID string) {
	t.Helper()
	operator, err := client.New(p.URL, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	w, err := operator.ChangeWorkspace(t.Context(), workspaceID, client.WorkspaceChange{Embeddings: client.To(true)}, nil)
	if err != nil || !w.Embeddings {
		t.Fatalf("got %+v, %v", w, err)
	}
	awaitVectors(t, operator)
}

// awaitVectors waits until the memories of the only workspace that uses the endpoint have vectors.
func awaitVectors(t *testing.T, operator *client.Client) {
	t.Helper()
	await.Until(t, "all memories have vectors", func() bool {
		stats, err := operator.CacheStats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		e := stats.Embeddings
		return e.State == "ready" && e.Progress != nil && e.Progress.Workspaces == 1 && e.Progress.Memories > 0 && e.Progress.WaitingMemories == 0
	})
}

func recallFirst(t *testing.T, c *client.Client, query string) (first string, degraded []string) {
	t.Helper()
	found, err := c.Recall(t.Context(), client.RecallQuery{SubjectID: "ada", Query: query})
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Results) > 0 {
		first = found.Results[0].Memory.Text
	}
	return first, found.Degraded
}

func TestAnEndpointHelpsTheWorkspacesThatUseIt(t *testing.T) {
	t.Parallel()
	server := serveVectors(t)
	log := &apptest.Buffer{}
	p := apptest.Start(t, apptest.With(server.set), apptest.Log(log))
	alpha, c := embeddingTenant(t, p, "alpha", aboutAda...)
	_, other := embeddingTenant(t, p, "beta", "Ein Geheimnis von Beta", "Mag Kaffee")
	if first, _ := recallFirst(t, c, "Heißgetränk?"); first != "" {
		t.Errorf("without the endpoint, %q is found", first)
	}
	useEmbeddings(t, p, alpha.workspace)
	if first, degraded := recallFirst(t, c, "Heißgetränk?"); first != aboutAda[0] || len(degraded) > 0 {
		t.Errorf("%q is found, degraded %v", first, degraded)
	}
	packed, err := c.Context(t.Context(), client.ContextQuery{SubjectID: "ada", Query: "Wohnort?", Limit: 1})
	if err != nil || !strings.Contains(packed.Text, aboutAda[1]) || len(packed.Degraded) > 0 {
		t.Errorf("the context is %+v, %v", packed, err)
	}
	if first, degraded := recallFirst(t, other, "Kaffee?"); first != "Mag Kaffee" || len(degraded) > 0 {
		t.Errorf("another workspace finds %q, degraded %v", first, degraded)
	}
	_, texts := server.got()
	sent := map[string]int{}
	for _, text := range texts {
		sent[text]++
	}
	for _, text := range append(aboutAda, "Wohnort?") {
		if sent[text] != 1 {
			t.Errorf("%q was sent %d times", text, sent[text])
		}
	}
	if sent["Heißgetränk?"] != 1 || sent["Ein Geheimnis von Beta"]+sent["Mag Kaffee"]+sent["Kaffee?"] != 0 || server.wrongKey != 0 {
		t.Errorf("sent: %v; %d requests with another key", sent, server.wrongKey)
	}
	rows, err := c.AccessLog(t.Context(), "ada", 50, "")
	if err != nil {
		t.Fatal(err)
	}
	embedded := 0
	for _, r := range rows.Items {
		if r.Action == "memory.embedded" {
			embedded++
		}
	}
	if embedded < 3 {
		t.Errorf("the access log has %d rows about the endpoint", embedded)
	}
	if _, err := c.EraseSubject(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	if first, _ := recallFirst(t, c, "Heißgetränk?"); first != "" {
		t.Errorf("%q is found after an erasure", first)
	}
	res, err := http.Get(p.BackendURL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	metrics, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(metrics), `keepsake_embeddings_texts_total{kind="memories"} 1`) {
		t.Errorf("the metrics do not count texts, %v", err)
	}
	for _, word := range []string{"Kaffee", "Heißgetränk", embeddingsKey, server.URL} {
		if strings.Contains(log.String(), word) || strings.Contains(string(metrics), word) {
			t.Errorf("the log or the metrics contain %q", word)
		}
	}
}

func TestABrokenEndpointLeavesRecallAsItWas(t *testing.T) {
	t.Parallel()
	server := serveVectors(t)
	log := &apptest.Buffer{}
	clock := apptest.NewClock(time.Now())
	p := apptest.Start(t, apptest.With(server.set), apptest.Log(log), apptest.Clock(clock.Now))
	alpha, c := embeddingTenant(t, p, "alpha", aboutAda...)
	useEmbeddings(t, p, alpha.workspace)

	says := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	vector := func(numbers ...string) string {
		return fmt.Sprintf(`{"data":[{"index":0,"embedding":[%s]}]}`, strings.Join(numbers, ","))
	}
	reached := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	t.Cleanup(elsewhere.Close)
	for name, broken := range map[string]http.HandlerFunc{
		"nonsense": says(200, "canary <html>"), "no vectors": says(200, `{"data":[]}`), "another length": says(200, vector("1", "2", "3")),
		"NaN": says(200, vector("NaN")), "null": says(200, vector("null")), "zeros": says(200, vector(strings.Split(strings.Repeat("0 ", 310)+"0", " ")...)),
		"two vectors": says(200, `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1]}]}`),
		"an error":    says(500, "canary"), "too many requests": says(429, "canary"), "a wrong key": says(401, "canary"), "refused": says(400, "canary"),
		"a huge body": func(w http.ResponseWriter, _ *http.Request) {
			for range 1 << 10 {
				if _, err := io.WriteString(w, strings.Repeat(" ", 1<<16)); err != nil {
					return
				}
			}
		},
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		},
		"cut off":      func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"half of JSON": says(200, `{"data":[{"index":0,"embedding":[0.1,`),
	} {
		clock.Advance(2 * time.Hour) // no pause lasts as long
		server.breakBy(broken)
		before, _ := server.got()
		first, degraded := recallFirst(t, c, "Kaffee?")
		if after, _ := server.got(); after == before {
			t.Errorf("%s: the endpoint was not asked", name)
		}
		if first != aboutAda[0] || !slices.Equal(degraded, []string{"embeddings"}) {
			t.Errorf("%s: %q is found, degraded %v", name, first, degraded)
		}
		packed, err := c.Context(t.Context(), client.ContextQuery{SubjectID: "ada", Query: "Kaffee?"})
		if err != nil || !slices.Equal(packed.Degraded, []string{"embeddings"}) || !strings.Contains(packed.Text, aboutAda[0]) {
			t.Errorf("%s: the context is %+v, %v", name, packed, err)
		}
	}
	if reached {
		t.Error("a redirect was followed")
	}
	if strings.Contains(log.String(), "canary") {
		t.Errorf("the log contains what the endpoint said:\n%s", log.String())
	}
	clock.Advance(2 * time.Hour)
	server.breakBy(nil)
	if first, degraded := recallFirst(t, c, "Heißgetränk?"); first != aboutAda[0] || len(degraded) > 0 {
		t.Errorf("when it works again, %q is found, degraded %v", first, degraded)
	}
}

func TestASilentEndpointIsLeftOut(t *testing.T) {
	t.Parallel()
	server := serveVectors(t)
	p := apptest.Start(t, apptest.With(server.set), apptest.With(func(c *config.Config) {
		c.Embeddings.Patience = config.Default().Embeddings.Patience
	}))
	alpha, c := embeddingTenant(t, p, "alpha", aboutAda...)
	useEmbeddings(t, p, alpha.workspace)
	server.breakBy(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for range 4 { // the last one is not sent any more
		if first, degraded := recallFirst(t, c, "Kaffee?"); first != aboutAda[0] || !slices.Equal(degraded, []string{"embeddings"}) {
			t.Errorf("%q is found, degraded %v", first, degraded)
		}
	}
}

func TestAPrivateEndpointMustBeAllowed(t *testing.T) {
	t.Parallel()
	server := serveVectors(t)
	p := apptest.Start(t, apptest.With(func(c *config.Config) {
		server.set(c)
		c.Embeddings.AllowPrivate = false // the check of settings would also demand https
	}), apptest.Clock(apptest.NewClock(time.Now()).Now)) // the pause does not end
	alpha, c := embeddingTenant(t, p, "alpha", aboutAda...)
	operator, err := client.New(p.URL, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := operator.ChangeWorkspace(t.Context(), alpha.workspace, client.WorkspaceChange{Embeddings: client.To(true)}, nil); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the endpoint is paused", func() bool {
		stats, err := operator.CacheStats(t.Context())
		return err == nil && stats.Embeddings.State == "paused" && stats.Embeddings.Progress.WaitingMemories >= int64(len(aboutAda))
	})
	if first, degraded := recallFirst(t, c, "Kaffee?"); first != aboutAda[0] || len(degraded) != 1 {
		t.Errorf("%q is found, degraded %v", first, degraded)
	}
	if n, _ := server.got(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}
