package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"keepsake/internal/testing/testtier"
)

// event is a line that go test -json prints; see `go doc test2json`.
type event struct {
	Action     string
	Package    string
	ImportPath string // of a build
	Test       string
	Output     string
	Elapsed    float64 // seconds
}

// Budgets of the quick tier, in seconds. What exceeds them is named and does not fail: a busy machine is no defect. Tests
// are named only if few ran at once.
const (
	packageBudget = 20.0
	testBudget    = 3.0
)

// report collects the results of all runs and prints them as they arrive. Runs can report at the same time.
type report struct {
	out io.Writer

	mu                      sync.Mutex
	changed                 *sync.Cond // a package or a run has ended
	passed, failed, skipped int
	failedIn                map[string]int              // failed, by run
	output                  map[string]*strings.Builder // by package and test, until it is known how the test ended
	ended                   map[string]bool             // packages, and runs
	reasons                 map[string]int              // of skipped tests
	slowPackages, slowTests []string
}

func newReport(out io.Writer) *report {
	r := &report{
		out: out, failedIn: map[string]int{}, output: map[string]*strings.Builder{}, ended: map[string]bool{}, reasons: map[string]int{},
	}
	r.changed = sync.NewCond(&r.mu)
	return r
}

// await waits until a run has tested packages, which are named as in tiers, or has ended.
func (r *report) await(run string, packages []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.ended[run] && slices.ContainsFunc(packages, func(path string) bool { return !r.ended[nameIn(run, path)] }) {
		r.changed.Wait()
	}
}

// end records the end of a run.
func (r *report) end(run string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended[run] = true
	r.changed.Broadcast()
}

// failures is the number of failures in a run.
func (r *report) failures(run string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failedIn[run]
}

// read prints the packages and failures of one run of go test, named run.
func (r *report) read(run string, in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			r.line(run, line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the output of go test: %w", err)
		}
	}
}

func (r *report) line(run string, line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var e event
	if json.Unmarshal(line, &e) != nil {
		fmt.Fprintf(r.out, "%s", line) // not an event, but a message of go itself
		return
	}
	failed := r.failed
	r.add(run, e)
	r.failedIn[run] += r.failed - failed
}

func (r *report) add(run string, e event) {
	name := nameIn(run, e.Package)
	key := name + "\x00" + e.Test
	switch e.Action {
	case "output":
		if r.output[key] == nil {
			r.output[key] = &strings.Builder{}
		}
		r.output[key].WriteString(e.Output)
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "build-fail":
		r.failed++
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(name, e)
		} else {
			r.endTest(name, e, r.printed(key))
		}
		delete(r.output, key)
	}
}

// printed returns the output of a test.
func (r *report) printed(key string) string {
	if b := r.output[key]; b != nil {
		return b.String()
	}
	return ""
}

func (r *report) endTest(pkg string, e event, output string) {
	name := pkg + " " + e.Test
	switch e.Action {
	case "pass":
		r.passed++
	case "fail":
		r.failed++
		fmt.Fprintf(r.out, "FAIL %s\n%s", name, indent(output))
	case "skip":
		r.skipped++
		r.reasons[reason(output)]++
	}
	if e.Elapsed > testBudget && !strings.Contains(e.Test, "/") {
		r.slowTests = append(r.slowTests, fmt.Sprintf("%6.1f s  %s", e.Elapsed, name))
	}
}

func (r *report) endPackage(name string, e event) {
	switch e.Action {
	case "pass":
		fmt.Fprintf(r.out, "ok   %6.1f s  %s\n", e.Elapsed, name)
	case "fail":
		// A package fails without a failed test if it does not build, or if its process ends early. Then the names of its
		// unfinished tests, and what they printed, tell why.
		fmt.Fprintf(r.out, "FAIL %6.1f s  %s\n", e.Elapsed, name)
		unfinished := 0
		for _, key := range slices.Sorted(maps.Keys(r.output)) {
			if pkg, test, _ := strings.Cut(key, "\x00"); pkg == name {
				if test != "" {
					unfinished++
					fmt.Fprintf(r.out, "    unfinished: %s\n", test)
				}
				fmt.Fprint(r.out, indent(r.printed(key)))
				delete(r.output, key)
			}
		}
		r.failed += max(unfinished, 1)
	}
	if e.Elapsed > packageBudget {
		r.slowPackages = append(r.slowPackages, fmt.Sprintf("%6.1f s  %s", e.Elapsed, name))
	}
	r.ended[name] = true
	r.changed.Broadcast()
}

// nameIn returns the name of a package within its run. The package is a path of imports, or as in tiers.
func nameIn(run, pkg string) string {
	name := strings.TrimPrefix(strings.TrimPrefix(pkg, "keepsake/"), "./")
	if run != "" {
		name += " (" + run + ")"
	}
	return name
}

// reason returns the reason that a skipped test printed: "    file_test.go:12: reason".
func reason(output string) string {
	for line := range strings.Lines(output) {
		if text := strings.TrimSpace(line); !strings.HasPrefix(text, "=== ") && !strings.HasPrefix(text, "--- ") {
			if _, after, ok := strings.Cut(text, ".go:"); ok {
				if _, after, ok = strings.Cut(after, ": "); ok {
					return after
				}
			}
		}
	}
	return "no reason given"
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "=== ") {
			b.WriteString("    " + line)
		}
	}
	return b.String()
}

// finish prints what was skipped, what was slow, and the totals.
func (r *report) finish(tier string) {
	long, missing := 0, map[string]int{}
	for _, why := range slices.Sorted(maps.Keys(r.reasons)) {
		n := r.reasons[why]
		if _, ok := strings.CutPrefix(why, testtier.SkipLong); ok {
			long += n
		} else if what, ok := strings.CutPrefix(why, testtier.SkipMissing); ok {
			missing[what] += n
		} else if tier == "all" {
			fmt.Fprintf(r.out, "skipped %d: %s\n", n, why)
		}
	}
	if long > 0 {
		fmt.Fprintf(r.out, "left out: %d long tests, which `make test-all` runs\n", long)
	}
	if len(missing) > 0 {
		var list []string
		for _, what := range slices.Sorted(maps.Keys(missing)) {
			list = append(list, fmt.Sprintf("%s (%d tests)", what, missing[what]))
		}
		fmt.Fprintf(r.out, "SKIPPED, because this machine lacks: %s\n", strings.Join(list, ", "))
	}
	if tier != "all" && len(r.slowPackages) > 0 {
		fmt.Fprintf(r.out, "over the budget of %.0f s a package:\n  %s\n", packageBudget, strings.Join(r.slowPackages, "\n  "))
	}
	if tier == "budget" && len(r.slowTests) > 0 {
		fmt.Fprintf(r.out, "over the budget of %.0f s a test:\n  %s\n", testBudget, strings.Join(r.slowTests, "\n  "))
	}
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
}
