package consoletest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/govern/account"
	"keepsake/internal/testing/await"
)

// encoder is an embeddings endpoint.
type encoder struct {
	*httptest.Server
	broken atomic.Bool
}

func serveEncoder(t *testing.T) *encoder {
	t.Helper()
	e := &encoder{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Model string   `json:"model"`
			Input []string `json:"input"`
		}
		if e.broken.Load() || json.NewDecoder(r.Body).Decode(&body) != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		var data []map[string]any
		for i, text := range body.Input {
			vector := make([]float64, 16)
			vector[len(text)%len(vector)] = 1
			data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": vector})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data, "model": body.Model})
	}))
	t.Cleanup(e.Close)
	return e
}

// with sets the endpoint, and how many texts it gets in a day.
func (e *encoder) with(dailyTexts int64) func(*config.Config) {
	return func(c *config.Config) {
		c.Embeddings = config.Embeddings{
			URL: e.URL + "/v1", Model: "test-model", AllowPrivate: true, DailyTexts: dailyTexts, Patience: c.Embeddings.Patience,
		}
	}
}

func remember(t *testing.T, c *client.Client, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if _, err := c.CreateMemory(t.Context(), client.NewMemory{SubjectID: "ada", Text: text}); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	between = regexp.MustCompile(`>\s+<`)
	tags    = regexp.MustCompile(`<[^>]*>`)
)

// words is the text of a page without its tags.
func (p page) words() string {
	return strings.Join(strings.Fields(tags.ReplaceAllString(between.ReplaceAllString(p.text, "> <"), " ")), " ")
}

// showsEmbeddings fails the test unless the page about the system says all of some texts.
func (v *visitor) showsEmbeddings(texts ...string) {
	v.t.Helper()
	shown := v.get("/console/system").want(v.t, 200).words()
	for _, text := range texts {
		if !strings.Contains(shown, text) {
			v.t.Errorf("the system lacks %q: %s", text, shown)
		}
	}
}

// awaitEmbeddings waits for a state of the endpoint.
func awaitEmbeddings(t *testing.T, c *client.Client, what string, holds func(client.EmbeddingState) bool) {
	t.Helper()
	await.Until(t, what, func() bool {
		stats, err := c.CacheStats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return holds(stats.Embeddings)
	})
}

func TestAWorkspaceUsesTheEmbeddingsEndpoint(t *testing.T) {
	t.Parallel()
	e := serveEncoder(t)
	p := apptest.Start(t, apptest.With(e.with(1000)))
	c := operator(t, p)
	remember(t, c, "Prefers tea to coffee.", "Lives in Bergen.", "Has two cats.")
	v := admin(t, p)
	path := "/console/workspaces/" + p.Workspace
	v.showsEmbeddings("Embeddings endpoint ready", "0 workspaces", "0 of 0", "Texts today 0 of 1k")

	got := v.get(path).want(t, 200, path+"/embeddings", "Use the endpoint", `{&#34;embeddings&#34;:true}`)
	if text := got.words(); !strings.Contains(text, "Embeddings endpoint off") || strings.Contains(text, "No endpoint is set") {
		t.Errorf("the workspace shows %s", text)
	}
	v.get(path+"/embeddings").want(t, 200, "The texts leave this machine", "curl -X PATCH", p.Workspace)
	v.post(path+"/embeddings", url.Values{"embeddings": {"true"}}).want(t, 303)
	if w, err := c.WorkspaceRecord(t.Context(), p.Workspace); err != nil || !w.Embeddings {
		t.Fatalf("got %+v, %v", w, err)
	}
	awaitEmbeddings(t, c, "the memories have vectors", func(e client.EmbeddingState) bool {
		return e.Progress != nil && e.Progress.Memories == 3 && e.Progress.WaitingMemories == 0
	})
	stats, err := c.CacheStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	v.showsEmbeddings("1 workspace", "3 of 3", fmt.Sprintf("Texts today %d of 1k", stats.Embeddings.Progress.TextsToday),
		fmt.Sprintf("%d texts of memories, 0 questions", stats.Embeddings.SentMemories))

	got = v.get(path).want(t, 200, "Stop sending texts", `{&#34;embeddings&#34;:false}`)
	if text := got.words(); !strings.Contains(text, "Embeddings endpoint on") {
		t.Errorf("the workspace shows %s", text)
	}
	v.post(path+"/embeddings", url.Values{"embeddings": {"false"}}).want(t, 303)
	if w, err := c.WorkspaceRecord(t.Context(), p.Workspace); err != nil || w.Embeddings {
		t.Fatalf("got %+v, %v", w, err)
	}
}

func TestABrokenEmbeddingsEndpointIsShown(t *testing.T) {
	t.Parallel()
	e := serveEncoder(t)
	e.broken.Store(true)
	p := apptest.Start(t, apptest.With(e.with(1000)))
	c := operator(t, p)
	remember(t, c, "Prefers tea to coffee.", "Lives in Bergen.")
	v := admin(t, p)
	v.post("/console/workspaces/"+p.Workspace+"/embeddings", url.Values{"embeddings": {"true"}}).want(t, 303)
	awaitEmbeddings(t, c, "the endpoint is paused", func(e client.EmbeddingState) bool { return e.State == "paused" })
	v.showsEmbeddings("Embeddings endpoint paused", "embeddings is degraded. Recall works by words", "0 of 2", "2 of 1 person wait")
}

func TestTheDailyLimitOfTheEmbeddingsEndpointIsShown(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t, apptest.With(serveEncoder(t).with(1)))
	c := operator(t, p)
	remember(t, c, "Prefers tea to coffee.", "Lives in Bergen.")
	v := admin(t, p)
	v.post("/console/workspaces/"+p.Workspace+"/embeddings", url.Values{"embeddings": {"true"}}).want(t, 303)
	awaitEmbeddings(t, c, "the limit is reached", func(e client.EmbeddingState) bool { return e.State == "limited" })
	v.showsEmbeddings("Embeddings endpoint limited", "The limit of the day, or the share of a workspace, is reached")
}

func TestWithoutAnEmbeddingsEndpointTheSwitchSaysSo(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	v := admin(t, p)
	if text := v.get("/console/system").want(t, 200, "/docs/guides/settings#an-embeddings-endpoint").words(); !strings.Contains(text, "Embeddings endpoint off No endpoint is set") {
		t.Errorf("the system shows %s", text)
	}
	v.get("/docs/guides/settings").want(t, 200, `id="an-embeddings-endpoint"`)
	path := "/console/workspaces/" + p.Workspace
	v.get(path).want(t, 200, "No endpoint is set")
	v.get(path+"/embeddings").want(t, 200, "No endpoint is set")
	v.post("/console/workspaces/wsp_00000000000000000000000000/embeddings", url.Values{"embeddings": {"true"}}).want(t, 404)

	tenant := tenant(t, p, "pro", "admin")
	tenant.get(path+"/embeddings").want(t, 403)
	tenant.post(path+"/embeddings", url.Values{"embeddings": {"true"}}).want(t, 403)
}

func TestTheSystemPageShowsWhatIsInEffect(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	admin(t, p).get("/console/system").want(t, 200, "In effect", "none was made with", "master.key", "before the response is sent", "kept for 7 days",
		"v1 (active)", "audit.readRetentionDays")
	other := tenant(t, p, "free", string(account.RoleAdmin)).get("/console/system").want(t, 403)
	if strings.Contains(other.text, "master.key") {
		t.Error("another workspace sees the settings of the instance")
	}
}
