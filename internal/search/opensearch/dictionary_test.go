package opensearch_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/search/index"
	"keepsake/internal/search/opensearch"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
)

// granted are claims that this process gets unless another one has them.
type granted struct {
	taken atomic.Int64
	away  atomic.Bool
}

func (g *granted) Take(context.Context, [32]byte) bool {
	g.taken.Add(1)
	return !g.away.Load()
}

func (g *granted) Release([32]byte, bool) {}

// sentWords is a proxy that counts the words that are sent to the dictionary.
type sentWords struct {
	url string
	mu  sync.Mutex
	all map[string]int
}

var created = regexp.MustCompile(`\{"create":\{"_id":"([^"]*)"\}\}`)

func newSentWords(t *testing.T, to string) *sentWords {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	s := &sentWords{all: map[string]int{}}
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, ".words.write/_bulk") {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			s.mu.Lock()
			for _, found := range created.FindAllSubmatch(body, -1) {
				s.all[string(found[1])]++
			}
			s.mu.Unlock()
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *sentWords) of(word string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[word]
}

// A process that gets its claim again sends no word a second time, unless the dictionary was changed by another one meanwhile.
func TestWordsAreSentAgainToADictionaryThatAnotherChanged(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		meanwhile func(s *site) // while this process does not have the claim
		again     bool
	}{
		{"alone", func(*site) {}, false},
		{"a word is gone", func(s *site) { s.do("DELETE", "/"+s.index()+".words/_doc/stone?refresh=true", "") }, true},
		{"a word was added", func(s *site) { s.do("PUT", "/"+s.index()+".words/_doc/other?refresh=true", `{"word":"other"}`) }, true},
		{"another process has followed", func(s *site) {
			_, stop := s.follower(s.url)
			s.source.put("b", "sand")
			s.same("while another one follows")
			stop()
		}, true},
		{"the index is another", func(s *site) {
			s.do("DELETE", "/"+s.index()+","+s.index()+".words", "")
			s.ready.Forget(workspace)
			_, stop := s.follower(s.url)
			s.same("while another one follows")
			stop()
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, enginetest.OpenSearch(t))
			sent := newSentWords(t, s.url)
			var later atomic.Int64
			now := func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
			claims := &granted{}
			f := opensearch.NewFollower(opensearch.FollowerOptions{
				Client: newClient(t, opensearch.ClientOptions{URL: sent.url}), Prefix: s.prefix, Owner: "this", Source: s.source, Claims: claims,
				Writer: opensearch.NewWriter(index.NewLexicon()), Log: slog.New(slog.DiscardHandler), Now: now, Poll: 20 * time.Millisecond,
			})
			f.Follow([]string{workspace})
			running(t, f.Run)
			claimed := func() {
				t.Helper()
				before := claims.taken.Load()
				later.Add(int64(2 * time.Minute))
				s.source.put("x", "stone") // wakes the worker
				await.Until(t, "the claim is taken again", func() bool { return claims.taken.Load() > before })
			}
			s.source.put("a", "stone")
			s.same("at first")
			claimed()
			s.same("with the claim again")
			if n := sent.of("stone"); n != 1 {
				t.Fatalf("the word was sent %d times, want once", n)
			}
			claims.away.Store(true)
			claimed()
			await.Until(t, "the claim is another's", func() bool { return !f.Progress()[workspace].Here })
			test.meanwhile(s)
			claims.away.Store(false)
			s.source.put("c", "stone and gravel")
			s.same("at the end")
			want := 1
			if test.again {
				want = 2
			}
			if n := sent.of("stone"); n != want {
				t.Errorf("the word was sent %d times, want %d", n, want)
			}
			s.do("GET", "/"+s.index()+".words/_doc/stone", "") // 404 without it
			s.do("GET", "/"+s.index()+".words/_doc/gravel", "")
		})
	}
}
