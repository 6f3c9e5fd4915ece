package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	keepsake "keepsake/client"
	"keepsake/internal/app/config"
)

// withEmbeddings measures recalls with an embeddings endpoint alone.
var withEmbeddings = flag.Bool("embeddings", false, "memory: what an embeddings endpoint costs a recall")

// serveVectors is an endpoint whose vectors have one dimension for each word. It costs nearly nothing, so what is measured is the
// cost of Keepsake and of a request over the loopback interface.
func serveVectors() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		data := make([]map[string]any, len(body.Input))
		for i, text := range body.Input {
			v := make([]float32, 256)
			for word := range strings.FieldsSeq(strings.ToLower(text)) {
				h := fnv.New32a()
				h.Write([]byte(word))
				v[h.Sum32()%256]++
			}
			data[i] = map[string]any{"index": i, "embedding": v}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
	}))
}

// embedded compares recalls of the same memories before and after they have vectors.
func (k *keeping) embedded(texts, queries []string) {
	server := serveVectors()
	defer server.Close()
	place := k.place()
	m := k.rememberer(func(c *config.Config) {
		place(c)
		c.Embeddings = config.Embeddings{URL: server.URL + "/v1", Model: "bench", AllowPrivate: true, DailyTexts: 1 << 30}
	})
	defer m.stop()
	ctx := context.Background()
	operator, err := keepsake.New(m.app.PrimaryURL(), m.key)
	k.must(err)
	first, _ := m.app.First()
	m.fill("first", texts)
	m.warm("without the endpoint", "first", queries, nil)
	began := time.Now()
	_, err = operator.ChangeWorkspace(ctx, first.WorkspaceID, keepsake.WorkspaceChange{Embeddings: keepsake.To(true)}, nil)
	k.must(err)
	for waiting := true; waiting; {
		time.Sleep(10 * time.Millisecond)
		stats, err := operator.CacheStats(ctx)
		k.must(err)
		p := stats.Embeddings.Progress
		waiting = p == nil || p.Memories == 0 || p.WaitingMemories > 0
	}
	fmt.Printf("%48s  %v\n", "back-fill of 10,000 memories", time.Since(began).Round(time.Millisecond))
	began = time.Now()
	m.recall("first", queries[0])
	fmt.Printf("%48s  %v\n", "next recall, which reads 10,000 vectors", time.Since(began).Round(time.Millisecond))
	m.warm("with the endpoint", "first", queries, nil)
	fmt.Printf("%48s  %s\n", "load in the end", load())
}
