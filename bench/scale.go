package main

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	keepsake "keepsake/client"
	"keepsake/internal/testing/enginetest"
)

// Sizes of measureScale; -documents is that of the workspace in OpenSearch.
var (
	smallWorkspaces = flag.Int("small", 50, "scale: workspaces with an index in the instances")
	smallEach       = flag.Int("each", 2_000, "scale: documents of each of them")
	faultLength     = flag.Duration("fault", time.Minute, "scale: how long each fault lasts")
	scaleLongest    = flag.Duration("longest", 3*time.Hour, "scale: ends the measurement after this time")
)

// scale is the environment of measureScale.
type scale struct {
	*fleet
	corpus *corpus // of big
	big    *tenancy
	small  []*tenancy
	mixes  int
	all    []*ledger
}

// measureScale measures one large workspace whose index is in OpenSearch beside many small ones in three instances, from outside and on
// the built program: what an import and searches cost each server, which requests fail while instances and OpenSearch fail, and
// whether searches then find what the database has. It compares OpenSearch with a plain use of it, and then does measureLazy.
func measureScale(c contest, dir string, builds []string) (err error) {
	b := &ground{}
	defer endWith(b, *scaleLongest)()
	began := time.Now()
	err = func() (err error) {
		defer func() {
			b.clear() // but what servers share is for measureLazy, too, which stops it
			if given, ok := recover().(stopped); ok {
				err = given.error
			}
		}()
		s := &scale{fleet: startFleet(b, filepath.Join(dir, "fleet"), builds[len(builds)-1]), corpus: newCorpus(*smallCorpus, 2)}
		fmt.Printf("\nthree instances behind nginx, PostgreSQL, Redis and one node of OpenSearch (heap %s) on %d cores; load %s\n",
			nodeHeap, runtime.NumCPU(), load())
		s.must(s.fill())
		// The rest is worth measuring also if a part fails.
		err = errors.Join(s.alone(), s.plain())
		for _, f := range s.faults() {
			if failed := s.beside(f); failed != nil {
				fmt.Printf("%32s  %v\n", "failed:", failed)
				err = errors.Join(err, failed)
			}
		}
		return errors.Join(err, s.auditAll())
	}()
	if err != nil {
		enginetest.Stop()
		return err
	}
	fmt.Printf("\nafter %v\n", time.Since(began).Round(time.Second))
	dir = filepath.Join(dir, "lazy")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return measureLazy(c, dir, builds)
}

// fill creates and imports the workspaces.
func (s *scale) fill() error {
	s.big = s.tenancy("big", s.corpus.queries)
	if err := s.moveToOpenSearch(s.big); err != nil {
		return err
	}
	before, began := s.spent(), time.Now()
	shown := began
	err := s.big.fill(s.corpus, func(stored int) {
		if time.Since(shown) > 30*time.Second {
			shown = time.Now()
			fmt.Printf("%32s  %d of %d documents after %v\n", "", stored, s.corpus.documents, time.Since(began).Round(time.Second))
		}
	})
	if err != nil {
		return err
	}
	stored := time.Since(began)
	behind, err := s.big.untilFound(time.Hour)
	if err != nil {
		return fmt.Errorf("wait until the import can be found: %w", err)
	}
	after := s.spent()
	n := s.corpus.documents
	fmt.Printf("\n%-32s  %9s %10s %10s %10s %10s\n", "an import of "+fmt.Sprint(n), "a second", "Keepsake", "PostgreSQL", "Redis", "OpenSearch")
	fmt.Printf("%32s  %9.0f %s\n", "documents, CPU of each", float64(n)/(stored+behind).Seconds(), after.each(before, n))
	fmt.Printf("%32s  %v, and %v later all were found\n", "stored in", stored.Round(100*time.Millisecond), behind.Round(10*time.Millisecond))
	s.sizes()

	corpus := newCorpus(*smallEach, 2)
	before, began = s.spent(), time.Now()
	for i := range *smallWorkspaces {
		t := s.tenancy(fmt.Sprint("small", i), corpus.queries)
		if err := t.fill(corpus, func(int) {}); err != nil {
			return err
		}
		if _, err := t.untilFound(time.Minute); err != nil {
			return err
		}
		s.small = append(s.small, t)
	}
	n = *smallWorkspaces * *smallEach
	fmt.Printf("%32s  %9.0f %s\n", fmt.Sprintf("%d x %d elsewhere", *smallWorkspaces, *smallEach), float64(n)/time.Since(began).Seconds(),
		s.spent().each(before, n))
	return nil
}

// moveToOpenSearch moves the index of a workspace.
func (s *scale) moveToOpenSearch(t *tenancy) error {
	c, err := keepsake.New(s.url, s.key)
	if err != nil {
		return err
	}
	_, err = c.ChangeWorkspace(s.Context(), t.id, keepsake.WorkspaceChange{SearchEngine: keepsake.To(keepsake.SearchOpenSearch)}, nil)
	if err != nil {
		return fmt.Errorf("move the index: %w", err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		w, err := c.WorkspaceRecord(s.Context(), t.id)
		if err == nil && w.SearchMove == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("the index does not move: %+v %w", w, err)
		}
	}
}

