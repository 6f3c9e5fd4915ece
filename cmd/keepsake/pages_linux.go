package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// leavePages gives back what the start alone has read of the program's own file: tables that are looked at once, code that
// runs once. They are mapped from the file, and what is needed again comes back from there by itself. Nothing is given back
// of a mapping that holds anything the file does not. What fails changes nothing.
func leavePages() {
	program, err := os.Executable()
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer maps.Close()
	var start, end uintptr // of the mapping whose lines are read, 0 where it is not the file's
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		line := lines.Text()
		var from, to uintptr
		var mode string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode); n == 3 {
			start, end = 0, 0
			if strings.HasSuffix(line, " "+program) && (mode == "r-xp" || mode == "r--p") {
				start, end = from, to
			}
			continue
		}
		if own, ok := strings.CutPrefix(line, "Anonymous:"); ok && start != 0 && strings.TrimSpace(own) == "0 kB" {
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, start, end-start, syscall.MADV_DONTNEED)
		}
	}
}
