package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"keepsake/internal/memory"
	"keepsake/internal/search/document"
	"keepsake/internal/store"
)

// writers compares 64 clients that send single memories with 64 goroutines that write a bare row of the same table, or a
// document, directly into the store, and with 64 clients that send single documents.
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
	dial := func() { // the server closes connections that are idle for some seconds
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
	for n := range int64(subjects) { // now each has a data key
		remember(0, n)
	}
	var rows, plain, documents, kept []float64
	const most = 1 << 32 // so that no turn writes the rows of another
	for turn := range int64(3) {
		rows = append(rows, rate(func(_, n int64) {
			r := bareRow(turn*most+n, subjects)
			k.must(raw.Run(ctx, func(ctx context.Context) error {
				return raw.Memories.InsertMemories(ctx, "wsp_bench", []*memory.Row{r})
			}))
		}))
		plain = append(plain, rate(func(_, n int64) {
			k.must(raw.Run(ctx, func(ctx context.Context) error {
				_, err := raw.Documents.PutDocument(ctx, "wsp_bench", &document.Document{ID: fmt.Sprint("d", n), Text: texts[n%1000], UpdatedAt: time.Now()}, document.Put{})
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

// bareRow returns a row like that of a memory, of one of the subjects.
func bareRow(i, subjects int64) *memory.Row {
	now := time.Now()
	row := &memory.Row{
		ID: fmt.Sprint("mem_", i), Generation: 1, Kind: memory.Turn, At: now, CreatedAt: now, UpdatedAt: now, Size: 100, Revision: 1, Change: i,
		Sealed: make([]byte, 400), OwnKey: make([]byte, 32), Agent: memory.Hash{2}, Session: memory.Hash{byte(i % 50)},
	}
	mixed := func(n int64) uint64 { return uint64(n+1) * 0x9e3779b97f4a7c15 }
	binary.BigEndian.PutUint64(row.DedupHash[:], mixed(i))
	binary.BigEndian.PutUint64(row.Subject[:], mixed(i%subjects))
	return row
}
