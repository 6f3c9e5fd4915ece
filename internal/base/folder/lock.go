// Package folder is what every data folder has, whichever engine keeps the databases: a lock, files that only their owner
// opens, names that are on stable storage, and room on the disk. What differs between operating systems is in the files
// that end in _unix and _windows.
package folder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrInUse is the error of Take when another process has the folder.
var ErrInUse = errors.New("is in use by another keepsake process")

// LockFile is the name of the file that is locked.
const LockFile = "keepsake.lock"

// Lock keeps other processes out of a folder.
type Lock struct {
	// Unclean says that the process that had the folder before ended without Release.
	Unclean bool

	file *os.File
}

const running = "running\n"

// Take makes a folder where it is absent, as Make does, and locks it. The kernel lets go of the lock when the process
// ends, however it ends; what stays in the file then says that it did not end in order.
func Take(dir string) (*Lock, error) {
	if err := Make(dir); err != nil {
		return nil, fmt.Errorf("make data folder: %w", err)
	}
	path := filepath.Join(dir, LockFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data folder %s cannot be written: %w", dir, err)
	}
	switch taken, err := lock(f); {
	case err != nil:
		f.Close()
		return nil, fmt.Errorf("lock data folder %s: %w", dir, err)
	case taken:
		f.Close()
		return nil, fmt.Errorf("data folder %s %w", dir, ErrInUse)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	l := &Lock{file: f, Unclean: info.Size() > 0}
	if _, err := f.WriteAt([]byte(running), 0); err != nil {
		f.Close()
		return nil, fmt.Errorf("data folder %s cannot be written: %w", dir, err)
	}
	return l, nil
}

// Release lets go; inOrder says that what lies in the folder was closed as it should be. Closing the file alone would
// not do: a child that this process is starting also holds the file until it has become another program.
func (l *Lock) Release(inOrder bool) error {
	var err error
	if inOrder {
		err = l.file.Truncate(0)
	}
	return errors.Join(err, unlock(l.file), l.file.Close())
}
