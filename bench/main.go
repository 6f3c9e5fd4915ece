// Command bench measures the cost of governing a request, compared with handlers of plain net/http.
//
// Except for outside, server and clients run in one process on one core. The servers take short turns, so that other load on
// the machine affects all of them alike. A ratio is the median over the turns.
//
//	go run ./bench            all but scale
//	go run ./bench -turns 40  a longer run
//	go run ./bench health     one of: part, health, outside, bearer, post, search, relevance, shared, recall, memory, servers,
//	                          secrecy, forward, neighbour, flood, lazy, scale
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"
)

func main() {
	turns := flag.Int("turns", 16, "turns of each side")
	length := flag.Duration("turn", 150*time.Millisecond, "length of a turn")
	clients := flag.Int("clients", 16, "connections that send one request after the other")
	profile := flag.String("cpuprofile", "", "file for a CPU profile")
	programs := flag.String("programs", "", "for outside: built programs, separated by commas, the first one against the others; empty: the one that is built here")
	flag.IntVar(&lazyDocuments, "lazy", 200_000, "for lazy: documents of all workspaces together")
	flag.Parse()
	runtime.GOMAXPROCS(1)
	if file := os.Getenv(sampleEnv); file != "" {
		fmt.Fprintf(os.Stderr, "bench: serve a sample: %v\n", serveSample(file))
		os.Exit(1)
	}
	if what := os.Getenv(floodEnv); what != "" {
		fmt.Fprintf(os.Stderr, "bench: flood: %v\n", serveFlood(what))
		os.Exit(1)
	}
	if *profile != "" {
		file, err := os.Create(*profile)
		if err == nil {
			err = pprof.StartCPUProfile(file)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "bench: profile: %v\n", err)
			os.Exit(1)
		}
		defer pprof.StopCPUProfile()
	}
	fmt.Printf("%s, GOMAXPROCS=1, %d turns of %s, %d clients\n", runtime.Version(), *turns, *length, *clients)

	run := contest{turns: *turns, length: *length, clients: *clients}
	if *programs != "" {
		run.programs = strings.Split(*programs, ",")
	}
	for _, part := range []struct {
		name string
		run  func(contest) error
	}{
		{"part", measurePart},
		{"health", measureHealth},
		{"outside", withBuilds(measureOutside)},
		{"bearer", measureBearer},
		{"post", measurePost},
		{"search", withBuilds(measureSearchTable)},
		{"search", measureSearch},
		{"relevance", measureRelevance},
		{"shared", measureShared},
		{"recall", measureRecall},
		{"memory", measureMemory},
		{"servers", measureServers},
		{"secrecy", measureSecrecy},
		{"forward", withBuilds(measureForward)},
		{"neighbour", withBuilds(measureNeighbour)},
		{"flood", withBuilds(measureFlood)},
		{"lazy", withBuilds(measureLazy)},
		{"scale", withBuilds(measureScale)},
	} {
		if wanted := slices.Contains(flag.Args(), part.name); !wanted && (flag.NArg() > 0 || part.name == "scale") { // scale takes long
			continue
		}
		if err := part.run(run); err != nil {
			fmt.Fprintf(os.Stderr, "bench %s: %v\n", part.name, err)
			os.Exit(1)
		}
	}
}
