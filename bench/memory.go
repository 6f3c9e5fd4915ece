package main

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http/httputil"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/blevesearch/bleve/v2"

	"keepsake/internal/app"
	"keepsake/internal/config"
	"keepsake/internal/document"
	"keepsake/internal/enginetest"
	"keepsake/internal/memory"
	"keepsake/internal/store"
	"keepsake/internal/store/postgres"
	"keepsake/internal/store/sqlite"
)

// million is how the store of a million memories is asked for; it takes minutes to fill.
var million = flag.Bool("million", false, "memory: a million memories of 5,000 subjects instead")

// onServers is how everything is measured that keeps memories, on private servers that wait for the disk.
var onServers = flag.Bool("postgres", false, "memory: on PostgreSQL and Redis in place of SQLite")

const (
	ofOne     = 10_000 // memories of the subject that is recalled
	batchSize = 1000
	recalls   = 1000
)

// measureMemory tells how long memories take to be written and recalled, as clients see it, over a connection, on all cores
// that there are.
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
		k.others(texts, queries)
	}
	k.writers()
	fmt.Printf("%48s  %s\n", "load in the end", load())
	return nil
}

// keeping is where programs run that keep memories: on files, or on servers.
type keeping struct {
	*ground
	postgres *enginetest.PostgresServer // nil: on files
	redis    *enginetest.RedisServer
}

// serve starts servers. PostgreSQL waits for the disk as in life and has some room.
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

// place is a new place for the data of a program: a database of its own on the server, or nothing beside its folder.
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

// engine opens a raw store.
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

// disk gives what waits for the disk once, which is the least that a logged read waits for: on the server a bare row's
// commit.
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

// load is how busy the machine is: the means of one, five and fifteen minutes.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

// words of a remark: a few hundred that people use, and names that only some remarks have.
var common = strings.Fields(`the a to and of in is it that for was on with as at be by had her she he his they walk morning tea coffee
	sleep doctor sister brother weekend work garden music piano train holiday dinner breakfast run knee pain better worse again
	likes wants said asked planned started finished promised remembers forgot bought sold called visited met tired happy worried
	medicine dose evening week month year birthday party dog cat house kitchen window letter book film city river mountain`)

// remark is about twenty words that somebody says.
func remark(random *rand.Rand) string {
	var b strings.Builder
	for range 12 + random.IntN(16) {
		if random.IntN(5) > 0 {
			b.WriteString(common[random.IntN(len(common))])
		} else {
			fmt.Fprintf(&b, "name%d", int(3000*random.Float64()*random.Float64()))
		}
		b.WriteByte(' ')
	}
	return strings.TrimSpace(b.String())
}

// question is a few words of some remark, among others.
func question(random *rand.Rand, texts []string) string {
	of := strings.Fields(texts[random.IntN(len(texts))])
	words := []string{"what", "about"}
	for range 4 {
		words = append(words, of[random.IntN(len(of))])
	}
	return strings.Join(words, " ")
}

// row prints what something took.
func row(what string, took []time.Duration) {
	slices.Sort(took)
	at := func(share float64) time.Duration {
		return took[int(share*float64(len(took)-1))].Round(time.Microsecond)
	}
	fmt.Printf("%48s  median %9v  p99 %9v  of %d\n", what, at(0.5), at(0.99), len(took))
}

// rememberer is a program that keeps memories, and a connection to it.
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

// post sends a body and gives the answer's.
func (m *rememberer) post(c *client, path string, body []byte) []byte {
	answer, err := c.answer(request("POST", path, string(body), "X-API-Key: "+m.key))
	m.b.must(err)
	return answer
}

// answer is exchange that keeps the body.
func (c *client) answer(request []byte) ([]byte, error) {
	if _, err := c.conn.Write(request); err != nil {
		return nil, err
	}
	status, err := c.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	size, chunked := -1, false
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		if line == "\r\n" {
			break
		}
		if length, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			if size, err = strconv.Atoi(strings.TrimSpace(length)); err != nil {
				return nil, err
			}
		}
		chunked = chunked || line == "Transfer-Encoding: chunked\r\n"
	}
	var body []byte
	switch {
	case chunked: // a batch's
		if body, err = io.ReadAll(httputil.NewChunkedReader(c.in)); err == nil {
			_, err = c.in.ReadString('\n')
		}
	case size >= 0:
		body = make([]byte, size)
		_, err = io.ReadFull(c.in, body)
	default:
		err = errors.New("an answer without a length")
	}
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(status, "HTTP/1.1 2") {
		return nil, fmt.Errorf("%s: %.300s", strings.TrimSpace(status), body)
	}
	return body, nil
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

