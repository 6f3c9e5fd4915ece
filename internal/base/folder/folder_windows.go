package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// Make makes a folder that only its owner, the system and administrators can enter, with the folders above it. One that
// is there stays as it is. Modes mean nothing to Windows: what is made in the folder inherits its access list.
func Make(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	path, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return fmt.Errorf("find out the user: %w", err)
	}
	access, err := windows.SecurityDescriptorFromString("D:P(A;OICI;FA;;;" + user.User.Sid.String() + ")(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)")
	if err != nil {
		return fmt.Errorf("describe the access to %s: %w", path, err)
	}
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return err
	}
	err = windows.CreateDirectory(name, &windows.SecurityAttributes{SecurityDescriptor: access})
	if info, statErr := os.Stat(path); errors.Is(err, fs.ErrExist) && statErr == nil && info.IsDir() {
		return nil // another process made it in between
	}
	if err != nil {
		return &fs.PathError{Op: "mkdir", Path: path, Err: err}
	}
	return nil
}

// Shared reports false: the modes that Go gives files on Windows say nothing about who can open them.
func Shared(fs.FileInfo) bool { return false }

// Sync makes the names in a folder durable, where the file system can flush a folder. Windows flushes only what was opened
// for writing, and os.Open opens folders for reading.
func Sync(dir string) error {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return err
	}
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := windows.CreateFile(name, windows.GENERIC_WRITE, share, nil, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return unlessUnsupported(dir, err)
	}
	err = windows.FlushFileBuffers(h)
	return errors.Join(unlessUnsupported(dir, err), windows.CloseHandle(h))
}

// unlessUnsupported leaves out the errors of file systems that cannot flush a folder, such as network shares.
func unlessUnsupported(dir string, err error) error {
	for _, unsupported := range []error{
		windows.ERROR_ACCESS_DENIED, windows.ERROR_INVALID_FUNCTION, windows.ERROR_NOT_SUPPORTED, windows.ERROR_INVALID_PARAMETER,
	} {
		if errors.Is(err, unsupported) {
			return nil
		}
	}
	if err != nil {
		return &fs.PathError{Op: "sync", Path: dir, Err: err}
	}
	return nil
}

// Free is how many bytes can still be written below a folder.
func Free(dir string) (int64, error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(name, &free, nil, nil); err != nil {
		return 0, &fs.PathError{Op: "free space", Path: dir, Err: err}
	}
	return int64(free), nil
}
