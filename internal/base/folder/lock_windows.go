package folder

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockedByte is the offset of the one byte that is locked, far behind what the file holds: Windows lets no other process
// read or write a byte that is locked.
const lockedByte = 1 << 30

func lockedRange() *windows.Overlapped { return &windows.Overlapped{Offset: lockedByte} }

// lock locks a file, or reports that another process has locked it.
func lock(f *os.File) (taken bool, err error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err = windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, lockedRange())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return true, nil
	}
	return false, err
}

func unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockedRange())
}
