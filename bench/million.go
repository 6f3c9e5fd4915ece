package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"keepsake/internal/app/config"
)

// million selects the store of a million memories, which takes minutes to fill.
var million = flag.Bool("million", false, "memory: a million memories of 5,000 subjects instead")

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
	for s := 0; s < subjects; s += 5 { // five subjects per batch
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

	debug.FreeOSMemory() // exclude the memory of filling from that of the start
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

// resident returns the resident memory of this process in MB.
func resident() int64 { return residentOf(os.Getpid()) }
