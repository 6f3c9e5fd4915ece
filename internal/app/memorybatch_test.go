//go:build unix

package app_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"syscall"
	"testing"
	"time"

	"keepsake/internal/app/apptest"
)

// BenchmarkMemoryBatch sends batches of 1,000 memories to the whole program: small ones, and as large as a batch may be.
// heap-MiB is how far the heap grows over what is there before a batch, with a collector that runs all the time.
func BenchmarkMemoryBatch(b *testing.B) {
	for _, size := range []int{60, 8200} {
		b.Run(fmt.Sprintf("Texts%d", size), func(b *testing.B) {
			s := &batches{B: b, Running: apptest.Start(b), words: strings.Repeat("the quick brown fox ", size/20)}
			s.send(s.next()) // what is made once
			var took time.Duration
			var worked, allocated uint64
			for range b.N {
				body := s.next()
				before, spent, began := totalAlloc(), s.cpu(), time.Now()
				s.send(body)
				took += time.Since(began)
				worked += s.cpu() - spent
				allocated += totalAlloc() - before
			}
			b.ReportMetric(float64(took.Microseconds())/1000/float64(b.N), "ms/batch")
			b.ReportMetric(float64(worked)/1e6/float64(b.N), "cpu-ms/batch")
			b.ReportMetric(float64(allocated)/float64(b.N)/(1<<20), "allocated-MiB/batch")
			b.ReportMetric(s.heapPeak()/(1<<20), "heap-MiB")
		})
	}
}

// batches are bodies of a benchmark, and who sends them.
type batches struct {
	*testing.B
	*apptest.Running
	words string // of every text
	made  int
}

// next makes a body whose texts are new.
func (s *batches) next() []byte {
	s.made++
	items := make([]string, 1000)
	for i := range items {
		items[i] = fmt.Sprintf(`{"subjectId":"ada","kind":"turn","sessionId":"s%d","text":"%d %d %s"}`, i%50, s.made, i, s.words)
	}
	return []byte(`{"items":[` + strings.Join(items, ",") + `]}`)
}

func (s *batches) send(body []byte) {
	r, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.URL+"/api/v1/memories/batch", bytes.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("X-API-Key", s.Key)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
		s.Fatalf("%d, %v", res.StatusCode, err)
	}
}

// cpu is what the process has spent on its cores, in nanoseconds.
func (s *batches) cpu() uint64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		s.Fatal(err)
	}
	return uint64(used.Utime.Nano() + used.Stime.Nano())
}

// heapPeak is by how many bytes the heap grows while a batch is sent, at most of three.
func (s *batches) heapPeak() (peak float64) {
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	for range 3 {
		body := s.next()
		runtime.GC()
		before := heap()
		var most uint64
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for tick := time.Tick(200 * time.Microsecond); ; {
				select {
				case <-stop:
					return
				case <-tick:
					most = max(most, heap())
				}
			}
		}()
		s.send(body)
		close(stop)
		<-done
		peak = max(peak, float64(most)-float64(before))
	}
	return peak
}

func totalAlloc() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// heap is the bytes of objects that are in use or not swept yet.
func heap() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
