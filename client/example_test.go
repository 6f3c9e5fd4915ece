package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"strings"

	"keepsake/client"
	"keepsake/internal/app"
	"keepsake/internal/config"
)

// server starts a program of its own for an example.
func server() (url, key string, stop func()) {
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
	first, _ := a.First()
	return a.PrimaryURL(), first.APIKey, func() {
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
