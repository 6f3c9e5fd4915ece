package opensearch_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"keepsake/internal/search/index"
	"keepsake/internal/search/opensearch"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
)

// site is a workspace in a cluster.
type site struct {
	t      *testing.T
	url    string
	prefix string
	client *opensearch.Client
	source *table
	ready  *opensearch.Readiness
	now    func() time.Time
}

const workspace = "wsp_1"

var sites atomic.Int64

func newSite(t *testing.T, url string) *site {
	t.Helper()
	s := &site{t: t, url: url, prefix: fmt.Sprintf("k%d-", sites.Add(1)), source: newTable(), now: time.Now}
	s.client = newClient(t, opensearch.ClientOptions{URL: url})
	s.ready = opensearch.NewReadiness(s.client, s.prefix, s.source.State, time.Minute)
	t.Cleanup(func() {
		if all, err := s.client.Do(context.Background(), "GET", "/"+s.prefix+"*", nil); err == nil {
			var indexes map[string]any
			_ = json.Unmarshal(all, &indexes)
			for name := range indexes {
				_, _ = s.client.Do(context.Background(), "DELETE", "/"+name, nil)
			}
		}
	})
	return s
}

// follower starts one, which sends its requests to a URL.
func (s *site) follower(url string) (f *opensearch.Follower, stop func()) {
	s.t.Helper()
	f = opensearch.NewFollower(opensearch.FollowerOptions{
		Client: newClient(s.t, opensearch.ClientOptions{URL: url, Timeout: 20 * time.Second}), Prefix: s.prefix, Owner: "this", Source: s.source,
		Writer: opensearch.NewWriter(index.NewLexicon()), Log: slog.New(slog.DiscardHandler), Now: s.now, Poll: 20 * time.Millisecond,
	})
	f.Follow([]string{workspace})
	return f, running(s.t, f.Run)
}

// found returns the IDs of the documents that a search finds now, after it has waited for all changes.
func (s *site) found() []string {
	s.t.Helper()
	last, _ := s.source.State(s.t.Context(), workspace)
	if err := s.ready.Wait(s.t.Context(), workspace, last); err != nil {
		s.t.Fatal(err)
	}
	return s.search()
}

