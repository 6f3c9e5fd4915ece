// Package programtest builds the program once and starts it as a process, as an operator does. Only tests use it.
//
// A test that needs the program in its own process uses apptest, which is faster.
package programtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"keepsake/internal/testing/enginetest"
)

// Variable is the environment variable that names a program that is already built. Without it, a test binary builds the
// program when the first test asks for it.
const Variable = "KEEPSAKE_TEST_PROGRAM"

// Main runs the tests of a package and removes what they share: programs and database servers. A TestMain calls it.
func Main(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	defer Stop()
	return m.Run()
}

// Stop removes the programs that were built and stops the servers that tests share. Main calls it.
func Stop() {
	enginetest.Stop()
	built.Lock()
	defer built.Unlock()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	built.dir, built.programs = "", nil
}

// BuildOptions are arguments of go build for a program that differs from the released one.
type BuildOptions struct {
	Tags    string
	LDFlags string
}

// built are the programs of this test binary.
var built struct {
	sync.Mutex
	dir      string
	programs map[BuildOptions]func() (path string, err error)
}

// Binary is the path of the program.
func Binary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(Variable); path != "" {
		return path
	}
	return Build(t, BuildOptions{})
}

// Build builds the program with options, once per test binary, and returns its path.
func Build(t testing.TB, o BuildOptions) string {
	t.Helper()
	program, err := programOf(o)
	if err != nil {
		t.Fatal(err)
	}
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// programOf returns the function that builds a program at its first call. Different programs can be built at the same time.
func programOf(o BuildOptions) (func() (string, error), error) {
	built.Lock()
	defer built.Unlock()
	if program, ok := built.programs[o]; ok {
		return program, nil
	}
	if built.dir == "" {
		dir, err := os.MkdirTemp("", "keepsake-programtest-")
		if err != nil {
			return nil, err
		}
		built.dir, built.programs = dir, map[BuildOptions]func() (string, error){}
		// A test can run the program as another user, who must be able to enter the folder.
		if err := os.Chmod(dir, 0o755); err != nil {
			return nil, err
		}
	}
	path := filepath.Join(built.dir, strconv.Itoa(len(built.programs)), "keepsake")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	program := sync.OnceValues(func() (string, error) { return path, build(path, o) })
	built.programs[o] = program
	return program, nil
}

func build(path string, o BuildOptions) error {
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-tags", o.Tags, "-ldflags", o.LDFlags, "-o", path, "keepsake/cmd/keepsake")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // like the program in the image
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("build keepsake: %w\n%s", exit, out)
	}
	return err
}
