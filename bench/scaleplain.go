package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"keepsake/internal/search"
	"keepsake/internal/search/document"
	"keepsake/internal/search/index"
	"keepsake/internal/search/opensearch"
	"keepsake/internal/testing/programtest"
)

// plain measures OpenSearch without Keepsake: the documents that Keepsake sends in bulks to an index with the same mapping, and the
// searches that it sends, beside those of the same words in the simplest form that OpenSearch has.
func (s *scale) plain() error {
	client, err := opensearch.NewClient(opensearch.ClientOptions{URL: s.node.URL, Timeout: 5 * time.Minute})
	if err != nil {
		return err
	}
	defer client.Close()
	fmt.Printf("\n%-32s  %6s %28s %10s\n", "OpenSearch without Keepsake", "", "median / p99 / longest", "OpenSearch")
	if err := s.plainBulk(client); err != nil {
		return err
	}
	bodies, first, again, err := s.recordSearches()
	if err != nil {
		return fmt.Errorf("record searches: %w", err)
	}
	const whole = "/_search?preference=_primary&allow_partial_search_results=false"
	var matches [][]byte
	for _, q := range s.big.queries {
		matches = append(matches, fmt.Appendf(nil, `{"size":10,"track_total_hits":true,"_source":false,"query":{"match":{"text":%q}}}`, q))
	}
	for _, part := range []struct {
		name, path string
		bodies     [][]byte
	}{
		{"the request for hits alone", "/" + searchPrefix + strings.ToLower(s.big.id) + whole, bodies},
		{"the same, in the plain index", "/" + plainIndex + whole, bodies},
		{"match of the words, there", "/" + plainIndex + whole, matches},
	} {
		if err := s.plainSearches(client, part.name, part.path, part.bodies); err != nil {
			return err
		}
	}
	sum := 0
	for _, body := range bodies {
		sum += len(body)
	}
	fmt.Printf("%32s  %.1f, and %.1f when it is repeated; the one for hits has %d bytes\n", "requests of Keepsake's search", first, again, sum/len(bodies))
	_, err = client.Do(s.Context(), http.MethodDelete, "/"+plainIndex, nil)
	return err
}

const plainIndex = "plain"

// plainBulk sends the documents of the corpus as Keepsake does.
func (s *scale) plainBulk(client *opensearch.Client) error {
	ctx := s.Context()
	if _, err := client.Do(ctx, http.MethodPut, "/"+plainIndex, opensearch.DocumentsIndex(1, 0)); err != nil {
		return err
	}
	source := &given{}
	feed, writer := search.NewFeed(source, nil), opensearch.NewWriter(index.NewLexicon())
	before, began, sent := s.node.CPU(s), time.Now(), int64(0)
	send := func() error {
		changes, _, err := feed.Follow(ctx, "", document.Following{})
		if err != nil {
			return err
		}
		var body []byte
		for _, c := range changes.List {
			fields, _ := writer.Document(c.ID, c.Document)
			body = append(append(fmt.Appendf(body, `{"index":{"_id":%q}}`+"\n", c.ID), fields...), '\n')
		}
		sent += int64(len(body))
		source.list = source.list[:0]
		answer, err := client.Do(ctx, http.MethodPost, "/"+plainIndex+"/_bulk", body)
		if err == nil && !bytes.Contains(answer, []byte(`"errors":false`)) {
			err = fmt.Errorf("a bulk failed: %.300s", answer)
		}
		return err
	}
	err := s.corpus.each(func(i int, title, text string) error {
		d := &document.Document{ID: fmt.Sprint("d", i), Collection: "books", Title: title, Text: text, UpdatedAt: began}
		source.list = append(source.list, document.Change{Number: int64(i + 1), ID: d.ID, Document: d})
		if len(source.list) < 1_000 {
			return nil
		}
		return send()
	})
	if err == nil && len(source.list) > 0 {
		err = send()
	}
	if err == nil {
		_, err = client.Do(ctx, http.MethodPost, "/"+plainIndex+"/_refresh", nil)
	}
	if err != nil {
		return fmt.Errorf("bulks: %w", err)
	}
	n := s.corpus.documents
	fmt.Printf("%32s  %6d %28s %10v\n", "bulks of its documents, each", n, fmt.Sprintf("%d bytes of JSON", sent/int64(n)),
		((s.node.CPU(s) - before) / time.Duration(n)).Round(100*time.Nanosecond))
	return nil
}

// given is a source of changes that are given.
type given struct {
	search.FeedSource
	list []document.Change
}

func (g *given) FollowDocuments(context.Context, string, document.Following) ([]document.Change, document.State, error) {
	return g.list, document.State{}, nil
}

// plainSearches sends searches one after the other.
func (s *scale) plainSearches(client *opensearch.Client, name, path string, bodies [][]byte) error {
	var took []time.Duration
	for round := range 2 { // the first one warms up
		took = took[:0]
		before := s.node.CPU(s)
		for _, body := range bodies {
			began := time.Now()
			if _, err := client.Do(s.Context(), http.MethodPost, path, body); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			took = append(took, time.Since(began))
		}
		if round == 1 {
			fmt.Printf("%32s  %6d %28s %10v\n", name, len(took), spread(took), ((s.node.CPU(s) - before) / time.Duration(len(took))).Round(time.Microsecond))
		}
	}
	return nil
}

// recordSearches returns the requests for hits that Keepsake sends for the queries, and how many requests it sends for each the first time
// and again.
func (s *scale) recordSearches() (bodies [][]byte, first, again float64, err error) {
	target, err := url.Parse(s.node.URL)
	if err != nil {
		return nil, 0, 0, err
	}
	var mu sync.Mutex
	var last []byte
	sent := 0
	forward := httputil.NewSingleHostReverseProxy(target)
	recorder := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		mu.Lock()
		if r.Header.Get("Content-Type") != "" && strings.HasSuffix(r.URL.Path, "search") || strings.HasSuffix(r.URL.Path, "_termvectors") {
			sent++
		}
		if strings.HasSuffix(r.URL.Path, "/_search") {
			last = body
		}
		mu.Unlock()
		forward.ServeHTTP(w, r)
	}))
	defer recorder.Close()
	p := s.start("recorded", programtest.Env("KEEPSAKE_SEARCH_OPENSEARCH_URL="+recorder.URL))
	defer p.Stop()
	direct := *s.big
	direct.url = p.URL
	if _, err := direct.untilFound(time.Minute); err != nil {
		return nil, 0, 0, err
	}
	for _, each := range []*float64{&first, &again} {
		mu.Lock()
		sent = 0
		mu.Unlock()
		bodies = nil
		for n := range direct.queries {
			status, _, _ := direct.search(n)
			if status != http.StatusOK {
				continue
			}
			mu.Lock()
			bodies = append(bodies, last)
			mu.Unlock()
		}
		mu.Lock()
		*each = float64(sent) / float64(max(1, len(bodies)))
		mu.Unlock()
	}
	if len(bodies) == 0 {
		return nil, 0, 0, errors.New("no search was answered")
	}
	return bodies, first, again, nil
}
