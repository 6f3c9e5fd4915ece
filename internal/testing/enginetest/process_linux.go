package enginetest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// children returns the processes whose parent is pid.
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
		// "123 (name) S 1 …": the name can contain anything, so the fields are counted from its end.
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

// tick is the unit of the times in /proc, the same on every Linux.
const tick = 10 * time.Millisecond

// cpuOf returns the CPU time of a process and of its children that have ended; 0 if the process itself has ended.
func cpuOf(t testing.TB, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// "123 (name) S …": the name can contain anything, so the fields are counted from its end. Fields 14 to 17 are the times.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	sum := time.Duration(0)
	for _, field := range fields[11:15] {
		var ticks int64
		if _, err := fmt.Sscan(string(field), &ticks); err != nil {
			t.Fatalf("read /proc/%d/stat: %v", pid, err)
		}
		sum += time.Duration(ticks) * tick
	}
	return sum
}
