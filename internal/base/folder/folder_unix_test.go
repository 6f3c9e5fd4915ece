//go:build unix

package folder

import (
	"errors"
	"io/fs"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAFolderThatCannotBeFlushedIsNoError(t *testing.T) {
	t.Parallel()
	failed := func(err error) error { return &fs.PathError{Op: "sync", Path: "dir", Err: err} }
	for _, err := range []error{nil, failed(unix.EINVAL), failed(unix.ENOSYS), failed(unix.ENOTSUP)} {
		if got := unlessUnsupported(err); got != nil {
			t.Errorf("%v: got %v", err, got)
		}
	}
	if got := unlessUnsupported(failed(unix.EIO)); !errors.Is(got, unix.EIO) {
		t.Errorf("a disk that fails: got %v", got)
	}
}
