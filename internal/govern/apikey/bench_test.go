package apikey

import (
	"context"
	"crypto/rand"
	"runtime"
	"runtime/metrics"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/govern/usage"
)

func BenchmarkDirectory(b *testing.B) {
	const keys = 100_000
	d := setup(b)
	texts := make([]string, 0, keys)
	for range keys {
		texts = append(texts, d.texts[d.add(nil).ID])
	}
	start := time.Now()
	if err := d.Load(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	b.Logf("loaded %d keys in %s, about %.1f MiB", keys, time.Since(start).Round(time.Millisecond), float64(d.Stats().Bytes)/(1<<20))
	unknown := Generate(rand.Reader)

	b.Run("one key", func(b *testing.B) { benchmarkLookup(b, d, texts[:1]) })
	b.Run("all keys in turn", func(b *testing.B) { benchmarkLookup(b, d, texts) })
	b.Run("unknown text", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := d.Authenticate(b.Context(), unknown, noon); err == nil {
				b.Fatal("found an unknown key")
			}
		}
	})
	b.Run("all keys on all cores", func(b *testing.B) {
		b.ReportAllocs()
		var worker atomic.Int64
		b.RunParallel(func(pb *testing.PB) {
			for i := int(worker.Add(1)) * 7919; pb.Next(); i++ {
				if _, err := d.Authenticate(context.Background(), texts[i*31%keys], noon); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
	b.Run("put", func(b *testing.B) {
		b.ReportAllocs()
		k := *d.keys.keys[d.hasher.Hash(texts[0])]
		for b.Loop() {
			k.Revision++
			d.Put(&k)
		}
	})
	b.Run("add", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			d.Put(d.add(nil))
		}
	})
}

// BenchmarkMemory loads keys into a directory with a real recorder. It reports the memory of a key, what the keys add to the
// CPU time of a garbage collection, the time of the load, and what a change of one key takes.
func BenchmarkMemory(b *testing.B) {
	for _, keys := range []int{100_000, 1_000_000} {
		b.Run(strconv.Itoa(keys), func(b *testing.B) {
			d := setup(b)
			for range keys {
				d.add(nil)
			}
			clear(d.texts)
			changed := *d.keys.keys[anyOf(d.keys.keys)]
			for b.Loop() {
				next := NewDirectory(d.keys, d.hasher, d.accounts, usage.NewRecorder(nil, d.Directory.now, nil), d.Directory.now)
				bytes, collection := heap()
				start := time.Now()
				if err := next.Load(b.Context(), nil); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms/load")
				moreBytes, moreCollection := heap()
				b.ReportMetric(float64(moreBytes-bytes)/float64(keys), "B/key")
				b.ReportMetric((moreCollection-collection)*1000, "ms/GC")
				start = time.Now()
				for range 100 {
					changed.Revision++
					next.Put(&changed)
				}
				b.ReportMetric(float64(time.Since(start).Microseconds())/100, "us/put")
			}
		})
	}
}

// heap is the size of the heap, and the CPU seconds that it takes to collect its garbage.
func heap() (bytes uint64, collection float64) {
	runtime.GC() // finishes what is under way, and empties pools
	cpu := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}}
	metrics.Read(cpu)
	before := cpu[0].Value.Float64()
	runtime.GC()
	metrics.Read(cpu)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, cpu[0].Value.Float64() - before
}

func anyOf(keys map[[32]byte]*APIKey) [32]byte {
	for hash := range keys {
		return hash
	}
	return [32]byte{}
}

func benchmarkLookup(b *testing.B, d *bundle, texts []string) {
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		live, err := d.Authenticate(context.Background(), texts[i*31%len(texts)], noon)
		if err != nil || live.Workspace == nil {
			b.Fatal(err)
		}
	}
}
