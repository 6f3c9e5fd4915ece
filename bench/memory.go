package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"keepsake/internal/app"
	"keepsake/internal/app/config"
	"keepsake/internal/store"
	"keepsake/internal/store/postgres"
	"keepsake/internal/store/sqlite"
	"keepsake/internal/testing/enginetest"
)

// onServers selects private servers that wait for the disk, for all measurements of memories.
var onServers = flag.Bool("postgres", false, "memory: on PostgreSQL and Redis in place of SQLite")

const (
	ofOne     = 10_000 // memories of the subject that is recalled
	batchSize = 1000
	recalls   = 1000
)

// measureMemory measures how long writes and recalls of memories take for a client with a connection, on all cores.
func measureMemory(contest) (err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.NumCPU()))
	b := &ground{}
	defer func() {
		b.clear()
		enginetest.Stop()
		if given, ok := recover().(stopped); ok {
			err = given.error
		}
	}()
	k := &keeping{ground: b}
	if *onServers {
		k.serve()
	}
	if *million {
		k.million()
		return nil
	}
	fmt.Printf("\nmemories on %s, GOMAXPROCS=%d; load %s\n", k.name(), runtime.GOMAXPROCS(0), load())
	random := rand.New(rand.NewPCG(1, 2))
	texts := make([]string, ofOne)
	for i := range texts {
		texts[i] = remark(random)
	}
	queries := make([]string, recalls)
	for i := range queries {
		queries[i] = question(random, texts)
	}
	if *withEmbeddings {
		k.embedded(texts, queries)
		return nil
	}
	disk := k.disk()
	m := k.rememberer(k.place())
	var batches []time.Duration
	for _, subject := range []string{"first", "second", "third"} {
		batches = append(batches, m.fill(subject, texts)...)
	}
	row("batch of 1,000", batches)
	var cold []time.Duration
	for _, subject := range []string{"first", "second", "third"} {
		began := time.Now()
		m.recall(subject, queries[0])
		cold = append(cold, time.Since(began))
	}
	row("first recall of 10,000, whole request", cold)
	m.warm("warm, durable reads", "first", queries, disk)
	m.mixed(texts, queries)
	m.stop()
	place := k.place()
	relaxed := k.rememberer(func(c *config.Config) {
		place(c)
		c.Audit.Reads = config.ReadsRelaxed
	})
	relaxed.fill("first", texts)
	relaxed.warm("warm, relaxed reads", "first", queries, nil)
	relaxed.stop()
	if k.postgres == nil {
		k.plain(texts, queries)
	}
	k.writers()
	fmt.Printf("%48s  %s\n", "load in the end", load())
	return nil
}

// keeping is the environment of programs that store memories: files or servers.
type keeping struct {
	*ground
	postgres *enginetest.PostgresServer // nil: on files
	redis    *enginetest.RedisServer
}

// serve starts the servers. PostgreSQL waits for the disk, as in production.
func (k *keeping) serve() {
	k.postgres = enginetest.StartPostgres(k.ground, enginetest.PostgresOptions{Fsync: true, Settings: map[string]string{
		"shared_buffers": "'256MB'", "min_wal_size": "'512MB'", "max_wal_size": "'2GB'",
	}})
	k.redis = enginetest.StartRedis(k.ground, enginetest.RedisOptions{})
}

func (k *keeping) name() string {
	if k.postgres != nil {
		return "PostgreSQL"
	}
	return "SQLite"
}

// place returns settings for the data of a new program: its own database on the server, or only its folder.
func (k *keeping) place() func(*config.Config) {
	if k.postgres == nil {
		return func(*config.Config) {}
	}
	database := k.postgres.Database(k.ground)
	return func(c *config.Config) {
		c.DatabaseURL, c.RedisURL = database, k.redis.URL()
		c.MasterKey = "YSBrZXkgb2YgdGhpcnR5LXR3byBieXRlcyBmb3IgaXQ="
	}
}

// engine opens a store without a program.
func (k *keeping) engine() (e store.Engine, stop func()) {
	ctx, log := context.Background(), slog.New(slog.DiscardHandler)
	if k.postgres != nil {
		engine, err := postgres.Open(ctx, postgres.Options{URL: k.postgres.Database(k.ground), Log: log})
		k.must(err)
		return engine, func() { _ = engine.Close() }
	}
	dir, err := os.MkdirTemp("", "keepsake-bench-")
	k.must(err)
	engine, err := sqlite.Open(ctx, sqlite.Options{Dir: dir, Log: log})
	k.must(err)
	return engine, func() {
		_ = engine.Close()
		_ = os.RemoveAll(dir)
	}
}

// disk returns a function that waits for the disk once, like a logged read: on a server, it commits one row.
func (k *keeping) disk() func() time.Duration {
	if k.postgres == nil {
		f, err := os.CreateTemp("", "keepsake-bench-")
		k.must(err)
		k.Cleanup(func() {
			_ = f.Close()
			_ = os.Remove(f.Name())
		})
		page, at := make([]byte, 8<<10), int64(0)
		return func() time.Duration {
			began := time.Now()
			_, err := f.WriteAt(page, at)
			k.must(err)
			k.must(f.Sync())
			at += int64(len(page))
			return time.Since(began)
		}
	}
	ctx := context.Background()
	engine, stop := k.engine()
	k.Cleanup(stop)
	bare := func(statement string) (ended time.Time) {
		k.must(engine.Main().Run(ctx, func(ctx context.Context) error {
			_, err := engine.Main().In(ctx).Exec(ctx, statement)
			ended = time.Now()
			return err
		}))
		return ended
	}
	bare("CREATE TABLE bare (text TEXT)")
	return func() time.Duration { return time.Since(bare("INSERT INTO bare VALUES (repeat('x', 500))")) }
}