// recall asks once and gives what the ranking took.
func (m *rememberer) recall(subject, query string) time.Duration {
	body, err := json.Marshal(map[string]any{"subjectId": subject, "query": query})
	m.b.must(err)
	var answer struct{ TookMs float64 }
	m.b.must(json.Unmarshal(m.post(m.conn, "/api/v1/memories/recall", body), &answer))
	return time.Duration(answer.TookMs * float64(time.Millisecond))
}

// warm recalls again and again, and waits for the disk in between: how long that takes changes from minute to minute.
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

// others are plain searches of the same texts.
func (b *ground) others(texts, queries []string) {
	dir, err := os.MkdirTemp("", "keepsake-bench-")
	b.must(err)
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "fts.db")+"?_pragma=journal_mode(WAL)")
	b.must(err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	_, err = db.Exec("CREATE VIRTUAL TABLE said USING fts5(text, tokenize = 'porter unicode61')")
	b.must(err)
	tx, err := db.Begin()
	b.must(err)
	for _, text := range texts {
		_, err := tx.Exec("INSERT INTO said (text) VALUES (?)", text)
		b.must(err)
	}
	b.must(tx.Commit())
	find, err := db.Prepare("SELECT rowid, text FROM said WHERE said MATCH ? ORDER BY bm25(said) LIMIT 10")
	b.must(err)
	var took []time.Duration
	for _, q := range queries {
		began := time.Now()
		rows, err := find.Query(strings.Join(strings.Fields(q), " OR "))
		b.must(err)
		for rows.Next() {
			var id int64
			var text string
			b.must(rows.Scan(&id, &text))
		}
		b.must(rows.Close())
		took = append(took, time.Since(began))
	}
	row("SQLite FTS5, plain search", took)

	index, err := bleve.New(filepath.Join(dir, "bleve"), bleve.NewIndexMapping())
	b.must(err)
	defer index.Close()
	batch := index.NewBatch()
	for i, text := range texts {
		b.must(batch.Index(strconv.Itoa(i), map[string]any{"text": text}))
	}
	b.must(index.Batch(batch))
	took = nil
	for _, q := range queries {
		began := time.Now()
		_, err := index.Search(bleve.NewSearchRequest(bleve.NewMatchQuery(q)))
		b.must(err)
		took = append(took, time.Since(began))
	}
	row("Bleve, plain search", took)
}

// writers compares 64 clients that each send a memory at a time with 64 that write a bare row of the same table, or a
// document, into the raw store, and with 64 that send a document.
func (k *keeping) writers() {
	const clients, length = 64, 2 * time.Second
	random := rand.New(rand.NewPCG(3, 4))
	texts := make([]string, 1000)
	for i := range texts {
		texts[i] = remark(random)
	}
	rate := func(write func(client, n int64)) float64 {
		var n atomic.Int64
		var all sync.WaitGroup
		began := time.Now()
		for c := range int64(clients) {
			all.Go(func() {
				for time.Since(began) < length {
					write(c, n.Add(1))
				}
			})
		}
		all.Wait()
		return float64(n.Load()) / time.Since(began).Seconds()
	}
	ctx := context.Background()
	engine, stop := k.engine()
	defer stop()
	raw := store.New(engine)
	m := k.rememberer(k.place())
	defer m.stop()
	conns := make([]*client, clients)
	dial := func() { // a connection that says nothing for some seconds is cut off
		for i := range conns {
			if conns[i] != nil {
				_ = conns[i].conn.Close()
			}
			conns[i] = m.dial()
		}
	}
	const subjects = 500
	remember := func(c, n int64) {
		body, err := json.Marshal(map[string]any{"subjectId": fmt.Sprint("subject-", n%subjects), "text": fmt.Sprint(n, " ", texts[n%1000])})
		k.must(err)
		m.post(conns[c], "/api/v1/memories", body)
	}
	dial()
	for n := range int64(subjects) { // each has a key then
		remember(0, n)
	}
	var rows, plain, documents, kept []float64
	const most = 1 << 32 // so that no turn writes what another has written
	for turn := range int64(3) {
		rows = append(rows, rate(func(_, n int64) {
			r := bareRow(turn*most+n, subjects)
			k.must(raw.Run(ctx, func(ctx context.Context) error { return raw.InsertMemories(ctx, "wsp_bench", []*memory.Row{r}) }))
		}))
		plain = append(plain, rate(func(_, n int64) {
			k.must(raw.Run(ctx, func(ctx context.Context) error {
				_, err := raw.PutDocument(ctx, "wsp_bench", &document.Document{ID: fmt.Sprint("d", n), Text: texts[n%1000], UpdatedAt: time.Now()}, document.Put{})
				return err
			}))
		}))
		dial()
		documents = append(documents, rate(func(c, n int64) {
			body, err := json.Marshal(map[string]any{"text": texts[n%1000]})
			k.must(err)
			m.post(conns[c], "/api/v1/documents", body)
		}))
		kept = append(kept, rate(func(c, n int64) { remember(c, turn*most+n+subjects) }))
	}
	fmt.Printf("%48s  %.0f a second\n", "64 clients write bare documents", middle(plain))
	fmt.Printf("%48s  %.0f a second\n", "64 clients write bare rows of memories", middle(rows))
	fmt.Printf("%48s  %.0f a second\n", "64 clients write documents over HTTP", middle(documents))
	fmt.Printf("%48s  %.0f a second: %.2f of bare rows, %.2f of bare documents, %.2f of documents\n", "64 clients write memories over HTTP",
		middle(kept), middle(kept)/middle(rows), middle(kept)/middle(plain), middle(kept)/middle(documents))
}

