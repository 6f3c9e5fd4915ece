package app

import (
	"context"

	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/base/metrics"
	"keepsake/internal/govern/account"
	"keepsake/internal/memory"
	"keepsake/internal/memory/embedding"
	"keepsake/internal/memory/embedding/openai"
	v1 "keepsake/internal/web/api/v1"
)

// newEmbeddings creates the client of the embeddings endpoint; nil if none is set. A local process has none: its commands are over
// before an endpoint has answered.
func newEmbeddings(i *instance.Instance, cfg *config.Config, deps *Deps, accounts *account.Directory) *memory.Embeddings {
	e := &cfg.Embeddings
	if e.URL == "" || deps.Local {
		return nil
	}
	return &memory.Embeddings{
		Client: embedding.NewClient(embedding.Options{
			Encoder: openai.New(openai.Options{
				URL: e.URL, Model: e.Model, Key: e.Key, AllowPrivate: e.AllowPrivate, Release: deps.Version, Now: deps.Now,
			}),
			Model: e.Model, DailyTexts: e.DailyTexts, Count: i.Store.Memories.CountEmbedded,
			Workspaces: func() int { return len(accounts.WithEmbeddings()) }, Patience: e.Patience, Now: deps.Now, Log: deps.Log,
		}),
		Uses: func(workspaceID string) bool {
			w, ok := accounts.Entry(workspaceID)
			return ok && w.Embeddings()
		},
		Workspaces: accounts.WithEmbeddings,
		Alone: func(ctx context.Context, fn func(ctx context.Context) error) error {
			return i.Engine.Alone(ctx, "embeddings", fn)
		},
	}
}

// embeddingNumbers returns the state of the embeddings endpoint and how many memories wait for vectors.
func (s *services) embeddingNumbers(ctx context.Context) v1.EmbeddingNumbers {
	if s.memory.embeddings == nil {
		return v1.EmbeddingNumbers{State: "off"}
	}
	client := s.memory.embeddings.Client
	stats := client.Stats()
	n := v1.EmbeddingNumbers{
		State: "ready", Progress: s.embeddingProgress(ctx), DailyTexts: s.memory.dailyTexts,
		SentMemories: stats.Memories, SentQueries: stats.Queries, DegradedQueries: stats.Degraded,
	}
	switch {
	case client.Limited():
		n.State = "limited"
	case client.MemoriesPaused(), client.QueriesPaused():
		n.State = "paused"
	}
	return n
}

// embeddingProgress returns what the database knows; nil if it does not answer.
func (s *services) embeddingProgress(ctx context.Context) *v1.EmbeddingProgress {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	texts, err := s.instance.Store.Memories.EmbeddedOn(ctx, embedding.DayOf(s.now()))
	if err != nil {
		return nil
	}
	n := &v1.EmbeddingProgress{TextsToday: texts}
	for _, workspaceID := range s.memory.embeddings.Workspaces() {
		p, err := s.instance.Store.Memories.EmbeddingProgress(ctx, workspaceID, s.memory.embeddings.Client.Model())
		if err != nil {
			return nil
		}
		n.Workspaces++
		n.Memories += p.Memories
		n.WaitingMemories += p.WaitingMemories
		n.WaitingSubjects += p.WaitingSubjects
	}
	return n
}

// checkEmbeddings returns why the embeddings endpoint is not used now.
func (s *services) checkEmbeddings(context.Context) error {
	switch client := s.memory.embeddings.Client; {
	case client.Limited():
		return embedding.ErrLimit
	case client.MemoriesPaused(), client.QueriesPaused():
		return embedding.ErrPaused
	}
	return nil
}

// addEmbeddingMetrics adds the embeddings endpoint.
func (s *services) addEmbeddingMetrics(r *metrics.Registry) {
	sent := &metrics.Metric{
		Name: "keepsake_embeddings_texts_total", Type: metrics.Counter, Labels: []string{"kind"},
		Help: "Texts that this process sent to the embeddings endpoint: of memories or queries.",
	}
	degraded := &metrics.Metric{
		Name: "keepsake_embeddings_degraded_total", Type: metrics.Counter,
		Help: "Recalls and contexts of this process that were answered without the embeddings endpoint.",
	}
	failures := &metrics.Metric{
		Name: "keepsake_embeddings_failures_total", Type: metrics.Counter, Labels: []string{"reason"},
		Help: "Requests to the embeddings endpoint that returned no vectors.",
	}
	paused := &metrics.Metric{Name: "keepsake_embeddings_paused", Type: metrics.Gauge, Help: "1 while the embeddings endpoint is not asked, after failures or at the limit of the day."}
	waiting := &metrics.Metric{
		Name: "keepsake_embeddings_waiting_memories", Type: metrics.Gauge,
		Help: "Memories of subjects whose vectors are not complete, in workspaces that use the embeddings endpoint.",
	}
	r.Add(func(ctx context.Context, scrape *metrics.Scrape) {
		var n embedding.Stats
		progress := &v1.EmbeddingProgress{}
		if s.memory.embeddings != nil {
			n, progress = s.memory.embeddings.Client.Stats(), s.embeddingProgress(ctx)
		}
		scrape.Set(sent, float64(n.Memories), "memories")
		scrape.Set(sent, float64(n.Queries), "queries")
		scrape.Set(degraded, float64(n.Degraded))
		for _, reason := range embedding.Reasons {
			scrape.Set(failures, float64(n.Failures[reason]), string(reason))
		}
		scrape.SetBool(paused, s.memory.embeddings != nil && s.checkEmbeddings(ctx) != nil)
		if progress != nil {
			scrape.Set(waiting, float64(progress.WaitingMemories))
		}
	}, sent, degraded, failures, paused, waiting)
}
