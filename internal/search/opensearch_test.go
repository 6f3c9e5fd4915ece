package search_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"keepsake/internal/search"
	"keepsake/internal/search/document"
	"keepsake/internal/search/index"
	"keepsake/internal/search/opensearch"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

// searchVariable, set to opensearch, lets the tests of this package search in OpenSearch.
const searchVariable = "KEEPSAKE_TEST_SEARCH"

// shardsVariable is how many shards the indexes there have.
const shardsVariable = "KEEPSAKE_TEST_SHARDS"

func shards() int {
	if n, err := strconv.Atoi(os.Getenv(shardsVariable)); err == nil {
		return n
	}
	return 1
}

func inOpenSearch() bool { return os.Getenv(searchVariable) == "opensearch" }

// follower writes the changes of workspaces to OpenSearch when they are searched.
type follower struct {
	t      testing.TB
	source search.IndexerOptions
	client *opensearch.Client
	writer *opensearch.Writer
	prefix string
	shards int

	mu      sync.Mutex
	written map[string]*followed
}

type followed struct {
	last    int64
	words   map[string]bool
	answers *opensearch.Answers
}

func newFollower(t testing.TB, source search.IndexerOptions, shards int) *follower {
	t.Helper()
	client, err := opensearch.NewClient(opensearch.ClientOptions{URL: enginetest.OpenSearch(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &follower{
		t: t, source: source, client: client, writer: opensearch.NewWriter(index.NewLexicon()), prefix: strings.ToLower(rand.Text()) + "-",
		shards: shards, written: map[string]*followed{},
	}
}

func (f *follower) Has(context.Context, string) (bool, error) { return true, nil }

func (f *follower) State(ctx context.Context, workspaceID string) (document.State, error) {
	return f.source.Source.DocumentState(ctx, workspaceID)
}

func (f *follower) Open(ctx context.Context, workspaceID string, state document.State) (search.Reader, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	documents := f.prefix + strings.ToLower(workspaceID)
	words := documents + ".words"
	w := f.written[workspaceID]
	if w == nil {
		w = &followed{words: map[string]bool{}, answers: opensearch.NewAnswers()}
		f.written[workspaceID] = w
		for name, body := range map[string][]byte{documents: opensearch.DocumentsIndex(f.shards, 0), words: opensearch.WordsIndex(0)} {
			if _, err := f.client.Do(ctx, http.MethodPut, "/"+name, body); err != nil {
				return nil, err
			}
		}
		f.t.Cleanup(func() {
			for _, name := range []string{documents, words} {
				if _, err := f.client.Do(context.WithoutCancel(ctx), http.MethodDelete, "/"+name, nil); err != nil {
					f.t.Error(err)
				}
			}
		})
	}
	if w.last < state.Change {
		if err := f.write(ctx, workspaceID, documents, words, w); err != nil {
			return nil, err
		}
	}
	return opensearch.NewReader(ctx, f.client, documents, words, w.answers), nil
}

func (f *follower) write(ctx context.Context, workspaceID, documents, words string, w *followed) error {
	var lines, dictionary []byte
	changes, last, err := search.ChangesOf(ctx, f.source, workspaceID, w.last)
	if err != nil {
		return err
	}
	w.answers, w.last = w.answers.Next(w.last, last), last
	for _, c := range changes {
		if c.Document == nil {
			lines = fmt.Appendf(lines, "{\"delete\":{\"_id\":%q}}\n", c.ID)
			continue
		}
		body, added := f.writer.Document(c.ID, c.Document)
		lines = append(append(fmt.Appendf(lines, "{\"index\":{\"_id\":%q}}\n", c.ID), body...), '\n')
		for _, word := range added {
			if !w.words[word] {
				w.words[word] = true
				dictionary = append(append(fmt.Appendf(dictionary, "{\"index\":{\"_id\":%q}}\n", word), opensearch.Word(word)...), '\n')
			}
		}
	}
	for name, body := range map[string][]byte{documents: lines, words: dictionary} {
		if len(body) == 0 {
			continue
		}
		answer, err := f.client.Do(ctx, http.MethodPost, "/"+name+"/_bulk?refresh=true", body)
		if err != nil {
			return err
		}
		if strings.Contains(string(answer), `"errors":true`) {
			return fmt.Errorf("bulk: %s", answer)
		}
	}
	return nil
}

// ofThisProcess skips a test about indexes of this process while the others search in OpenSearch.
func ofThisProcess(t *testing.T) {
	t.Helper()
	if inOpenSearch() {
		t.Skip("this test is about indexes of this process")
	}
}

// Every other test of this package also holds for documents in OpenSearch, whatever the number of shards.
func TestAllTestsHoldInOpenSearch(t *testing.T) {
	t.Parallel()
	ofThisProcess(t)
	testtier.Long(t, "runs all tests of the package again")
	url := enginetest.OpenSearch(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, shards := range []string{"1", "3"} {
		cmd := exec.CommandContext(t.Context(), program, "-rapid.checks=10", "-test.parallel=8", "-test.timeout=10m")
		cmd.Env = append(os.Environ(), searchVariable+"=opensearch", enginetest.OpenSearchVariable+"="+url, shardsVariable+"="+shards)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s shards: %v\n%s", shards, err, out)
		}
	}
}

// A search asks together what it can ask together, and after a change of documents, what it asked before.
func TestASearchAsksOpenSearchFewTimes(t *testing.T) {
	t.Parallel()
	ofThisProcess(t)
	b := setup(t)
	f := newFollower(t, search.IndexerOptions{Source: b.store.Documents, Settings: b.store.Documents}, 1)
	target, err := url.Parse(enginetest.OpenSearch(t))
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "search") || strings.HasSuffix(r.URL.Path, "_termvectors") {
			asked.Add(1)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	client, err := opensearch.NewClient(opensearch.ClientOptions{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	f.client = client
	b.search.SetElsewhere(f)
	put := func(id, text string) {
		t.Helper()
		if _, _, err := b.documents.Put(t.Context(), "wsp_1", id, document.Fields{Text: text}, document.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 20 {
		put(fmt.Sprint("d", n), fmt.Sprintf("a sandstone and a milestone, %d limestones, sand of lime stone and cobblestones", n))
	}
	put("rare", "a marblestone and a gravestone")
	put("first", "a pebble")
	for _, step := range []struct {
		what, query string
		write       string // of a document before
		total       int64
		most        int64
	}{
		{"the first search of all", "pebble", "", 1, 3},
		{"two words", "sandstone milestone", "", 20, 4},
		{"again", "sandstone milestone", "", 20, 1},
		{"two rare words", "marblestone gravestone", "", 1, 4},
		{"a misspelled word", "limestoen", "", 20, 5},
		{"two words after a write", "sandstone milestone", "d1", 20, 3},
		{"a misspelled word after a write", "limestoen", "d2", 20, 3},
		{"two words after a deletion", "sandstone milestone", "-d3", 19, 3},
	} {
		switch id, deleted := strings.CutPrefix(step.write, "-"); {
		case deleted:
			if err := b.documents.Delete(t.Context(), "wsp_1", id, nil); err != nil {
				t.Fatal(err)
			}
		case id != "":
			put(id, "a sandstone, a milestone and limestones")
		}
		asked.Store(0)
		answer, err := b.search.Search(t.Context(), "wsp_1", search.Request{Query: step.query, Repair: true})
		if err != nil {
			t.Fatal(err)
		}
		if answer.Total != step.total {
			t.Errorf("%s: %d documents are found, want %d", step.what, answer.Total, step.total)
		}
		if n := asked.Load(); n > step.most {
			t.Errorf("%s: OpenSearch is asked %d times, want at most %d", step.what, n, step.most)
		}
	}
}
