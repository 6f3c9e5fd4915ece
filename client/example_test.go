package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"keepsake/client"
	"keepsake/internal/app"
	"keepsake/internal/app/config"
)

// server starts a program of its own for an example.
func server() (url, key string, stop func()) {
	a, _, stop := start()
	first, _ := a.First()
	return a.PrimaryURL(), first.APIKey, stop
}

// start returns the program, its data folder and how to stop it.
func start() (*app.App, string, func()) {
	dir, err := os.MkdirTemp("", "keepsake-example")
	if err != nil {
		log.Fatal(err)
	}
	cfg := config.Default()
	cfg.Data, cfg.Listen, cfg.BackendListen = dir, "127.0.0.1:0", "127.0.0.1:0"
	a, err := app.New(context.Background(), cfg, app.Deps{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	return a, dir, func() {
		cancel()
		if err := errors.Join(<-ended, a.Close(), os.RemoveAll(dir)); err != nil {
			log.Fatal(err)
		}
	}
}

// Documents go in, and the next search finds them.
func Example() {
	url, key, stop := server()
	defer stop()

	c, err := client.New(url, key)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	_, err = c.PutDocument(ctx, client.NewDocument{ID: "boiler", Title: "Boiler manual", Text: "Bleed the radiators before the first frost."}, nil)
	if err != nil {
		log.Fatal(err)
	}
	found, err := c.Search(ctx, client.Query{Q: "radiators"})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range found.Results {
		fmt.Println(r.ID, "-", r.Title)
	}
	// Output: boiler - Boiler manual
}

// An import takes a document a line, of any length.
func ExampleClient_ImportDocuments() {
	url, key, stop := server()
	defer stop()

	c, err := client.New(url, key)
	if err != nil {
		log.Fatal(err)
	}
	lines := strings.NewReader(`{"id":"rye","title":"Rye bread"}
{"id":"empty"}
`)
	outcome, err := c.ImportDocuments(context.Background(), lines, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(outcome.Created, "created")
	for _, e := range outcome.Errors {
		fmt.Printf("line %d: %s\n", e.Line, e.Issue)
	}
	// Output:
	// 1 created
	// line 2: required
}

// What the server refuses comes back as an Error that says what and why.
func ExampleError() {
	url, key, stop := server()
	defer stop()

	c, err := client.New(url, key)
	if err != nil {
		log.Fatal(err)
	}
	_, err = c.CreateAPIKey(context.Background(), client.NewAPIKey{Name: "reader", Scopes: []string{"reed"}})
	if e, ok := errors.AsType[*client.Error](err); ok {
		fmt.Println(e.Status, e.Code, e.Details.Field, e.Details.Issue)
	}
	// Output: 400 validation_error scopes[0] not_allowed
}

// What should be remembered about a person goes in, and what answers a question comes back.
func ExampleClient_Recall() {
	url, key, stop := server()
	defer stop()

	c, err := client.New(url, key)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for _, text := range []string{"Her bicycle is green.", "She drinks tea without sugar."} {
		if _, err := c.CreateMemory(ctx, client.NewMemory{SubjectID: "p-4711", Text: text}); err != nil {
			log.Fatal(err)
		}
	}
	found, err := c.Recall(ctx, client.RecallQuery{SubjectID: "p-4711", Query: "what colour is the bike?", Limit: 1})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range found.Results {
		fmt.Println(r.Rank, r.Memory.Text)
	}
	// Output: 1 Her bicycle is green.
}

// An agent has a key that is bound to one person, so it names no one.
func ExampleAgent() {
	url, key, stop := server()
	defer stop()

	c, err := client.New(url, key)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	bound, err := c.CreateAPIKey(ctx, client.NewAPIKey{
		Name: "assistant of p-4711", Scopes: []string{"memory:read", "memory:write"}, SubjectID: "p-4711",
	})
	if err != nil {
		log.Fatal(err)
	}

	agent, err := client.NewAgent(url, bound.Key)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := agent.Remember(ctx, client.NewMemory{Text: "She drinks tea without sugar.", Kind: "preference"}); err != nil {
		log.Fatal(err)
	}
	prompt, err := agent.Context(ctx, client.ContextQuery{Query: "What does she drink?", MaxTokens: 200})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(prompt.MemoryIDs), strings.Contains(prompt.Text, "without sugar"))
	_, err = agent.Recall(ctx, client.RecallQuery{SubjectID: "p-4712", Query: "What does she drink?"})
	if e, ok := errors.AsType[*client.Error](err); ok {
		fmt.Println("another person:", e.Status)
	}
	// Output:
	// 1 true
	// another person: 404
}

// A service next to Keepsake verifies the keys of its callers, and reports afterwards what it has served.
func ExampleBackend() {
	a, data, stop := start()
	defer stop()
	first, _ := a.First()

	secret, err := os.ReadFile(filepath.Join(data, "backend-secret"))
	if err != nil {
		log.Fatal(err)
	}
	b, err := client.NewBackend(a.BackendURL(), strings.TrimSpace(string(secret)), "")
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	free := false
	v, err := b.VerifyAPIKey(ctx, client.Inquiry{Key: first.APIKey, RequiredScopes: []string{"read"}, Consume: &free})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v.Code)

	served := []client.ServedRequests{
		{ID: "orders-17", KeyID: *v.KeyID, Route: "GET /orders/{id}", Status: 200, Count: 40, At: time.Now()},
	}
	for range 2 { // a report can be repeated, because an ID counts once
		r, err := b.ReportUsage(ctx, served)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.Accepted, "accepted,", r.Duplicates, "known")
	}
	// Output:
	// VALID
	// 1 accepted, 0 known
	// 0 accepted, 1 known
}

