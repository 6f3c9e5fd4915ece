package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// mix is a steady load of searches and writes: of the workspace whose index is in OpenSearch, and of the others.
type mix struct {
	kinds   [6]tally
	ledgers []*ledger
	stop    func()
}

// The kinds of requests of a mix.
const (
	bigSearch = iota
	bigFound  // a search right after a write, which must find it
	bigWrite
	smallSearch
	smallFound
	smallWrite
)

var kinds = [...]string{
	"searches in OpenSearch", "of what was just written", "writes to that workspace", "searches in the others", "of what was just written",
	"writes to the others",
}

// startMix starts clients: 8 searches a second of the one workspace, 6 writes and 50 imported documents, and 40 searches and 12 writes of
// the others.
func (s *scale) startMix() *mix {
	s.mixes++
	m := &mix{}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	m.stop = func() {
		cancel()
		running.Wait()
	}
	name := func(kind string, n int) string { return fmt.Sprintf("%s%dm%d", kind, s.mixes, n) }
	for n := range 4 {
		running.Go(func() {
			paced(ctx, 500*time.Millisecond, func(i int) { m.search(bigSearch, s.big, 4*i+n, ctx) })
		})
		running.Go(func() {
			paced(ctx, 100*time.Millisecond, func(i int) { m.search(smallSearch, s.small[(4*i+n)%len(s.small)], i, ctx) })
		})
	}
	for n := range 3 {
		l := newLedger(s.big, name("b", n))
		m.ledgers = append(m.ledgers, l)
		running.Go(func() {
			paced(ctx, 500*time.Millisecond, func(i int) {
				l.write(i, ctx, &m.kinds[bigWrite])
				if i%4 == 0 {
					m.found(bigFound, l, fmt.Sprint(l.name, "-", i))
				}
			})
		})
	}
	imports := newLedger(s.big, name("s", 0))
	m.ledgers = append(m.ledgers, imports)
	running.Go(func() {
		paced(ctx, time.Second, func(i int) { imports.stream(i, ctx, &m.kinds[bigWrite]) })
	})
	for n := range min(6, len(s.small)) {
		l := newLedger(s.small[n], name("t", n))
		m.ledgers = append(m.ledgers, l)
		running.Go(func() {
			paced(ctx, 500*time.Millisecond, func(i int) {
				l.write(i, ctx, &m.kinds[smallWrite])
				if i%4 == 0 {
					m.found(smallFound, l, fmt.Sprint(l.name, "-", i))
				}
			})
		})
	}
	return m
}

// search searches two words. A search of a workspace that is not in OpenSearch is repeated once if it fails.
func (m *mix) search(kind int, t *tenancy, n int, until context.Context) {
	for try := range 2 {
		began := time.Now()
		status, answer, err := t.search(n)
		good := status == 200
		m.kinds[kind].add(outcome{took: time.Since(began), status: status, good: good, again: try > 0, text: textOf(answer, err)})
		if good || kind == bigSearch {
			return
		}
		select {
		case <-until.Done():
			return
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// found searches for a document that was written.
func (m *mix) found(kind int, l *ledger, id string) {
	l.mu.Lock()
	word := l.has[id]
	l.mu.Unlock()
	if word == "" {
		return
	}
	began := time.Now()
	total, status, err := l.total(word)
	text := textOf(nil, err)
	if err == nil && total != 1 {
		text = fmt.Sprintf("%s is found %d times", word, total)
	}
	m.kinds[kind].add(outcome{took: time.Since(began), status: status, good: err == nil && total == 1, text: text})
}

// settled waits until all that was written can be found, and returns how long that took.
func (s *scale) settled() (time.Duration, error) {
	took, err := s.big.untilFound(15 * time.Minute)
	if err != nil {
		return took, fmt.Errorf("wait until searches find everything: %w", err)
	}
	return took, nil
}
