package metrics

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"runtime/pprof"
	"time"
)

// The names in this file are those of the Prometheus clients for Go, so that dashboards for Go programs show this one, too.

// ofRuntime are the metrics that package runtime/metrics has.
var ofRuntime = []struct {
	name string
	as   Metric
}{
	{"/sched/goroutines:goroutines", Metric{Name: "go_goroutines", Type: Gauge, Help: "Goroutines."}},
	{"/sched/gomaxprocs:threads", Metric{Name: "go_sched_gomaxprocs_threads", Type: Gauge, Help: "Threads that run Go code at once (GOMAXPROCS)."}},
	{"/memory/classes/heap/objects:bytes", Metric{Name: "go_memory_classes_heap_objects_bytes", Type: Gauge, Help: "Memory of objects on the heap."}},
	{"/memory/classes/total:bytes", Metric{Name: "go_memory_classes_total_bytes", Type: Gauge, Help: "Memory that the Go runtime has mapped."}},
	{"/gc/gogc:percent", Metric{Name: "go_gc_gogc_percent", Type: Gauge, Help: "Target of the garbage collector (GOGC)."}},
	{"/gc/gomemlimit:bytes", Metric{Name: "go_gc_gomemlimit_bytes", Type: Gauge, Help: "Memory limit of the Go runtime (GOMEMLIMIT)."}},
	{"/gc/heap/allocs:bytes", Metric{Name: "go_gc_heap_allocs_bytes_total", Type: Counter, Help: "Memory that was allocated on the heap."}},
	{"/gc/cycles/total:gc-cycles", Metric{Name: "go_gc_cycles_total_gc_cycles_total", Type: Counter, Help: "Garbage collections."}},
	{"/cpu/classes/gc/total:cpu-seconds", Metric{Name: "go_cpu_classes_gc_total_cpu_seconds_total", Type: Counter, Help: "CPU time of the garbage collector, estimated by the Go runtime."}},
}

var (
	buildInfo = Metric{
		Name: "keepsake_build_info", Type: Gauge, Labels: []string{"version", "revision", "go_version"},
		Help: "Always 1. The labels say which build this is.",
	}
	goInfo  = Metric{Name: "go_info", Type: Gauge, Labels: []string{"version"}, Help: "Always 1. The label is the version of Go."}
	threads = Metric{Name: "go_threads", Type: Gauge, Help: "Threads of the operating system."}
	pauses  = Metric{Name: "go_gc_duration_seconds", Type: Summary, Help: "Pauses of garbage collections."}
	lastGC  = Metric{Name: "go_memstats_last_gc_time_seconds", Type: Gauge, Help: "When garbage was last collected, as Unix time."}
)

// AddProcess adds metrics of the build, the Go runtime and the process.
func AddProcess(r *Registry, version string) {
	list := []*Metric{&buildInfo, &goInfo, &threads, &pauses, &lastGC}
	for i := range ofRuntime {
		list = append(list, &ofRuntime[i].as)
	}
	list = append(list, &processCPU, &processRSS, &processSize, &processMaxSize, &processReceived, &processSent, &processFiles, &processMaxFiles, &processStart)
	revision, started := revision(), time.Now()
	r.Add(func(_ context.Context, s *Scrape) {
		s.Set(&buildInfo, 1, version, revision, runtime.Version())
		s.Set(&goInfo, 1, runtime.Version())
		s.Set(&threads, float64(pprof.Lookup("threadcreate").Count()))
		gc := debug.GCStats{PauseQuantiles: make([]time.Duration, 5)}
		debug.ReadGCStats(&gc)
		s.SetSummary(&pauses, gc.PauseQuantiles, gc.PauseTotal, gc.NumGC)
		s.Set(&lastGC, float64(gc.LastGC.UnixNano())/1e9)
		s.Set(&processStart, float64(started.UnixMilli())/1000)
		readRuntime(s)
		readProcess(s)
	}, list...)
}

func readRuntime(s *Scrape) {
	samples := make([]metrics.Sample, len(ofRuntime))
	for i := range ofRuntime {
		samples[i].Name = ofRuntime[i].name
	}
	metrics.Read(samples)
	for i := range samples {
		switch v := &samples[i].Value; v.Kind() {
		case metrics.KindUint64:
			s.Set(&ofRuntime[i].as, float64(v.Uint64()))
		case metrics.KindFloat64:
			s.Set(&ofRuntime[i].as, v.Float64())
		}
	}
}

// revision is the commit that the program was built from, if the build recorded it.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
