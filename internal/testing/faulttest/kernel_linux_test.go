package faulttest

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// kernelEnv makes this test binary start the command in its arguments on a kernel that lacks something: one of kernels.
const kernelEnv = "FAULTTEST_KERNEL"

// lack is a system call that fails. If least is set, only calls whose argument number arg is at least that fail, and with only,
// those that are equal to it.
type lack struct {
	call        uint32
	newer       bool // also all calls with higher numbers
	arg         uint32
	least, only uint32
	errno       syscall.Errno
}

// kernels are kernels that lack something. Linux 3.2 is the oldest on which programs of Go run. On amd64, every call from kcmp on
// is newer.
var kernels = map[string][]lack{
	"3.2": {
		{call: unix.SYS_KCMP, newer: true, errno: unix.ENOSYS},
		{call: unix.SYS_MADVISE, arg: 2, only: unix.MADV_FREE, errno: unix.EINVAL},
		{call: unix.SYS_MADVISE, arg: 2, least: unix.MADV_DONTDUMP, errno: unix.EINVAL},
		{call: unix.SYS_SOCKET, arg: 2, only: unix.IPPROTO_MPTCP, errno: unix.EPROTONOSUPPORT},
		{call: unix.SYS_SETSOCKOPT, arg: 2, only: unix.SO_REUSEPORT, errno: unix.ENOPROTOOPT},
		{call: unix.SYS_PRCTL, arg: 0, least: unix.PR_SET_NO_NEW_PRIVS, errno: unix.EINVAL},
	},
	"without locks": {{call: unix.SYS_FLOCK, errno: unix.ENOSYS}},
}

func init() {
	name := os.Getenv(kernelEnv)
	switch {
	case name == "":
	case len(os.Args) == 1: // started on such a kernel, to see whether it is one
		if _, _, errno := unix.Syscall(unix.SYS_KCMP, 0, 0, 0); errno == unix.ENOSYS {
			os.Exit(0)
		}
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "faulttest:", startOn(kernels[name], os.Args[1:]))
		os.Exit(1)
	}
}

// startOn replaces this process by a command for which system calls fail.
func startOn(lacks []lack, command []string) error {
	runtime.LockOSThread() // the filter is that of a thread, and the command inherits it
	filter := filterOf(lacks)
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0); err != nil {
		return err
	}
	return syscall.Exec(command[0], command, os.Environ())
}

// filterOf returns a filter of system calls (seccomp) in the language of BPF. It reads the number of a call at offset 0, and the
// lower half of an argument from offset 16 on.
func filterOf(lacks []lack) (filter []unix.SockFilter) {
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	// compare goes on with the next instruction if the loaded value is as wanted, and else after n others.
	compare := func(code uint16, value uint32, n uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | code | unix.BPF_K, Jf: n, K: value}
	}
	for _, l := range lacks {
		fail := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(l.errno)}
		filter = append(filter, load(0))
		switch {
		case l.newer:
			filter = append(filter, compare(unix.BPF_JGE, l.call, 1), fail)
		case l.least != 0:
			filter = append(filter, compare(unix.BPF_JEQ, l.call, 3), load(16+8*l.arg), compare(unix.BPF_JGE, l.least, 1), fail)
		case l.only != 0:
			filter = append(filter, compare(unix.BPF_JEQ, l.call, 3), load(16+8*l.arg), compare(unix.BPF_JEQ, l.only, 1), fail)
		default:
			filter = append(filter, compare(unix.BPF_JEQ, l.call, 1), fail)
		}
	}
	return append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
}

// onKernel starts the program on one of kernels.
func onKernel(t *testing.T, name string) programtest.Option {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	probe := exec.Command(self, "/bin/true")
	probe.Env = append(os.Environ(), kernelEnv+"="+name)
	if out, err := probe.CombinedOutput(); err != nil {
		testtier.Missing(t, fmt.Sprintf("the right to filter system calls (%v: %s)", err, out))
	}
	if slices.ContainsFunc(kernels[name], func(l lack) bool { return l.newer }) {
		probe := exec.Command(self, self)
		probe.Env = append(os.Environ(), kernelEnv+"="+name)
		if out, err := probe.CombinedOutput(); err != nil {
			t.Fatalf("the filter lets new system calls through: %v\n%s", err, out)
		}
	}
	return programtest.Through("env", kernelEnv+"="+name, self)
}

// TestAnOldKernelIsEnough starts the program as on Linux 3.2, whose newer system calls and flags fail. Everything works with those
// that are there.
func TestAnOldKernelIsEnough(t *testing.T) {
	t.Parallel()
	kernel := onKernel(t, "3.2")
	dir := t.TempDir()
	s := start(t, dir, "", kernel)
	s.Must(http.StatusCreated, http.MethodPut, "/api/v1/documents/old", document(0, "kernel"))
	id := s.remember("ada", "Prefers tea to coffee.", nil)
	works := func() {
		t.Helper()
		if found := s.Must(http.StatusOK, http.MethodGet, "/api/v1/search?q=kernel", nil); found["total"] != 1.0 {
			t.Errorf("the search finds %v", found["total"])
		}
		if texts := s.recalled("ada", "Does she prefer tea?"); len(texts) != 1 {
			t.Errorf("recall finds %q", texts)
		}
	}
	works()
	data, keys := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "keys")
	if code, said := programtest.Run(t, "backup", "--data", dir, "--out", data, "--keys-out", keys); code != 0 {
		t.Errorf("backup: %d\n%s", code, said)
	}
	s.MustLive()
	key := s.Key
	s.Kill()
	s = start(t, dir, key, kernel)
	works()
	s.Must(http.StatusOK, http.MethodGet, memories+"/"+id, nil)
	s.stopped()
}

// TestAFolderThatCannotBeLockedIsOneLine starts the program on a file system without locks, such as some of networks.
func TestAFolderThatCannotBeLockedIsOneLine(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	line := launch(t, dir, onKernel(t, "without locks")).Refusal()
	for _, word := range []string{dir, "cannot lock files", "another"} {
		if !strings.Contains(line, word) {
			t.Errorf("the line %q does not say %q", line, word)
		}
	}
}
