package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"time"

	"keepsake/internal/base/id"
	"keepsake/internal/base/page"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/limit"
	"keepsake/internal/search"
	"keepsake/internal/search/document"
	"keepsake/internal/store"
	"keepsake/internal/store/sqlite"
	"keepsake/internal/web/api/apitest"
	v1 "keepsake/internal/web/api/v1"
	"keepsake/internal/web/endpoint"
)

// documents is the number of documents.
const documents = 5_000

// measureSearch compares GET /search with a handler that calls the same search and encodes the results.
func measureSearch(c contest) error {
	dir, err := os.MkdirTemp("", "keepsake-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	found, err := library(ctx, dir)
	if err != nil {
		return err
	}
	p := place()
	r := endpoint.NewRegistry()
	v1.AddSearch(r, found.service)
	sent := request("GET", "/api/v1/search?q=harbour+lantern&limit=10", "", "X-API-Key: "+p.Fill(liveKeys))
	c.length *= 4 // a search takes as long as a hundred other requests
	err = c.run(fmt.Sprintf("GET /api/v1/search, %d documents", documents),
		side{name: "keepsake", handler: apitest.Surface(p.Options(r)), request: sent}, side{name: "the search alone", handler: found, request: sent})
	cancel()
	return errors.Join(err, found.close())
}

// shelf is a searchable workspace with a plain handler.
type shelf struct {
	service *search.Service
	close   func() error
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := s.service.Search(r.Context(), apitest.Operator, search.Request{Query: r.URL.Query().Get("q"), Limit: 10, Highlight: true})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	type result struct {
		ID         string             `json:"id"`
		Title      string             `json:"title"`
		Snippet    string             `json:"snippet"`
		Highlights []search.Highlight `json:"highlights"`
		Score      float64            `json:"score"`
		Tags       []string           `json:"tags"`
		UpdatedAt  time.Time          `json:"updatedAt"`
	}
	body := struct {
		Total   int64    `json:"total"`
		Results []result `json:"results"`
	}{Total: answer.Total}
	for _, f := range answer.Results {
		d := &f.Document
		body.Results = append(body.Results, result{d.ID, d.Title, f.Snippet, f.Highlights, f.Score, d.Tags, d.UpdatedAt})
	}
	text, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(len(text)))
	_, _ = w.Write(text)
}

// library fills a store and an index with documents of random sentences.
func library(ctx context.Context, dir string) (*shelf, error) {
	log := slog.New(slog.DiscardHandler)
	engine, err := sqlite.Open(ctx, sqlite.Options{Dir: dir, Log: log})
	if err != nil {
		return nil, err
	}
	st := store.New(engine)
	err = st.Accounts.CreateWorkspace(ctx, &account.Workspace{ID: apitest.Operator, Name: "bench", Tier: limit.TierUnlimited, Operator: true, CreatedAt: time.Now()})
	if err != nil {
		return nil, err
	}
	indexer := search.NewIndexer(search.IndexerOptions{Dir: dir + "/index", Source: st.Documents, Log: log, Now: time.Now, Wait: time.Minute})
	done := make(chan error, 1)
	go func() { done <- indexer.Run(ctx) }()
	service := document.NewService(document.Options{
		Store: st.Documents, Units: st, Changed: indexer.Notify, Now: time.Now,
		Max:      func(string) *int64 { return nil },
		MaxBytes: func(string) *int64 { return nil },
		NewID:    func() string { return id.New(id.Document) },
	})
	random := rand.New(rand.NewPCG(1, 2))
	err = st.Run(ctx, func(ctx context.Context) error {
		for range documents {
			if _, err := service.Create(ctx, apitest.Operator, "", document.Fields{Title: sentence(random, 5), Text: sentence(random, 80)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("write documents: %w", err)
	}
	searches := search.NewService(indexer, page.NewSealer([]byte("secret of the benchmark")), nil, time.Now)
	// The first search waits until everything is indexed, so that no turn does.
	if _, err := searches.Search(ctx, apitest.Operator, search.Request{Query: "harbour"}); err != nil {
		return nil, fmt.Errorf("wait for the index: %w", err)
	}
	return &shelf{
		service: searches,
		close: func() error {
			<-done // stopped by its context, which is not a failure
			return errors.Join(indexer.Close(), engine.Close())
		},
	}, nil
}

// sentence returns random words with frequencies like those of a language.
func sentence(random *rand.Rand, words int) string {
	common := []string{"the", "harbour", "lantern", "keeps", "a", "quiet", "letter", "of", "rain", "and", "morning", "stone"}
	var b strings.Builder
	for range words {
		if random.IntN(10) < 3 {
			b.WriteString(common[random.IntN(len(common))])
		} else {
			fmt.Fprintf(&b, "w%d", int(float64(5000)*random.Float64()*random.Float64()))
		}
		b.WriteByte(' ')
	}
	return b.String()
}
