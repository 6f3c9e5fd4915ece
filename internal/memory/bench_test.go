//go:build unix

package memory_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"keepsake/internal/memory"
	"keepsake/internal/search/document"
	"keepsake/internal/store/postgres"
	"keepsake/internal/store/sqlite"
	"keepsake/internal/testing/enginetest"
)

// sentence returns a text of the length of one or two spoken sentences.
func sentence(i int64) string {
	return fmt.Sprintf("On day %d she said that the walk in the morning does her good, and that she wants to try %s again.", i, strings.Repeat("tea ", int(i%7)))
}

// lastingEngines are the engines, whose commits wait for the disk.
func lastingEngines(b *testing.B) map[string]func(b *testing.B) *bundle {
	b.Helper()
	var server *enginetest.PostgresServer
	return map[string]func(b *testing.B) *bundle{
		"SQLite": func(b *testing.B) *bundle { b.Helper(); return onSQLite(b) },
		"PostgreSQL": func(in *testing.B) *bundle {
			in.Helper()
			if server == nil { // it lives as long as b
				server = enginetest.StartPostgres(b, enginetest.PostgresOptions{Fsync: true, Settings: map[string]string{
					"shared_buffers": "'256MB'", "min_wal_size": "'512MB'", "max_wal_size": "'2GB'",
				}})
			}
			url := server.Database(in)
			noError(in, postgres.Migrate(in.Context(), postgres.Options{URL: url}))
			return onPostgres(in, url)
		},
	}
}

// BenchmarkWrites compares, in one run, 64 clients that each write a memory at a time with 64 that write a bare row into
// the store: both wait for the disk, and share its commits.
func BenchmarkWrites(b *testing.B) {
	engines := lastingEngines(b)
	for _, name := range slices.Sorted(maps.Keys(engines)) {
		b.Run(name, func(b *testing.B) { measureWrites(b, engines[name]) })
	}
}

