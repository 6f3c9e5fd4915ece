package main

import (
	"time"

	"golang.org/x/sys/windows"
)

// cpuTime returns the CPU time of this process.
func cpuTime() time.Duration {
	var start, end, kernel, user windows.Filetime
	if windows.GetProcessTimes(windows.CurrentProcess(), &start, &end, &kernel, &user) != nil {
		return 0
	}
	ticks := func(t windows.Filetime) int64 { return int64(t.HighDateTime)<<32 + int64(t.LowDateTime) } // of 100 ns
	return time.Duration(100 * (ticks(kernel) + ticks(user)))
}
