package main

import (
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// events are what go test -json prints for a package that passes, one with a failure, one that ends early and one that does
// not build.
const events = `{"Action":"output","Package":"keepsake/a","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"pass","Package":"keepsake/a","Test":"TestGood","Elapsed":3.5}
{"Action":"output","Package":"keepsake/a","Test":"TestLong","Output":"    a_test.go:3: long: restarts a server\n"}
{"Action":"skip","Package":"keepsake/a","Test":"TestLong","Elapsed":0}
{"Action":"output","Package":"keepsake/a","Test":"TestEngine","Output":"    a_test.go:4: missing: PostgreSQL\n"}
{"Action":"skip","Package":"keepsake/a","Test":"TestEngine","Elapsed":0}
{"Action":"pass","Package":"keepsake/a","Elapsed":21}
{"Action":"output","Package":"keepsake/b","Test":"TestBad","Output":"    b_test.go:9: got 1, want 2\n"}
{"Action":"fail","Package":"keepsake/b","Test":"TestBad","Elapsed":0.1}
{"Action":"fail","Package":"keepsake/b","Elapsed":0.2}
{"Action":"output","Package":"keepsake/c","Test":"TestPanics","Output":"panic: boom\n"}
{"Action":"fail","Package":"keepsake/c","Elapsed":0.2}
{"ImportPath":"keepsake/d","Action":"build-output","Output":"d.go:1: syntax error\n"}
{"ImportPath":"keepsake/d","Action":"build-fail"}
`

func TestReportNamesFailuresAndSkips(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := newReport(&out)
	if err := r.read("", strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	r.finish("budget")
	for _, want := range []string{
		"ok     21.0 s  a\n", "FAIL b TestBad\n        b_test.go:9: got 1, want 2\n", "FAIL    0.2 s  c\n    unfinished: TestPanics\n    panic: boom\n", "d.go:1: syntax error\n",
		"left out: 1 long tests", "lacks: PostgreSQL (1 tests)", "   3.5 s  a TestGood\n", "  21.0 s  a\n",
		"1 passed, 4 failed, 2 skipped\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}

// TestRunsReportAtTheSameTime mixes the lines of two runs of one package, of which one fails.
func TestRunsReportAtTheSameTime(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := newReport(&out)
	for _, step := range []struct{ run, line string }{
		{"", `{"Action":"output","Package":"keepsake/a","Test":"TestBad","Output":"embedded\n"}`},
		{"postgres", `{"Action":"output","Package":"keepsake/a","Test":"TestBad","Output":"server\n"}`},
		{"", `{"Action":"pass","Package":"keepsake/a","Test":"TestBad","Elapsed":1}`},
		{"postgres", `{"Action":"fail","Package":"keepsake/a","Test":"TestBad","Elapsed":1}`},
	} {
		r.line(step.run, []byte(step.line))
	}
	if got, want := out.String(), "FAIL a (postgres) TestBad\n    server\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	if a, b := r.failures(""), r.failures("postgres"); a != 0 || b != 1 {
		t.Errorf("%d and %d failures, want 0 and 1", a, b)
	}
}

// TestASecondRunStartsAfterItsPackages waits for the packages of a run, and for the end of one that never tests them.
func TestASecondRunStartsAfterItsPackages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReport(io.Discard)
		var started, startedLate atomic.Bool
		go func() { r.await("", []string{"./a", "./internal/b"}); started.Store(true) }()
		go func() { r.await("", []string{"./gone"}); startedLate.Store(true) }()
		for i, step := range []func(){
			func() { r.line("", []byte(`{"Action":"pass","Package":"keepsake/a","Elapsed":1}`)) },
			func() { r.line("other", []byte(`{"Action":"pass","Package":"keepsake/internal/b","Elapsed":1}`)) },
			func() { r.line("", []byte(`{"Action":"fail","Package":"keepsake/internal/b","Elapsed":1}`)) },
			func() { r.end("") },
		} {
			step()
			synctest.Wait()
			if got, want := started.Load(), i >= 2; got != want {
				t.Errorf("after step %d: started %t, want %t", i, got, want)
			}
			if got, want := startedLate.Load(), i >= 3; got != want {
				t.Errorf("after step %d: the run of a package that does not exist: started %t, want %t", i, got, want)
			}
		}
	})
}
