package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lock keeps other processes out of the folder and remembers whether the last one left it in order.
type lock struct {
	file *os.File
	// unclean: whoever had the folder before ended without Close.
	unclean bool
}

const running = "running\n"

// lockDir takes DIR/keepsake.lock. The kernel lets go of it when the process ends, however it ends; what stays in the
// file then says that it did not end in order.
func lockDir(dir string) (*lock, error) {
	path := filepath.Join(dir, "keepsake.lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data folder %s cannot be written: %w", dir, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("data folder %s %w", dir, ErrInUse)
		}
		return nil, fmt.Errorf("lock data folder %s: %w", dir, err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	l := &lock{file: f, unclean: info.Size() > 0}
	if _, err := f.WriteAt([]byte(running), 0); err != nil {
		f.Close()
		return nil, fmt.Errorf("data folder %s cannot be written: %w", dir, err)
	}
	return l, nil
}

// release lets go; inOrder says that the files were closed as they should be. Closing alone would not do: a child that
// this process is starting at the moment holds the file, too, until it has become another program.
func (l *lock) release(inOrder bool) error {
	var err error
	if inOrder {
		err = l.file.Truncate(0)
	}
	return errors.Join(err, unix.Flock(int(l.file.Fd()), unix.LOCK_UN), l.file.Close())
}
