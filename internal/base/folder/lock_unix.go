//go:build unix

package folder

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lock locks a file, or reports that another process has locked it.
func lock(f *os.File) (taken bool, err error) {
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOLCK) {
		return false, fmt.Errorf("its file system cannot lock files; use a folder on another file system: %w", err)
	}
	return false, err
}

func unlock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }
