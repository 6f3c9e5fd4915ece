package apikey

import (
	"context"
	"crypto/rand"
	"sync/atomic"
	"testing"
	"time"
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
	stranger := Generate(rand.Reader)

	b.Run("one key", func(b *testing.B) { benchmarkRecognise(b, d, texts[:1]) })
	b.Run("all keys in turn", func(b *testing.B) { benchmarkRecognise(b, d, texts) })
	b.Run("unknown text", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := d.Recognise(b.Context(), stranger, noon); err == nil {
				b.Fatal("recognised a stranger")
			}
		}
	})
	b.Run("all keys on all cores", func(b *testing.B) {
		b.ReportAllocs()
		var worker atomic.Int64
		b.RunParallel(func(pb *testing.PB) {
			for i := int(worker.Add(1)) * 7919; pb.Next(); i++ {
				if _, err := d.Recognise(context.Background(), texts[i*31%keys], noon); err != nil {
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

func benchmarkRecognise(b *testing.B, d *bundle, texts []string) {
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		live, err := d.Recognise(context.Background(), texts[i*31%len(texts)], noon)
		if err != nil || live.Workspace == nil {
			b.Fatal(err)
		}
	}
}
