// Package enginetest starts real database servers for tests. They are private, use temporary folders, and never outlive the
// test binary.
//
// A test that needs a server which this machine does not have is skipped by name (testtier.Missing), and fails under CI.
package enginetest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"keepsake/internal/base/folder"
	"keepsake/internal/testing/testtier"
)

// Main runs the tests of a package and stops the servers that they have started. A package with its own TestMain calls Stop.
func Main(m *testing.M) {
	code := m.Run()
	Stop()
	os.Exit(code)
}

var atStop struct {
	sync.Mutex
	all []func()
}

// Stop stops all servers that the tests of this binary share, and removes their folders.
func Stop() {
	atStop.Lock()
	defer atStop.Unlock()
	for _, stop := range slices.Backward(atStop.all) {
		stop()
	}
	atStop.all = nil
}

// onStop registers f to run at Stop.
func onStop(f func()) {
	atStop.Lock()
	defer atStop.Unlock()
	atStop.all = append(atStop.all, f)
}

// missing is the error for a server that is not installed. It says what to install.
type missing string

func (m missing) Error() string { return string(m) }

// check skips t if a server is missing, and fails it for any other error.
func check(t testing.TB, err error) {
	t.Helper()
	var m missing
	if errors.As(err, &m) {
		testtier.Missing(t, string(m))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// find returns the path of a program with at least a version. It searches PATH and then the patterns, whose last match is
// the newest version. It finds none on Windows, which lacks the signals and sockets that the tests use.
func find(name string, atLeast int, patterns ...string) (string, error) {
	if runtime.GOOS == "windows" {
		return "", exec.ErrNotFound
	}
	var found []string
	if path, err := exec.LookPath(name); err == nil {
		found = append(found, path)
	}
	for _, pattern := range patterns {
		matches, err := filepath.Glob(filepath.Join(pattern, name))
		if err != nil {
			return "", err
		}
		slices.Reverse(matches)
		found = append(found, matches...)
	}
	for _, path := range found {
		if version(path) >= atLeast {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

var (
	versions    sync.Map // path of a program → func() int
	firstNumber = regexp.MustCompile("[0-9]+")
)

// version returns the first number that a program prints for --version, or 0.
func version(path string) int {
	ask, _ := versions.LoadOrStore(path, sync.OnceValue(func() int {
		text, err := exec.Command(path, "--version").Output()
		if err != nil {
			return 0
		}
		n, _ := strconv.Atoi(string(firstNumber.Find(text)))
		return n
	}))
	return ask.(func() int)()
}

// folderName is the prefix of all server folders.
const folderName = "keepsake-enginetest-"

// tempFolder contains the server folders. On macOS the path of a socket has at most 104 bytes, and the system's temporary
// folder takes half of them.
func tempFolder() string {
	if dir := os.TempDir(); len(dir) <= 30 || runtime.GOOS == "windows" {
		return dir
	}
	return "/tmp"
}

// tempDir creates a folder for a server. Its name is short, because it contains sockets.
func tempDir() (dir string, remove func(), err error) {
	sweep()
	if dir, err = os.MkdirTemp(tempFolder(), folderName); err != nil {
		return "", nil, err
	}
	lock, err := folder.Take(dir)
	if err == nil {
		err = giveAway(dir)
	}
	remove = func() {
		if lock != nil {
			_ = lock.Release(true)
		}
		os.RemoveAll(dir)
	}
	if err != nil {
		remove()
		return "", nil, err
	}
	return dir, remove, nil
}

// sweep removes the folders of test binaries that were killed.
var sweep = sync.OnceFunc(func() {
	left, _ := filepath.Glob(filepath.Join(tempFolder(), folderName+"*"))
	for _, dir := range left {
		info, err := os.Stat(dir)
		if err != nil || time.Since(info.ModTime()) < time.Minute { // possibly not locked yet
			continue
		}
		lock, err := folder.Take(dir)
		if err != nil {
			continue
		}
		os.RemoveAll(dir)
		_ = lock.Release(true)
	}
})

// output keeps the last lines that a server prints, and signals a line that a caller waits for.
type output struct {
	mu    sync.Mutex
	rest  []byte
	lines []string
	want  func(line string) bool
	found chan struct{}
}

// wait returns a channel that is closed when the server prints a line that want accepts.
func (o *output) wait(want func(line string) bool) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.want, o.found = want, make(chan struct{})
	return o.found
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rest = append(o.rest, p...)
	for {
		i := slices.Index(o.rest, '\n')
		if i < 0 {
			return len(p), nil
		}
		line := string(o.rest[:i])
		o.rest = o.rest[i+1:]
		o.lines = append(o.lines, line)
		o.lines = o.lines[max(0, len(o.lines)-50):]
		if o.want != nil && o.want(line) {
			close(o.found)
			o.want = nil
		}
	}
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var text []byte
	for _, line := range o.lines {
		text = append(append(text, line...), '\n')
	}
	return string(text)
}
