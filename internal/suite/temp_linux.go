package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// memory is the file system in memory that Linux offers to every program.
const memory = "/dev/shm"

// tempDir is where the tests create their files: in memory if it has room, unless TMPDIR names a folder. Each database of
// PostgreSQL is 300 files, and a disk's file system spends more CPU time on creating and deleting them than the tests use.
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
