package app

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"

	"keepsake/internal/app/config"
	"keepsake/internal/base/id"
	"keepsake/internal/base/trace"
	"keepsake/internal/base/trace/otlp"
	"keepsake/internal/govern/limit"
	"keepsake/internal/store"
)

// newTracer returns what traces requests, or nil if no collector is configured.
func newTracer(cfg *config.Config, deps *Deps) (*trace.Tracer, error) {
	if cfg.Tracing.Endpoint == "" || deps.Local {
		return nil, nil
	}
	header, err := otlp.ParseHeaders(cfg.Tracing.Headers)
	if err != nil {
		return nil, &config.Error{Setting: "tracing.headers", Reason: err.Error()}
	}
	exporter, err := otlp.New(otlp.Options{
		Endpoint: cfg.Tracing.Endpoint, Header: header, Release: deps.Version, Instance: id.New(id.Request),
	})
	if err != nil {
		return nil, &config.Error{Setting: "tracing.endpoint", Reason: "is not an address such as http://localhost:4318"}
	}
	return trace.New(trace.Options{Exporter: exporter, Sample: cfg.Tracing.Sample, Now: deps.Now, Log: deps.Log}), nil
}

// observeStore returns an observer that makes the transactions and statements of a request steps of its span. It is nil if
// nothing is traced: the store then pays nothing.
func observeStore(tracer *trace.Tracer, cfg *config.Config) *store.Observer {
	if tracer == nil {
		return nil
	}
	system := trace.Text("db.system.name", "sqlite")
	if cfg.DatabaseURL != "" {
		system = trace.Text("db.system.name", "postgresql")
	}
	var names sync.Map // text → summary; the program has a few hundred texts
	return &store.Observer{
		Transaction: func(ctx context.Context, database string) (context.Context, func(error)) {
			step := trace.From(ctx).Child("transaction "+database, trace.Client)
			step.Set(system, trace.Text("db.namespace", database))
			return trace.With(ctx, step), func(err error) { step.Finish(err != nil) }
		},
		Statement: func(ctx context.Context, database, text string) func(error) {
			parent := trace.From(ctx)
			if !parent.Recorded() {
				return nil
			}
			name, known := names.Load(text)
			if !known {
				name, _ = names.LoadOrStore(text, summary(text))
			}
			step := parent.Child(name.(string), trace.Client)
			step.Set(system, trace.Text("db.namespace", database), trace.Text("db.query.summary", name.(string)))
			return func(err error) { step.Finish(err != nil && !errors.Is(err, sql.ErrNoRows)) }
		},
	}
}

// summary returns the verb of a statement and the first table that it names: SELECT webhook.
func summary(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n(),;", r) })
	if len(words) == 0 {
		return "statement"
	}
	verb := strings.ToUpper(words[0])
	for i, word := range words[:len(words)-1] {
		switch next := words[i+1]; strings.ToUpper(word) {
		case "FROM", "INTO", "UPDATE":
			if upper := strings.ToUpper(next); upper != "SELECT" && upper != "SET" {
				return verb + " " + next
			}
		}
	}
	return verb
}

// tracedCounters traces requests to a counter store. They belong to no request, because one serves many callers.
type tracedCounters struct {
	limit.CounterStore
	tracer *trace.Tracer
}

// Sync implements limit.CounterStore.
func (c tracedCounters) Sync(ctx context.Context, r *limit.SyncRequest) (*limit.SyncResponse, error) {
	step := c.tracer.Begin("sync limits", trace.Client)
	step.Set(trace.Text("db.system.name", "redis"), trace.Int("keepsake.counters", int64(len(r.Entries))), trace.Int("keepsake.callers", int64(len(r.Wants))))
	response, err := c.CounterStore.Sync(ctx, r)
	step.Finish(err != nil)
	return response, err
}