// sizes prints the bytes on disk and the resident memory of the servers.
func (s *scale) sizes() {
	database, err := sizeOf(filepath.Join(s.postgres.Files(), "data", "base"))
	s.must(err)
	index, err := sizeOf(filepath.Join(s.node.Dir, "data"))
	s.must(err)
	n := int64(s.corpus.documents)
	fmt.Printf("%32s  PostgreSQL %d MB, %d each; OpenSearch %d MB, %d each; %d of text\n", "bytes on disk", database>>20, database/n,
		index>>20, index/n, s.corpus.bytes/n)
	var resident []string
	for _, m := range s.members {
		resident = append(resident, fmt.Sprint(residentOf(m.PID())))
	}
	fmt.Printf("%32s  instances %s, OpenSearch %d\n", "MB resident", strings.Join(resident, ", "), residentOf(s.node.PID()))
}

// alone measures requests one after the other.
func (s *scale) alone() error {
	fmt.Printf("\n%-32s  %6s %28s %10s %10s %10s %10s\n", "one client", "", "median / p99 / longest", "Keepsake", "PostgreSQL", "Redis", "OpenSearch")
	health := func(t *tenancy) func(int) error {
		return func(int) error {
			status, answer, err := t.do(http.MethodGet, "/api/v1/health", nil)
			return wanted(status, answer, err)
		}
	}
	search := func(list ...*tenancy) func(int) error {
		return func(n int) error {
			status, answer, err := list[n%len(list)].search(n / len(list))
			return wanted(status, answer, err)
		}
	}
	var nothing tally
	put := func(l *ledger) func(int) error {
		return func(n int) error {
			l.put(fmt.Sprint(l.name, "-", n), s.Context(), &nothing)
			return nil
		}
	}
	big, small := newLedger(s.big, "ba"), newLedger(s.small[0], "sa")
	s.all = append(s.all, big, small)
	warm, rest := *s.big, *s.big
	half := len(s.big.queries) / 2
	warm.queries, rest.queries = s.big.queries[:half], s.big.queries[half:]
	for n := range half {
		_ = search(&warm)(n) // if this fails, so do those that are measured
	}
	for _, o := range []struct {
		name  string
		count int
		do    func(int) error
	}{
		{"health", 2_000, health(s.small[0])},
		{"two words in OpenSearch", len(rest.queries), search(&rest)},
		{"that search, repeated", len(rest.queries), search(&rest)},
		{"two words elsewhere", 20 * len(s.small), search(s.small...)},
		{"write a document there", 100, put(big)},
		{"write a document elsewhere", 100, put(small)},
	} {
		s.measure(o.name, o.count, o.do)
	}
	const restSeconds = 10
	before := s.spent()
	time.Sleep(restSeconds * time.Second)
	fmt.Printf("%32s  %6s %28s %s\n", "at rest, a second", "", "", s.spent().each(before, restSeconds))
	for _, l := range []*ledger{big, small} {
		if err := s.writtenUntilFound(l); err != nil {
			return err
		}
	}
	return nil
}

func wanted(status int, answer []byte, err error) error {
	if status != http.StatusOK {
		return fmt.Errorf("answer %d %s", status, textOf(answer, err))
	}
	return nil
}

// measure prints the times and costs of requests. Those that fail have a cost, but no time.
func (s *scale) measure(name string, count int, do func(n int) error) {
	var took []time.Duration
	var failed error
	before := s.spent()
	for n := range count {
		began := time.Now()
		if err := do(n); err != nil {
			failed = err
			continue
		}
		took = append(took, time.Since(began))
	}
	fmt.Printf("%32s  %6d %28s %s\n", name, count, spread(took), s.spent().each(before, count))
	if failed != nil {
		fmt.Printf("%32s  %d of them: %.200v\n", "failed:", count-len(took), failed)
	}
}

// writtenUntilFound measures how long after a write a search has found it.
func (s *scale) writtenUntilFound(l *ledger) error {
	const count = 100
	var took []time.Duration
	var nothing tally
	refused := 0
	for n := range count {
		id := fmt.Sprint(l.name, "-found-", n)
		l.put(id, s.Context(), &nothing)
		began := time.Now()
		total, status, err := l.total(l.has[id])
		for ; status == http.StatusServiceUnavailable && time.Since(began) < time.Minute; total, status, err = l.total(l.has[id]) {
			refused++
		}
		if err != nil || total != 1 {
			return fmt.Errorf("a document that was written is found %d times: %w", total, err)
		}
		took = append(took, time.Since(began))
	}
	fmt.Printf("%32s  %6d %28s   %d searches were 503\n", "written until found, "+l.tenancy.name, count, spread(took), refused)
	return nil
}
