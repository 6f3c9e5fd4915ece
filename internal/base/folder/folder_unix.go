//go:build unix

package folder

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Make makes a folder that only its owner can enter, mode 0700, with the folders above it. One that is there stays as it
// is.
func Make(dir string) error { return os.MkdirAll(dir, 0o700) }

// Shared reports whether the mode of a file or folder lets others than its owner open it.
func Shared(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }

// Sync makes the names in a folder durable, if the file system can flush a folder.
func Sync(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return unlessUnsupported(f.Sync())
}

// unlessUnsupported leaves out the errors of file systems that cannot flush a folder, such as network shares.
func unlessUnsupported(err error) error {
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, unix.EINVAL) {
		return nil
	}
	return err
}

// Free is how many bytes can still be written below a folder.
func Free(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil // whose types differ between systems
}
