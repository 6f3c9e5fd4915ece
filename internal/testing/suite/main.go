// Suite runs a tier of the tests as `make test` and `make test-all` do: it builds the program once, runs `go test`, prints
// what failed, and says what was left out and why.
//
//	go run ./internal/testing/suite quick
//	go run ./internal/testing/suite all
//	go run ./internal/testing/suite budget
//
// budget runs the quick tier with few tests at once, and names the tests and packages that take longer than they should.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

// run is one call of go test.
type run struct {
	name     string   // what the report calls it; empty for the embedded engine
	engine   string   // KEEPSAKE_TEST_ENGINE; empty for SQLite
	packages []string // patterns
	skip     string   // -skip; empty for no test
}

// everything is every package, once. go test starts packages in this order, so those that take longest come first: the last
// one would otherwise run alone.
var everything = []string{"./internal/app", "./conformance", "./internal/testing/faulttest", "./cmd/keepsake", "./internal/web/console/consoletest", "./internal/store/postgres", "./..."}

// tiers are the runs of each tier. Tests of single packages use PostgreSQL and Redis by themselves in the first run; the
// second runs whole programs on PostgreSQL.
var tiers = map[string][]run{
	"quick": {
		{packages: everything},
		{name: "postgres", engine: "postgres", packages: []string{"./conformance", "./client"}},
	},
	"budget": {
		{packages: everything},
	},
	"all": {
		{packages: everything},
		{
			name: "postgres", engine: "postgres", packages: []string{"./internal/app", "./conformance", "./internal/testing/faulttest", "./cmd/keepsake", "./client", "./openapi"},
			skip: "IsLostUnderLoad", // these start a PostgreSQL of their own in the first run
		},
	},
}

// parallel is how many packages run at once, and how many tests of each. Most tests wait for servers, so there are more than
// cores. Beside others a test takes longer than alone, so few run at once if their times are judged.
var parallel = map[string][]string{
	"quick":  {packages, "-parallel=8"},
	"all":    {packages, "-parallel=8"},
	"budget": {"-p=1", "-parallel=2"},
}

var packages = fmt.Sprintf("-p=%d", runtime.NumCPU()+1)

// lessGC is GOGC for the compiler and the linker, and in the quick tier for tests and the programs that they start. Collecting
// garbage less often saves a seventh of the compiler's processor time and a twenty-fifth of the tests'.
const lessGC = "GOGC=400"

// compilerFlags leave the information for debuggers out of the project's packages: creating it takes a tenth of the time of
// compiling them. Traces of goroutines do not need it. Without the folder of the checkout, go finds in its cache what another
// checkout has compiled. The Makefile has the same flags.
const compilerFlags = "-trimpath -gcflags=keepsake/...=-dwarf=false"

// timeouts are when a package ends whose tests hang. Its goroutines are then in the report.
var timeouts = map[string]string{"quick": "6m", "all": "60m", "budget": "20m"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := suite(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		os.Exit(1)
	}
}

func suite(ctx context.Context) error {
	if len(os.Args) != 2 || tiers[os.Args[1]] == nil {
		return errors.New("usage: suite quick|all|budget")
	}
	tier := os.Args[1]
	dir, err := os.MkdirTemp("", "keepsake-suite-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	flags, err := exec.CommandContext(ctx, "go", "env", "GOFLAGS").Output()
	if err != nil {
		return fmt.Errorf("go env GOFLAGS: %w", err)
	}
	env := append(os.Environ(), lessGC, "GOFLAGS="+strings.TrimSpace(string(flags)+" "+compilerFlags))
	program, err := build(ctx, dir, env)
	if err != nil {
		return err
	}
	cluster, remove, err := enginetest.NewCluster()
	if err != nil {
		return err
	}
	defer remove()
	env = append(env, testtier.Variable+"="+tier, "KEEPSAKE_TEST_PROGRAM="+program, enginetest.ClusterVariable+"="+cluster,
		"TMPDIR="+tempDir(), "GOTMPDIR="+dir) // linked test binaries are too large for a file system in memory
	report := newReport(os.Stdout)
	if err := test(ctx, tier, env, report); err != nil {
		return err
	}
	report.finish(tier)
	if report.failed > 0 {
		return errors.New("tests failed")
	}
	return nil
}

// build builds the program that tests start as a process.
func build(ctx context.Context, dir string, env []string) (string, error) {
	// A test runs it as another user, who needs access to the folder.
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	program := filepath.Join(dir, "keepsake")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", program, "./cmd/keepsake")
	cmd.Env = env
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("build the program: %w", err)
	}
	return program, nil
}

// test runs every run of a tier. The second starts when the first has tested its packages, which are compiled then. The rest
// of both runs at the same time, because programs on PostgreSQL mostly wait.
func test(ctx context.Context, tier string, env []string, report *report) error {
	runs := tiers[tier]
	errs := make([]error, len(runs))
	var all sync.WaitGroup
	for i, r := range runs {
		all.Go(func() {
			if i > 0 {
				report.await(runs[0].name, r.packages)
			}
			errs[i] = r.test(ctx, tier, env, report)
			report.end(r.name)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// test runs go test and reports what it prints.
func (r run) test(ctx context.Context, tier string, env []string, report *report) error {
	args := append([]string{"test", "-json", "-count=1", "-vet=off", "-timeout=" + timeouts[tier]}, parallel[tier]...)
	if runtime.GOOS != "windows" {
		// Both are for go test. t.TempDir would create its folders in GOTMPDIR.
		env := "env -u GOTMPDIR -u GOGC"
		if tier == "quick" {
			env += " " + lessGC
		}
		args = append(args, "-exec="+env)
	}
	if r.skip != "" {
		args = append(args, "-skip="+r.skip)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, r.packages...)...)
	cmd.Env = slices.Concat(env, []string{"KEEPSAKE_TEST_ENGINE=" + r.engine}) // runs share env
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := report.read(r.name, out); err != nil {
		return err
	}
	// The report contains failed tests, but not other errors of go test.
	if err := cmd.Wait(); err != nil && report.failures(r.name) == 0 {
		return fmt.Errorf("go test: %w", err)
	}
	return nil
}
