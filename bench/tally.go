package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// outcome is that of a request.
type outcome struct {
	took   time.Duration
	status int  // 0: no answer
	good   bool // it is what the client wanted
	again  bool // the client repeats a request that failed
	text   string
}

// tally counts the outcomes of requests of one kind.
type tally struct {
	mu       sync.Mutex
	good     []time.Duration
	refused  []time.Duration // 503
	failed   int             // other statuses and no answer
	twice    int             // of those that are not good, repetitions
	examples map[string]int
}

func (t *tally) add(o outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case o.good:
		t.good = append(t.good, o.took)
		return
	case o.status == 503:
		t.refused = append(t.refused, o.took)
	default:
		t.failed++
	}
	if o.again {
		t.twice++
	}
	if t.examples == nil {
		t.examples = map[string]int{}
	}
	t.examples[fmt.Sprint(o.status, " ", o.text)]++
}

// bad is how many requests were not answered well.
func (t *tally) bad() int { return len(t.refused) + t.failed }

// spread is the median, the p99 and the longest of times.
func spread(took []time.Duration) string {
	if len(took) == 0 {
		return "-"
	}
	slices.Sort(took)
	round := func(d time.Duration) time.Duration {
		if d > 100*time.Millisecond {
			return d.Round(time.Millisecond)
		}
		return d.Round(10 * time.Microsecond)
	}
	return fmt.Sprintf("%v / %v / %v", round(took[len(took)/2]), round(took[int(.99*float64(len(took)-1))]), round(took[len(took)-1]))
}

func (t *tally) print(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Printf("%32s  %6d good, %s", what, len(t.good), spread(t.good))
	if t.bad() > 0 {
		fmt.Printf("; %d are 503, %s; %d failed otherwise; %d failed when repeated", len(t.refused), spread(t.refused), t.failed, t.twice)
	}
	fmt.Println()
}

// example returns one of the most frequent failures.
func (t *tally) example() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	most, text := 0, ""
	for example, n := range t.examples {
		if n > most {
			most, text = n, example
		}
	}
	return text
}

// paced calls do with rising numbers at intervals until ctx ends. It leaves out those that came while do was running.
func paced(ctx context.Context, every time.Duration, do func(n int)) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			do(n)
		}
	}
}
