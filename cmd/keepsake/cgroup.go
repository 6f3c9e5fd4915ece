package main

import (
	"bytes"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
)

// limitMemory sets the garbage collector's memory limit from the control group of the process, so that it collects more
// often before the kernel kills the process. GOMEMLIMIT takes precedence.
func limitMemory(gomemlimit string) {
	if gomemlimit != "" {
		return
	}
	if limit, ok := groupMemory("/proc/self/cgroup", "/sys/fs/cgroup"); ok {
		debug.SetMemoryLimit(limit / 100 * 75) // the rest is for SQLite's pages, index files and the kernel's buffers
	}
}

// groupMemory returns the smallest limit, in bytes, of the process' group and its parents; false if there is none.
func groupMemory(self, root string) (int64, bool) {
	text, err := os.ReadFile(self)
	if err != nil {
		return 0, false
	}
	least := int64(math.MaxInt64)
	for line := range bytes.Lines(text) {
		fields := bytes.SplitN(bytes.TrimSpace(line), []byte(":"), 3)
		if len(fields) != 3 {
			continue
		}
		base, file := root, "memory.max"
		switch {
		case string(fields[0]) == "0": // version 2
		case bytes.Contains(fields[1], []byte("memory")): // version 1
			base, file = path.Join(root, "memory"), "memory.limit_in_bytes"
		default:
			continue
		}
		for dir := path.Join("/", string(fields[2])); ; dir = path.Dir(dir) {
			if n, ok := readBytes(path.Join(base, dir, file)); ok {
				least = min(least, n)
			}
			if dir == "/" {
				break
			}
		}
	}
	// In version 1, a number near the largest means "no limit".
	return least, least < math.MaxInt64/2
}

func readBytes(path string) (int64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	return n, err == nil
}