// connectExample starts a program of its own for an example and returns a client for it.
func connectExample() (c *client.Client, stop func()) {
	url, key, stop := server()
	c, err := client.New(url, key)
	if err != nil {
		log.Fatal(err)
	}
	return c, stop
}

// All items of a list, page by page.
func ExampleClient_EachDocument() {
	c, stop := connectExample()
	defer stop()

	ctx := context.Background()
	for _, id := range []string{"rye", "spelt", "wheat"} {
		if _, err := c.PutDocument(ctx, client.NewDocument{ID: id, Collection: "bread", Title: id}, nil); err != nil {
			log.Fatal(err)
		}
	}
	for d, err := range c.EachDocument(ctx, client.DocumentQuery{Collection: "bread", Limit: 2}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(d.ID)
	}
	// Output:
	// rye
	// spelt
	// wheat
}

// A program that stores the Idempotency-Key before the call can repeat the call after a crash. It has one effect.
func ExampleWithIdempotencyKey() {
	c, stop := connectExample()
	defer stop()

	ctx := client.WithIdempotencyKey(context.Background(), "visit-2026-11-23-4711")
	first, err := c.CreateMemory(ctx, client.NewMemory{SubjectID: "p-4711", Kind: "event", Text: "She came for a check-up."})
	if err != nil {
		log.Fatal(err)
	}
	again, err := c.CreateMemory(ctx, client.NewMemory{SubjectID: "p-4711", Kind: "event", Text: "She came for a check-up."})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(first.ID == again.ID)
	// Output: true
}

// What is left of the limits, without a call of its own.
func ExampleClient_RateLimits() {
	c, stop := connectExample()
	defer stop()

	ctx := context.Background()
	if _, err := c.Search(ctx, client.Query{Q: "radiators"}); err != nil {
		log.Fatal(err)
	}
	limits := c.RateLimits()
	fmt.Println(limits.Limit-limits.Remaining, "of", limits.Limit, "requests of this minute are used")
	// Output: 1 of 1000000 requests of this minute are used
}

// A limit is waited for. Tests replace the clock, so that they do not wait.
func ExampleClock() {
	limited := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if limited {
			limited = false
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		fmt.Fprint(w, `{"status":"healthy","version":"1"}`)
	}))
	defer server.Close()

	noWait := func(_ context.Context, d time.Duration) error {
		fmt.Println("waits", d)
		return nil
	}
	c, err := client.New(server.URL, "kpsk_x", client.Clock(time.Now, noWait))
	if err != nil {
		log.Fatal(err)
	}
	h, err := c.Health(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(h.Status)
	// Output:
	// waits 30s
	// healthy
}

// A person is erased. The receipt can be verified later, without the server.
func ExampleReceipt_Verify() {
	c, stop := connectExample()
	defer stop()

	ctx := context.Background()
	if _, err := c.CreateMemory(ctx, client.NewMemory{SubjectID: "p-4711", Text: "Her bicycle is green."}); err != nil {
		log.Fatal(err)
	}
	receipt, err := c.EraseSubject(ctx, "p-4711")
	if err != nil {
		log.Fatal(err)
	}
	keys, err := c.SigningKeys(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := receipt.Verify(keys); err != nil {
		log.Fatal(err)
	}
	fmt.Println(receipt.Memories, receipt.LiveKeyDestroyed)
	// Output: 1 true
}

// What to forget is planned first. Exactly what the plan lists is erased.
func ExampleClient_PlanForget() {
	c, stop := connectExample()
	defer stop()

	ctx := context.Background()
	for _, text := range []string{"Her bicycle is green.", "She drinks tea without sugar."} {
		if _, err := c.CreateMemory(ctx, client.NewMemory{SubjectID: "p-4711", Text: text}); err != nil {
			log.Fatal(err)
		}
	}
	plan, err := c.PlanForget(ctx, client.ForgetQuery{SubjectID: "p-4711", Query: "tea"})
	if err != nil {
		log.Fatal(err)
	}
	for _, id := range plan.MemoryIDs {
		m, err := c.Memory(ctx, id)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("forget:", m.Text)
	}
	n, err := c.Forget(ctx, "p-4711", plan.PlanID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n, "forgotten")
	// Output:
	// forget: She drinks tea without sugar.
	// 1 forgotten
}