// bareRow is a row as a memory's, of one of so many subjects.
func bareRow(i, subjects int64) *memory.Row {
	now := time.Now()
	row := &memory.Row{
		ID: fmt.Sprint("mem_", i), Generation: 1, Kind: memory.Turn, At: now, CreatedAt: now, UpdatedAt: now, Size: 100, Revision: 1, Change: i,
		Sealed: make([]byte, 400), Agent: memory.Hash{2}, Session: memory.Hash{byte(i % 50)},
	}
	mixed := func(n int64) uint64 { return uint64(n+1) * 0x9e3779b97f4a7c15 }
	binary.BigEndian.PutUint64(row.Same[:], mixed(i))
	binary.BigEndian.PutUint64(row.Subject[:], mixed(i%subjects))
	return row
}

// million measures one store of a million memories of 5,000 subjects.
func (k *keeping) million() {
	const subjects, each = 5000, 200
	dir, err := os.MkdirTemp("", "keepsake-bench-")
	k.must(err)
	defer os.RemoveAll(dir)
	place := k.place()
	in := func(c *config.Config) {
		place(c)
		c.Data = filepath.Join(dir, "data")
		c.Memory.Cache = 64
	}
	fmt.Printf("\na million memories of 5,000 subjects on %s, a cache of 64 MiB, GOMAXPROCS=%d; load %s\n", k.name(), runtime.GOMAXPROCS(0), load())
	random := rand.New(rand.NewPCG(5, 6))
	m := k.rememberer(in)
	began := time.Now()
	var sample []string
	for s := 0; s < subjects; s += 5 { // five subjects a batch
		items := make([]map[string]any, 0, 5*each)
		for i := range 5 * each {
			text := remark(random)
			items = append(items, map[string]any{"subjectId": fmt.Sprint("subject-", s+i/each), "text": text, "kind": "turn", "sessionId": fmt.Sprintf("s%d", i%each/40)})
			if i == 0 {
				sample = append(sample, text)
			}
		}
		body, err := json.Marshal(map[string]any{"items": items})
		k.must(err)
		m.post(m.conn, "/api/v1/memories/batch", body)
	}
	fmt.Printf("%48s  %v, %.0f a second\n", "filled in", time.Since(began).Round(time.Second), 1e6/time.Since(began).Seconds())
	texts := make([]string, ofOne)
	for i := range texts {
		texts[i] = remark(random)
	}
	m.fill("large", texts)
	key := m.key
	m.stop()

	debug.FreeOSMemory() // what filling took is not what the start takes
	before := resident()
	began = time.Now()
	m = k.rememberer(in)
	m.key = key
	fmt.Printf("%48s  %v; %d MB resident before it, %d after\n", "start", time.Since(began).Round(time.Millisecond), before, resident())
	var first []time.Duration
	for s := range subjects {
		began := time.Now()
		m.recall(fmt.Sprint("subject-", s), question(random, sample))
		first = append(first, time.Since(began))
	}
	row("first recall of each subject, whole request", first)
	fmt.Printf("%48s  %d MB resident\n", "after all 5,000", resident())
	queries := make([]string, recalls)
	for i := range queries {
		queries[i] = question(random, texts)
	}
	disk := k.disk()
	m.warm("subject of 200, warm", "subject-7", queries, disk)
	m.warm("subject of 10,000, warm", "large", queries, disk)
	fmt.Printf("%48s  %d MB resident; load %s\n", "in the end", resident(), load())
}

// resident is the memory of this process in MB.
func resident() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	var kb int64
	_, _ = fmt.Sscan(rest, &kb)
	return kb / 1024
}
