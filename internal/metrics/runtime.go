package metrics

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"runtime/debug"
	rt "runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// The names are those that Prometheus clients for Go use, so that dashboards for Go programs show this one too.
var (
	buildInfo = Metric{
		Name: "keepsake_build_info", Type: Gauge, Labels: []string{"version", "revision", "go_version"},
		Help: "Always 1. The labels say which build this is.",
	}
	goroutines = Metric{Name: "go_goroutines", Type: Gauge, Help: "Goroutines."}
	maxProcs   = Metric{Name: "go_sched_gomaxprocs_threads", Type: Gauge, Help: "Threads that run Go code at once (GOMAXPROCS)."}
	heapLive   = Metric{Name: "go_memory_classes_heap_objects_bytes", Type: Gauge, Help: "Memory of objects on the heap."}
	memory     = Metric{Name: "go_memory_classes_total_bytes", Type: Gauge, Help: "Memory that the Go runtime has mapped."}
	allocated  = Metric{Name: "go_gc_heap_allocs_bytes_total", Type: Counter, Help: "Memory that was allocated on the heap."}
	gcCycles   = Metric{Name: "go_gc_cycles_total_gc_cycles_total", Type: Counter, Help: "Garbage collections."}
	gcCPU      = Metric{Name: "go_cpu_classes_gc_total_cpu_seconds_total", Type: Counter, Help: "CPU time of the garbage collector, estimated by the Go runtime."}
	gcLimit    = Metric{Name: "go_gc_gomemlimit_bytes", Type: Gauge, Help: "Memory limit of the Go runtime (GOMEMLIMIT)."}

	processCPU   = Metric{Name: "process_cpu_seconds_total", Type: Counter, Help: "CPU time of the process. Only on Linux."}
	processRSS   = Metric{Name: "process_resident_memory_bytes", Type: Gauge, Help: "Resident memory of the process. Only on Linux."}
	processFiles = Metric{Name: "process_open_fds", Type: Gauge, Help: "Open file descriptors. Only on Linux."}
	processMax   = Metric{Name: "process_max_fds", Type: Gauge, Help: "Maximum of open file descriptors. Only on Linux."}
	processStart = Metric{Name: "process_start_time_seconds", Type: Gauge, Help: "When the program started, as Unix time."}
)

// AddProcess adds metrics of the build, the Go runtime and the process.
func AddProcess(r *Registry, version string, started time.Time) {
	revision := revision()
	r.Add(func(_ context.Context, s *Scrape) {
		s.Set(&buildInfo, 1, version, revision, runtime.Version())
		s.Set(&processStart, float64(started.UnixMilli())/1000)
		readRuntime(s)
		readProcess(s)
	}, &buildInfo, &goroutines, &maxProcs, &heapLive, &memory, &gcLimit, &allocated, &gcCycles, &gcCPU,
		&processCPU, &processRSS, &processFiles, &processMax, &processStart)
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

func readRuntime(s *Scrape) {
	of := []*Metric{&goroutines, &maxProcs, &heapLive, &memory, &gcLimit, &allocated, &gcCycles, &gcCPU}
	samples := []rt.Sample{
		{Name: "/sched/goroutines:goroutines"},
		{Name: "/sched/gomaxprocs:threads"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/gc/gomemlimit:bytes"},
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
	}
	rt.Read(samples)
	for i := range samples {
		switch v := &samples[i].Value; v.Kind() {
		case rt.KindUint64:
			s.Set(of[i], float64(v.Uint64()))
		case rt.KindFloat64:
			s.Set(of[i], v.Float64())
		}
	}
}

// ticks is how many clock ticks of /proc/self/stat are a second: 100 on every architecture that Go runs on.
const ticks = 100

// readProcess reads what Linux says about the process. On other systems there is no /proc, and no value.
func readProcess(s *Scrape) {
	if stat, err := os.ReadFile("/proc/self/stat"); err == nil {
		// The fields follow the name of the program, which is in parentheses.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) > 21 {
			user, _ := strconv.ParseInt(fields[11], 10, 64)
			system, _ := strconv.ParseInt(fields[12], 10, 64)
			pages, _ := strconv.ParseInt(fields[21], 10, 64)
			s.Set(&processCPU, float64(user+system)/ticks)
			s.Set(&processRSS, float64(pages*int64(os.Getpagesize())))
		}
	}
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		s.Set(&processFiles, float64(len(files)-1)) // one is the folder itself
	}
	if limits, err := os.ReadFile("/proc/self/limits"); err == nil {
		for line := range strings.Lines(string(limits)) {
			rest, ok := strings.CutPrefix(line, "Max open files")
			if fields := strings.Fields(rest); ok && len(fields) > 0 {
				if n, err := strconv.ParseInt(fields[0], 10, 64); err == nil { // else unlimited
					s.Set(&processMax, float64(n))
				}
			}
		}
	}
}
