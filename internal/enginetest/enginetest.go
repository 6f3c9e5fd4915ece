// Package enginetest starts real database servers for tests: private ones, in temporary folders, that never outlive the
// test binary.
//
// A server that cannot be found is an error that says what to install, never a skip: a suite that passes has run.
package enginetest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Main runs the tests of a package and stops what they have started. A package with a TestMain of its own calls Stop.
func Main(m *testing.M) {
	code := m.Run()
	Stop()
	os.Exit(code)
}

var atStop struct {
	sync.Mutex
	all []func()
}

// Stop ends all servers that are shared by the tests of this binary and removes their folders.
func Stop() {
	atStop.Lock()
	defer atStop.Unlock()
	for _, stop := range slices.Backward(atStop.all) {
		stop()
	}
	atStop.all = nil
}

// onStop asks for f to run at Stop.
func onStop(f func()) {
	atStop.Lock()
	defer atStop.Unlock()
	atStop.all = append(atStop.all, f)
}

// find looks for a program in PATH and then in the places that the patterns name, the last one first: that is the newest
// version.
func find(name string, patterns ...string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(pattern, name))
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			return found[len(found)-1], nil
		}
	}
	return "", exec.ErrNotFound
}

// keeper starts programs, all from one thread that never ends: the signal a program gets at its parent's death comes when
// the thread dies that started it.
var keeper = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// start starts cmd. It gets signal when this process ends in whatever way. It runs as somebody without rights where we
// are root, because PostgreSQL refuses to run as root.
func start(cmd *exec.Cmd, signal syscall.Signal) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if id := unprivileged(); id != nil {
		cmd.SysProcAttr.Credential = id
	}
	return startAsIs(cmd, signal)
}

// startAsIs is start for a program that runs as whoever we are.
func startAsIs(cmd *exec.Cmd, signal syscall.Signal) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = signal
	done := make(chan error, 1)
	keeper() <- func() { done <- cmd.Start() }
	return <-done
}

// unprivileged is whom servers run as; nil for whoever runs the tests.
var unprivileged = sync.OnceValue(func() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	return &syscall.Credential{Uid: 65534, Gid: 65534}
})

// folderName begins the names of all folders of servers.
const folderName = "keepsake-enginetest-"

// folder makes a folder for a server, which is its own. Its name is short, because sockets lie in it.
func folder() (dir string, remove func(), err error) {
	sweep()
	if dir, err = os.MkdirTemp("", folderName); err != nil {
		return "", nil, err
	}
	lock, err := lockFolder(dir)
	if err == nil {
		if id := unprivileged(); id != nil {
			err = os.Chown(dir, int(id.Uid), int(id.Gid))
		}
	}
	remove = func() {
		os.RemoveAll(dir)
		if lock != nil {
			lock.Close()
		}
	}
	if err != nil {
		remove()
		return "", nil, err
	}
	return dir, remove, nil
}

// lockFolder says that a folder is in use, for as long as this process lives.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// sweep removes folders of test binaries that were killed.
var sweep = sync.OnceFunc(func() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), folderName+"*"))
	for _, dir := range left {
		info, err := os.Stat(dir)
		if err != nil || time.Since(info.ModTime()) < time.Minute { // it may not be locked yet
			continue
		}
		f, err := lockFolder(dir)
		if err != nil {
			continue
		}
		os.RemoveAll(dir)
		f.Close()
	}
})

// output is what a server prints: the last lines of it, and news of a line that is waited for.
type output struct {
	mu    sync.Mutex
	rest  []byte
	lines []string
	want  func(line string) bool
	found chan struct{}
}

// wait answers a channel that is closed with the first line that want likes from now on.
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

// children are the processes whose parent is pid.
func children(pid int) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var list []int
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue
		}
		if err != nil {
			return nil, err
		}
		// "123 (name) S 1 …": the name may hold anything, so the fields are counted from its end.
		var state string
		var parent int
		if _, err := fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &parent); err != nil {
			return nil, fmt.Errorf("read /proc/%d/stat: %w", id, err)
		}
		if parent == pid {
			list = append(list, id)
		}
	}
	return list, nil
}
