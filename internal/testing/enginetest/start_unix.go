//go:build unix

package enginetest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"sync"
	"syscall"
)

// The signals that pause and continue a process.
const (
	pauseSignal  = syscall.SIGSTOP
	resumeSignal = syscall.SIGCONT
)

func kill(pid int, signal syscall.Signal) error { return syscall.Kill(pid, signal) }

// start starts cmd. Call wait once, to wait for its end. When this process ends, for whatever reason, cmd receives signal. If
// the tests run as root, cmd runs as an unprivileged user, because PostgreSQL refuses to run as root.
func start(cmd *exec.Cmd, signal syscall.Signal) (wait func() error, err error) {
	if id := unprivileged(); id != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: id}
	}
	return startAsIs(cmd, signal)
}

// guard signals the process $1 if its input ends before it has read a line. It ignores the signals that a terminal sends to
// all foreground processes.
const guard = `trap "" HUP INT TERM; read line || kill -"$2" "$1"`

// startAsIs is start for a program that runs as the user of the tests.
//
// A shell reads from a pipe that only this process can write to. When this process ends, the kernel closes the pipe.
func startAsIs(cmd *exec.Cmd, signal syscall.Signal) (wait func() error, err error) {
	moreFiles()
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	if err := cmd.Start(); err != nil {
		writer.Close()
		return nil, err
	}
	shell := exec.Command("/bin/sh", "-c", guard, "sh", strconv.Itoa(cmd.Process.Pid), strconv.Itoa(int(signal)))
	shell.Stdin = reader
	if err := shell.Start(); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		writer.Close()
		return nil, fmt.Errorf("guard %s: %w", cmd.Path, err)
	}
	return func() error {
		err := cmd.Wait()
		_, _ = writer.WriteString("ended\n")
		writer.Close()
		_ = shell.Wait()
		return err
	}, nil
}

// moreFiles lets servers open as many files as this process. On macOS the default of 256 is too low for PostgreSQL's
// semaphores. Go raises its own limit at the start, but gives children the old one unless the program sets it.
var moreFiles = sync.OnceFunc(func() {
	var limit syscall.Rlimit
	if runtime.GOOS == "darwin" && syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
	}
})

// unprivileged returns the user of the servers; nil for the user of the tests.
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

// giveAway makes the user of the servers the owner of a folder.
func giveAway(dir string) error {
	if id := unprivileged(); id != nil {
		return os.Chown(dir, int(id.Uid), int(id.Gid))
	}
	return nil
}
