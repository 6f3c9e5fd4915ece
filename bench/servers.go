package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	keepsake "keepsake/client"
	"keepsake/internal/app/config"
	"keepsake/internal/testing/enginetest"
)

// measureServers measures the CPU time of PostgreSQL and Redis per request. docs/instances.md derives from it how many
// instances and requests one server can serve.
func measureServers(run contest) (err error) {
	b := &ground{}
	defer func() {
		b.clear()
		enginetest.Stop()
		if given, ok := recover().(stopped); ok {
			err = given.error
		}
	}()
	postgres, redis := enginetest.StartPostgres(b, enginetest.PostgresOptions{}), enginetest.StartRedis(b, enginetest.RedisOptions{})
	database := postgres.Database(b)
	onServers := func(c *config.Config) {
		c.DatabaseURL, c.RedisURL = database, redis.URL()
		c.MasterKey = "YSBrZXkgb2YgdGhpcnR5LXR3byBieXRlcyBmb3IgaXQ="
	}
	first := b.start(onServers)
	s := &servers{b: b, postgres: postgres, redis: redis, length: time.Duration(run.turns) * run.length}

	key, _ := first.First()
	ctx := context.Background()
	operator, err := keepsake.New(first.PrimaryURL(), key.APIKey)
	b.must(err)
	clients := make([]*keepsake.Client, run.clients)
	for i := range clients {
		key, err := operator.CreateAPIKey(ctx, keepsake.NewAPIKey{Name: "bench", Scopes: []string{"read", "write", "developer:manage"}})
		b.must(err)
		clients[i], err = keepsake.New(first.PrimaryURL(), key.Key)
		b.must(err)
	}
	fmt.Printf("\nwhat requests cost the servers\n%26s  %8s  %22s  %22s  %9s\n", "", "number", "PostgreSQL", "Redis", "WAL")
	s.rest("one instance at rest")
	s.measure("governed GET /health", clients, func(c *keepsake.Client, _ int64) error {
		_, err := c.Health(ctx)
		return err
	})
	s.measure("add a document of 1 KB", clients, func(c *keepsake.Client, n int64) error {
		_, err := c.CreateDocument(ctx, keepsake.NewDocument{Title: fmt.Sprint("number ", n), Text: strings.Repeat("some words ", 90)})
		return err
	})
	lines := func(n int64) string {
		var text strings.Builder
		for i := range 1000 {
			fmt.Fprintf(&text, `{"id":"d%d-%d","title":"a line","text":"%s"}`+"\n", n, i, strings.Repeat("some words ", 90))
		}
		return text.String()
	}
	s.measure("import of 1,000 of them", clients[:2], func(c *keepsake.Client, n int64) error {
		_, err := c.ImportDocuments(ctx, strings.NewReader(lines(n)), nil)
		return err
	})
	s.measure("search", clients, func(c *keepsake.Client, _ int64) error {
		_, err := c.Search(ctx, keepsake.Query{Q: "number words"})
		return err
	})
	s.measure("make an API key", clients, func(c *keepsake.Client, _ int64) error {
		_, err := c.CreateAPIKey(ctx, keepsake.NewAPIKey{Name: "another", Scopes: []string{"read"}})
		return err
	})
	b.start(onServers)
	time.Sleep(3 * time.Second)
	s.rest("two instances at rest")
	return nil
}

// servers are the servers that are measured.
type servers struct {
	b        *ground
	postgres *enginetest.PostgresServer
	redis    *enginetest.RedisServer
	length   time.Duration
}

// reading is the CPU time so far.
type reading struct {
	at              time.Time
	postgres, redis time.Duration
	own             time.Duration
	wal             int64
}

func (s *servers) read() reading {
	return reading{
		at: time.Now(), postgres: s.postgres.CPU(s.b), redis: s.redis.CPU(s.b), own: cpuTime(), wal: s.postgres.Logged(s.b),
	}
}

// rest prints the CPU time without requests.
func (s *servers) rest(name string) {
	before := s.read()
	time.Sleep(s.length)
	after := s.read()
	share := func(d time.Duration) string {
		return fmt.Sprintf("%.2f %% of a core", 100*float64(d)/float64(after.at.Sub(before.at)))
	}
	fmt.Printf("%26s  %8s  %22s  %22s\n", name, "", share(after.postgres-before.postgres), share(after.redis-before.redis))
}

// measure lets all clients do something repeatedly for a while, and prints the cost of one repetition.
func (s *servers) measure(name string, clients []*keepsake.Client, do func(c *keepsake.Client, n int64) error) {
	before := s.read()
	var number atomic.Int64
	var all sync.WaitGroup
	var failed atomic.Value
	for _, c := range clients {
		all.Go(func() {
			for end := before.at.Add(s.length); time.Now().Before(end) && failed.Load() == nil; {
				if err := do(c, number.Add(1)); err != nil {
					failed.Store(fmt.Errorf("%s: %w", name, err))
				}
			}
		})
	}
	all.Wait()
	if err, ok := failed.Load().(error); ok {
		s.b.Fatal(err)
	}
	after := s.read()
	n := number.Load()
	each := func(d time.Duration) string {
		return fmt.Sprintf("%v each", (d / time.Duration(n)).Round(100*time.Nanosecond))
	}
	fmt.Printf("%26s  %8d  %22s  %22s  %7d B  (%.0f a second; instance and clients %s)\n", name, n, each(after.postgres-before.postgres),
		each(after.redis-before.redis), (after.wal-before.wal)/n, float64(n)/after.at.Sub(before.at).Seconds(), each(after.own-before.own))
}
