package metrics

import (
	"context"
	"regexp"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// ofRuntime are the metrics of the Go runtime that are served in addition to those that the library always has.
var ofRuntime = collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile(
	`^/(memory/classes/(heap/objects|total):bytes|gc/heap/allocs:bytes|gc/cycles/total:gc-cycles|cpu/classes/gc/total:cpu-seconds)$`)}

// AddProcess adds metrics of the build, the Go runtime and the process.
func AddProcess(r *Registry, version string) {
	process := prometheus.NewRegistry()
	process.MustRegister(
		collectors.NewGoCollector(collectors.WithGoCollectorMemStatsMetricsDisabled(), collectors.WithGoCollectorRuntimeMetrics(ofRuntime)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	r.process = append(r.process, process)
	build := &Metric{
		Name: "keepsake_build_info", Type: Gauge, Labels: []string{"version", "revision", "go_version"},
		Help: "Always 1. The labels say which build this is.",
	}
	revision := revision()
	r.Add(func(_ context.Context, s *Scrape) { s.Set(build, 1, version, revision, runtime.Version()) }, build)
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
