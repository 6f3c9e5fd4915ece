package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// memory is Linux' file system in memory for every program.
const memory = "/dev/shm"

// tempDir returns the folder for the files of tests: TMPDIR if it is set, else memory if it has room. Each database of
// PostgreSQL has 300 files, and a file system on a disk spends more CPU time on creating and deleting them than the tests use.
func tempDir() string {
	const room = 2 << 30 // the tests have used 250 MB at once
	var fs unix.Statfs_t
	if os.Getenv("TMPDIR") != "" || unix.Statfs(memory, &fs) != nil {
		return os.TempDir()
	}
	if fs.Flags&unix.ST_NOEXEC != 0 || fs.Bavail*uint64(fs.Bsize) < room {
		return os.TempDir()
	}
	return memory
}
