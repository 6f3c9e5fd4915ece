package usage

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func BenchmarkRecord(b *testing.B) {
	for _, keys := range []int{1, 1_000, 100_000} {
		b.Run(fmt.Sprintf("Keys=%d", keys), func(b *testing.B) {
			_, r := setup(atNoon)
			owners := make([]Owner, keys)
			for i := range owners {
				owners[i] = r.Owner("wsp_a", fmt.Sprintf("key_%026d", i))
			}
			route := r.Route("GET", "/api/v1/health")
			for _, o := range owners {
				r.Record(Event{Owner: o, Route: route, Version: 1, Status: 200, At: noon, Charged: 1})
			}
			b.ReportAllocs()
			took := latencies()
			for _, o := range owners[:min(keys, 1_000)] {
				for _, d := range took {
					r.Record(Event{Owner: o, Route: route, Version: 1, Status: 200, At: noon, Charged: 1, Took: d})
				}
			}
			key, duration := 0, 0
			for b.Loop() {
				r.Record(Event{Owner: owners[key], Route: route, Version: 1, Status: 200, At: noon, Charged: 1, Took: took[duration], BytesOut: 90})
				if key++; key == len(owners) {
					key = 0
				}
				if duration++; duration == len(took) {
					duration = 0
				}
			}
		})
	}
}

// latencies are durations as of real requests: around a millisecond, in some 60 buckets.
func latencies() []time.Duration {
	random := rand.New(rand.NewPCG(1, 1))
	list := make([]time.Duration, 251)
	for i := range list {
		list[i] = time.Duration(float64(time.Millisecond) * math.Exp(random.NormFloat64()/2))
	}
	return list
}

func BenchmarkRecordParallel(b *testing.B) {
	_, r := setup(atNoon)
	e := Event{Owner: r.Owner("wsp_a", "key_a"), Route: r.Route("GET", "/a"), Status: 200, At: noon, Charged: 1}
	took := latencies()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		e := e
		for i := 0; pb.Next(); i++ {
			e.Took = took[i%len(took)]
			r.Record(e)
		}
	})
}

func BenchmarkTouch(b *testing.B) {
	_, r := setup(atNoon)
	secret := r.Secret(r.Owner("wsp_a", "key_a"), "kpsk_abcd")
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		r.Touch(secret, noon.Add(time.Duration(i)*10*time.Microsecond))
		i++
	}
}

// The cost of a flush while nothing happens: it walks over the last uses of 100,000 secrets.
func BenchmarkFlushOfNothing(b *testing.B) {
	_, r := setup(atNoon)
	for i := range 100_000 {
		r.Secret(r.Owner("wsp_a", fmt.Sprintf("key_%026d", i)), "kpsk_abcd")
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Flush(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