func (s *site) search() (ids []string) {
	s.t.Helper()
	documents, _ := s.ready.Alias(workspace)
	body := s.do("POST", "/"+documents+"/_search?preference=_primary", `{"size":10000,"query":{"exists":{"field":"updated"}},"_source":false}`)
	var answer struct {
		Hits struct {
			Hits []struct {
				ID string `json:"_id"`
			} `json:"hits"`
		} `json:"hits"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		s.t.Fatal(err)
	}
	for _, h := range answer.Hits.Hits {
		ids = append(ids, h.ID)
	}
	slices.Sort(ids)
	return ids
}

func (s *site) do(method, path, body string) []byte {
	s.t.Helper()
	answer, err := s.client.Do(s.t.Context(), method, path, []byte(body))
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer
}

// same wants that a search finds exactly the documents.
func (s *site) same(when string) {
	s.t.Helper()
	if got, want := s.found(), s.source.live(); !slices.Equal(got, want) {
		s.t.Errorf("%s: found %v, want %v", when, got, want)
	}
}

// index returns the name of the index that searches read.
func (s *site) index() string {
	s.t.Helper()
	documents, _ := s.ready.Alias(workspace)
	var aliases map[string]any
	if err := json.Unmarshal(s.do("GET", "/_alias/"+documents, ""), &aliases); err != nil || len(aliases) != 1 {
		s.t.Fatalf("aliases %v, %v", aliases, err)
	}
	return slices.Collect(maps.Keys(aliases))[0]
}

func (s *site) until(what string, f *opensearch.Follower, ok func(p opensearch.Progress) bool) {
	s.t.Helper()
	await.Until(s.t, what, func() bool { return ok(f.Progress()[workspace]) })
}

func TestAnIndexFollowsTheChanges(t *testing.T) {
	t.Parallel()
	s := newSite(t, enginetest.OpenSearch(t))
	for n := range 300 {
		s.source.put(fmt.Sprint("d", n), "a text about foxes")
	}
	_, stop := s.follower(s.url)
	s.same("after an import")
	s.source.put("d1", "another text")
	s.source.remove("d2")
	s.same("after a change and a deletion")
	stop()
	s.source.remove("d3")
	s.source.put("d2", "is there again")
	s.follower(s.url)
	s.same("after a restart")
}

// A follower whose request waits while the document is deleted, and while OpenSearch forgets versions of deletions.
func TestALateRequestBringsNothingBack(t *testing.T) {
	t.Parallel()
	s := newSite(t, enginetest.OpenSearch(t))
	s.source.put("a", "the first")
	_, stop := s.follower(s.url)
	s.same("before")
	stop()

	// The next bulk of documents waits.
	target, _ := url.Parse(s.url)
	proxy := httputil.NewSingleHostReverseProxy(target)
	waiting, release, late := make(chan struct{}), make(chan struct{}), make(chan struct{})
	arrived, answered := sync.OnceFunc(func() { close(waiting) }), sync.OnceFunc(func() { close(late) })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "_bulk") && !strings.Contains(r.URL.Path, ".words") {
			arrived()
			<-release
			defer answered()
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.source.put("a", "the second")
	s.source.put("b", "the only one")
	_, stopSlow := s.follower(server.URL)
	<-waiting
	s.source.remove("b")
	s.source.remove("a")
	_, stop = s.follower(s.url)
	s.same("after the deletions")
	// The least time: what was deleted in OpenSearch itself is forgotten at once.
	s.do("PUT", "/"+s.index()+"/_settings", `{"index.gc_deletes":"0s"}`)
	s.do("POST", "/"+s.index()+"/_flush?force=true", "")
	close(release)
	<-late
	stopSlow()
	s.source.put("c", "later")
	s.same("after the late request")
	stop()
}

func TestTwoThatFollowDisturbNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, enginetest.OpenSearch(t))
	s.follower(s.url)
	s.follower(s.url)
	for n := range 200 {
		s.source.put(fmt.Sprint("d", n%50), fmt.Sprint("text ", n))
		if n%7 == 0 {
			s.source.remove(fmt.Sprint("d", n%11))
		}
		if n%20 == 0 {
			s.same("while both follow")
		}
	}
	s.same("at the end")
}

// The database loses its last 20 changes, and then gets as many, fewer or more others before the index is followed again.
func TestLostChangesVanish(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		later int
	}{{"fewer", 1}, {"as many", 20}, {"more", 30}} {
		for _, runs := range []bool{true, false} {
			name := c.name + " meanwhile"
			if !runs {
				name = c.name + " while none follows"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newSite(t, enginetest.OpenSearch(t))
				s.source.put("a", "old")
				s.source.put("b", "old")
				backup := s.source.backup()
				_, stop := s.follower(s.url)
				for n := range 20 {
					s.source.put(fmt.Sprint("lost", n), "lost")
				}
				s.same("before")
				if !runs {
					stop()
				}
				s.source.lose(backup, func(put func(id, text string)) {
					for range c.later {
						put("c", "new") // a single row has all of the numbers
					}
				})
				if !runs {
					s.follower(s.url)
				}
				s.same("after the loss")
			})
		}
	}
}

// The database loses a change that is being stored in the index, and the process is killed before it knows.
func TestAChangeThatIsLostWhileItIsStoredVanishes(t *testing.T) {
	t.Parallel()
	s := newSite(t, enginetest.OpenSearch(t))
	s.source.put("a", "old")
	stored := make(chan struct{})
	target, _ := url.Parse(s.url)
	proxy := httputil.NewSingleHostReverseProxy(target)
	var failing atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		documents := !strings.Contains(r.URL.Path, ".words")
		if failing.Load() && r.Method == "PUT" && documents && strings.Contains(r.URL.Path, "position") {
			w.WriteHeader(http.StatusServiceUnavailable) // the last step
			select {
			case stored <- struct{}{}:
			case <-r.Context().Done():
			}
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	_, stop := s.follower(server.URL)
	s.same("before")
	backup := s.source.backup()
	failing.Store(true)
	s.source.put("lost", "lost")
	<-stored
	stop()
	s.source.lose(backup, func(put func(id, text string)) {
		put("c", "new")
		put("c", "new again")
	})
	s.follower(s.url)
	s.same("after the loss")
}

func TestAnIndexThatWasChangedByHandIsMadeAnew(t *testing.T) {
	t.Parallel()
	s := newSite(t, enginetest.OpenSearch(t))
	s.source.put("a", "text")
	s.follower(s.url)
	s.same("before")
	s.do("DELETE", "/"+s.index(), "")
	s.source.put("b", "text")
	s.same("after the index was deleted")
	if mapping := string(s.do("GET", "/"+s.index()+"/_mapping", "")); !strings.Contains(mapping, `"dynamic":"strict"`) {
		t.Errorf("the mapping is %s", mapping)
	}
	documents, _ := s.ready.Alias(workspace)
	s.do("POST", "/_aliases", `{"actions":[{"remove":{"index":"`+s.index()+`","alias":"`+documents+`"}}]}`)
	s.ready.Forget(workspace)
	s.source.put("c", "text")
	s.source.setLabel("") // looks at the indexes
	s.same("after the alias was deleted")

	before := s.index()
	s.do("PUT", "/"+before+"/_mapping", `{"properties":{"mine":{"type":"keyword"}}}`)
	s.source.setLabel("")
	await.Until(t, "another index answers", func() bool {
		all, err := s.client.Do(t.Context(), "GET", "/_alias/"+documents, nil)
		return err == nil && !strings.Contains(string(all), `"`+before+`"`)
	})
	s.same("after the mapping was changed")
}

func TestOtherSettingsIndexEverythingAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, enginetest.OpenSearch(t))
	s.source.put("a", "text")
	f, _ := s.follower(s.url)
	s.same("before")
	before := s.index()
	s.source.setLabel("german")
	s.until("it is replaced", f, func(p opensearch.Progress) bool { return p.Filling == -1 && p.Position == 2 && s.index() != before })
	s.same("after")
}

func TestAFollowerNamesWhatIsTheMatterAndGoesOn(t *testing.T) {
	t.Parallel()
	s := newSite(t, enginetest.OpenSearch(t))
	target, _ := url.Parse(s.url)
	proxy := httputil.NewSingleHostReverseProxy(target)
	var fault atomic.Pointer[http.HandlerFunc]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := fault.Load(); h != nil && r.Method == "POST" && strings.Contains(r.URL.Path, "_bulk") {
			(*h)(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	f, _ := s.follower(server.URL)
	s.source.put("a", "text")
	s.same("before")
	n := 0
	for _, c := range []struct {
		state  opensearch.State
		answer http.HandlerFunc
	}{
		{opensearch.Unreachable, func(w http.ResponseWriter, _ *http.Request) {
			c, _, _ := w.(http.Hijacker).Hijack()
			_ = c.Close()
		}},
		{opensearch.Denied, answer(403, `{"error":{"type":"security_exception","reason":"no"}}`)},
		{opensearch.Unavailable, answer(503, ``)},
		{opensearch.Throttled, answer(429, ``)},
	} {
		fault.Store(&c.answer)
		n++
		s.source.put(fmt.Sprint("d", n), "text")
		s.until("the state is "+string(c.state), f, func(p opensearch.Progress) bool { return p.State == c.state })
		fault.Store(nil)
		s.same("after " + string(c.state))
		s.until("it is healthy", f, func(p opensearch.Progress) bool { return p.State == opensearch.Healthy })
	}
	index := s.index()
	for _, c := range []struct {
		state      opensearch.State
		block, end string
	}{
		{opensearch.ReadOnly, `{"index.blocks.write":true}`, `{"index.blocks.write":null}`},
		{opensearch.Full, `{"index.blocks.read_only_allow_delete":true}`, `{"index.blocks.read_only_allow_delete":null}`},
	} {
		s.do("PUT", "/"+index+"/_settings", c.block)
		n++
		s.source.put(fmt.Sprint("d", n), "text")
		s.until("the state is "+string(c.state), f, func(p opensearch.Progress) bool { return p.State == c.state })
		s.do("PUT", "/"+index+"/_settings", c.end)
		s.same("after " + string(c.state))
	}
	s.do("POST", "/"+index+"/_close", "")
	s.source.put("last", "text")
	s.until("it is closed", f, func(p opensearch.Progress) bool { return p.State == opensearch.Closed })
	s.do("POST", "/"+index+"/_open", "")
	s.same("after it was closed")
}

func TestASearchWaitsForAChangeAndNotLonger(t *testing.T) {
	t.Parallel()
	s := newSite(t, enginetest.OpenSearch(t))
	s.source.put("a", "text")
	_, stop := s.follower(s.url)
	s.same("before")
	stop()
	before := s.source.state()
	s.source.put("b", "text")
	short := opensearch.NewReadiness(s.client, s.prefix, s.source.State, 100*time.Millisecond)
	if err := short.Wait(t.Context(), workspace, s.source.state()); err == nil {
		t.Error("a search does not wait for a change")
	}
	if err := s.ready.Wait(t.Context(), workspace, before); err != nil {
		t.Errorf("a search waits for no change: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.ready.Wait(ctx, workspace, s.source.state()); !errors.Is(err, context.Canceled) {
		t.Errorf("its caller has gone: %v", err)
	}
}
