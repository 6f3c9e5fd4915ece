//go:build !linux

package enginetest

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// children returns the processes whose parent is pid.
func children(pid int) ([]int, error) {
	text, err := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		return nil, fmt.Errorf("ps: %w", err)
	}
	var list []int
	for line := range strings.Lines(string(text)) {
		var id, parent int
		if _, err := fmt.Sscan(line, &id, &parent); err != nil {
			return nil, fmt.Errorf("read %q, of ps: %w", line, err)
		}
		if parent == pid {
			list = append(list, id)
		}
	}
	return list, nil
}

// cpuOf returns the CPU time of a process; 0 if it has ended.
func cpuOf(t testing.TB, pid int) time.Duration {
	t.Helper()
	text, err := exec.Command("ps", "-o", "time=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0
	}
	sum := 0.0 // seconds of "1:02:03" or "2:03.45"
	for part := range strings.SplitSeq(strings.TrimSpace(string(text)), ":") {
		n, err := strconv.ParseFloat(part, 64)
		if err != nil {
			t.Fatalf("read the processor time %q, of ps: %v", text, err)
		}
		sum = 60*sum + n
	}
	return time.Duration(sum * float64(time.Second))
}
