package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// leavePages releases the memory of the program's own file that only the start has used: tables and code that are needed
// once. The kernel reads a page from the file again if it is needed. Mappings with content that is not in the file are left
// alone. Errors are ignored.
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
	var start, end uintptr // of the current mapping; 0 if it is not the program's file
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