// load returns the load averages of one, five and fifteen minutes.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

// row prints a result.
func row(what string, took []time.Duration) {
	slices.Sort(took)
	at := func(share float64) time.Duration {
		return took[int(share*float64(len(took)-1))].Round(time.Microsecond)
	}
	fmt.Printf("%48s  median %9v  p99 %9v  of %d\n", what, at(0.5), at(0.99), len(took))
}

// rememberer is a program that stores memories, with a connection to it.
type rememberer struct {
	b    *ground
	app  *app.App
	key  string
	conn *client
	stop func()
}

func (k *keeping) rememberer(with func(*config.Config)) *rememberer {
	b, before := k.ground, len(k.after)
	a := b.start(func(c *config.Config) {
		with(c)
		unlimited := c.Tiers["unlimited"]
		unlimited.RequestsPerMinute = 1 << 30
		c.Tiers["unlimited"] = unlimited
	})
	mine := slices.Clone(b.after[before:])
	b.after = b.after[:before]
	m := &rememberer{b: b, app: a, stop: sync.OnceFunc(func() {
		for _, f := range slices.Backward(mine) {
			f()
		}
	})}
	b.Cleanup(m.stop)
	first, _ := a.First()
	m.key = first.APIKey
	m.conn = m.dial()
	return m
}

func (m *rememberer) dial() *client {
	c, err := dial(address(m.app), nil)
	m.b.must(err)
	return c
}

// post sends a body and returns the body of the response.
func (m *rememberer) post(c *client, path string, body []byte) []byte {
	answer, err := c.answer(request("POST", path, string(body), "X-API-Key: "+m.key))
	m.b.must(err)
	return answer
}

// fill writes memories of one subject in batches.
func (m *rememberer) fill(subject string, texts []string) (took []time.Duration) {
	for some := range slices.Chunk(texts, batchSize) {
		items := make([]map[string]any, len(some))
		for i, text := range some {
			items[i] = map[string]any{
				"subjectId": subject, "text": text, "kind": "turn", "sessionId": fmt.Sprintf("s%d", i/40),
				"speaker": []string{"Ada", "Ben"}[i%2],
			}
		}
		body, err := json.Marshal(map[string]any{"items": items})
		m.b.must(err)
		began := time.Now()
		m.post(m.conn, "/api/v1/memories/batch", body)
		took = append(took, time.Since(began))
	}
	return took
}

// recall recalls once and returns the time of the ranking.
func (m *rememberer) recall(subject, query string) time.Duration {
	body, err := json.Marshal(map[string]any{"subjectId": subject, "query": query})
	m.b.must(err)
	var answer struct{ TookMs float64 }
	m.b.must(json.Unmarshal(m.post(m.conn, "/api/v1/memories/recall", body), &answer))
	return time.Duration(answer.TookMs * float64(time.Millisecond))
}

// warm alternates recalls with waits for the disk, because the time of the latter changes from minute to minute.
func (m *rememberer) warm(what, subject string, queries []string, disk func() time.Duration) {
	var ranking, whole, waits []time.Duration
	for i, q := range append(queries[:50:50], queries...) {
		if disk != nil {
			waits = append(waits, disk())
		}
		began := time.Now()
		took := m.recall(subject, q)
		if i >= 50 {
			ranking, whole = append(ranking, took), append(whole, time.Since(began))
		}
	}
	row(what+", ranking", ranking)
	row(what+", whole request", whole)
	if disk != nil {
		row("the disk meanwhile", waits)
	}
}

// mixed has clients recall of subjects of different sizes at the same time, with durable reads: 30 of 100 memories, nine of 1,000
// and "first", each as often.
func (m *rememberer) mixed(texts, queries []string) {
	const clients, each = 8, 500
	subjects := []string{"first"}
	for i := range 39 {
		subject, n := fmt.Sprint("mixed-", i), 100
		if i < 9 {
			n = 1000
		}
		m.fill(subject, texts[i*n:(i+1)*n])
		m.recall(subject, queries[i]) // now its index exists
		subjects = append(subjects, subject)
	}
	took := make([][]time.Duration, clients)
	var all sync.WaitGroup
	began := time.Now()
	for c := range clients {
		all.Go(func() {
			conn := m.dial()
			for i := range each {
				body, err := json.Marshal(map[string]any{"subjectId": subjects[(c*each+i)%len(subjects)], "query": queries[(c*each+7*i)%len(queries)]})
				m.b.must(err)
				start := time.Now()
				m.post(conn, "/api/v1/memories/recall", body)
				took[c] = append(took[c], time.Since(start))
			}
		})
	}
	all.Wait()
	rate := clients * each / time.Since(began).Seconds()
	row("8 clients on 40 subjects, whole request", slices.Concat(took...))
	fmt.Printf("%48s  %.0f recalls a second\n", "8 clients on 40 subjects, durable reads", rate)
}