func measureWrites(b *testing.B, open func(b *testing.B) *bundle) {
	const clients = 64
	rate := map[string]float64{}
	measure := func(name, row string, b *testing.B, write func(i int64) error) {
		var next atomic.Int64
		var all sync.WaitGroup
		began := cpu(b)
		b.ResetTimer()
		for range clients {
			all.Go(func() {
				for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
					if err := write(i); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		rate[name] = float64(b.N) / b.Elapsed().Seconds()
		b.ReportMetric(rate[name], "writes/s")
		b.ReportMetric(float64((cpu(b)-began).Microseconds())/float64(b.N), "cpu-µs/op")
		if row != "" {
			b.ReportMetric(rate[name]/rate["Raw"], "×raw")
			b.ReportMetric(rate[name]/rate[row], "×row")
		}
	}
	b.Run("Raw", func(b *testing.B) {
		s := open(b).store
		measure("Raw", "", b, func(i int64) error {
			return s.Run(b.Context(), func(ctx context.Context) error {
				_, err := s.Documents.PutDocument(ctx, "wsp_a", &document.Document{ID: fmt.Sprint("d", i), Text: sentence(i)}, document.Put{})
				return err
			})
		})
	})
	for _, subjects := range []int64{1, 1000} {
		row := fmt.Sprint("RawRow", subjects)
		b.Run(row, func(b *testing.B) { // the same row with its indexes, and nothing around it
			s := open(b).store
			measure(row, "", b, func(i int64) error {
				r := bareRow(i, subjects)
				return s.Run(b.Context(), func(ctx context.Context) error { return s.Memories.InsertMemories(ctx, "wsp_a", []*memory.Row{r}) })
			})
		})
		name := fmt.Sprint(subjects, "Subjects")
		b.Run(name, func(b *testing.B) {
			s := open(b)
			s.live()
			for i := range subjects {
				s.create(b, memory.Memory{SubjectID: fmt.Sprint("s", i), Text: "first"})
			}
			measure(name, row, b, func(i int64) error {
				_, err := s.put(b.Context(), anna, memory.Memory{
					SubjectID: fmt.Sprint("s", i%subjects), SessionID: fmt.Sprint("t", i%50), AgentID: "coach", Kind: memory.Turn, Text: sentence(i),
				})
				return err
			})
		})
	}
}

// bareRow is a row as a memory's, of one of so many subjects.
func bareRow(i, subjects int64) *memory.Row {
	now := time.Now()
	row := &memory.Row{
		ID: fmt.Sprint("mem_", i), Generation: 1, Kind: memory.Turn, At: now, CreatedAt: now, UpdatedAt: now, Size: 100, Revision: 1, Change: i,
		Sealed: make([]byte, 400), Agent: memory.Hash{2}, Session: memory.Hash{byte(i % 50)},
	}
	mixed := func(n int64) uint64 { return uint64(n+1) * 0x9e3779b97f4a7c15 }
	binary.BigEndian.PutUint64(row.DedupHash[:], mixed(i))
	binary.BigEndian.PutUint64(row.Subject[:], mixed(i%subjects))
	return row
}

// cpu is the time that this process has spent on its cores: what is said of a machine that others use, too.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// live lets the time of the machine pass.
func (b *bundle) live() {
	other := b.with(func(o *memory.Options) { o.Now = time.Now })
	b.Service = other.Service
	b.log.Now = time.Now
}

// BenchmarkBatch writes batches of a thousand.
func BenchmarkBatch(b *testing.B) {
	engines := lastingEngines(b)
	for _, name := range slices.Sorted(maps.Keys(engines)) {
		b.Run(name, func(b *testing.B) {
			s := engines[name](b)
			s.live()
			n := int64(0)
			began := cpu(b)
			for b.Loop() {
				var list []memory.Memory
				for range 1000 {
					n++
					list = append(list, memory.Memory{SubjectID: "ada", SessionID: fmt.Sprint("t", n%50), AgentID: "coach", Text: sentence(n)})
				}
				if _, err := s.batch(b.Context(), anna, false, list...); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpu(b)-began).Milliseconds())/float64(b.N), "cpu-ms/op")
		})
	}
}

// BenchmarkMillion fills a store with 1,000,000 memories of 5,000 subjects, opens it again and asks it. It is for one turn:
// -benchtime 1x.
func BenchmarkMillion(b *testing.B) {
	const subjects, each = 5000, 200
	dir := b.TempDir()
	open := func() (*sqlite.Engine, *bundle) {
		engine, err := sqlite.Open(b.Context(), sqlite.Options{Dir: dir, Log: slog.New(slog.DiscardHandler)})
		noError(b, err)
		s := assemble(b, engine, dir, true)
		s.live()
		return engine, s
	}
	engine, s := open()
	n := int64(0)
	filled := time.Now()
	for first := 0; first < subjects; first += 5 {
		var list []memory.Memory
		for i := range 5 * each {
			n++
			list = append(list, memory.Memory{
				SubjectID: fmt.Sprint("s", first+i/each), SessionID: fmt.Sprint("t", n/20), AgentID: "coach", Kind: memory.Turn, Text: sentence(n),
			})
		}
		_, err := s.batch(b.Context(), anna, true, list...)
		noError(b, err)
	}
	b.ReportMetric(time.Since(filled).Seconds(), "s-to-fill")
	noError(b, engine.Close())
	timed := func(name string, do func() error) {
		began := time.Now()
		noError(b, do())
		b.ReportMetric(float64(time.Since(began).Microseconds())/1000, name)
	}
	for b.Loop() {
		timed("ms-to-start", func() error {
			engine, s = open()
			return s.Sweeper.Sweep(b.Context(), time.Now())
		})
		list := func(f memory.Filter) func() error {
			f.Limit = 50
			return func() error {
				found, _, err := s.Reader.List(b.Context(), anna, f)
				if err == nil && len(found) != 50 {
					err = fmt.Errorf("listed %d", len(found))
				}
				return err
			}
		}
		timed("ms-first-list", list(memory.Filter{}))
		timed("ms-list", list(memory.Filter{}))
		timed("ms-list-subject", list(memory.Filter{SubjectID: "s4000"}))
		timed("ms-list-agent", list(memory.Filter{AgentID: "coach"}))
		timed("ms-subject", func() error { _, err := s.SubjectReader.Subject(b.Context(), anna, "s4001"); return err })
		timed("ms-write", func() error {
			_, err := s.put(b.Context(), anna, memory.Memory{SubjectID: "s4002", Text: "one more"})
			return err
		})
		recall := func() error {
			found, err := s.Recaller.Recall(b.Context(), anna, memory.RecallQuery{SubjectID: "s4003", Query: "walk in the morning", Limit: 10})
			if err == nil && len(found.Results) != 10 {
				err = fmt.Errorf("recalled %d", len(found.Results))
			}
			return err
		}
		timed("ms-recall-cold", recall)
		timed("ms-recall-warm", recall)
		timed("ms-erase", func() error { _, err := s.SubjectEraser.Erase(b.Context(), anna, "s4004"); return err })
		info, err := os.Stat(filepath.Join(dir, "main.db"))
		noError(b, err)
		b.ReportMetric(float64(info.Size())/(1<<20), "MiB")
		noError(b, engine.Close())
	}
}
