package index

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// files are the files of an index.
type files interface {
	// read returns the content of a file, which is valid until release.
	read(name string) (content []byte, release func() error, err error)
	create(name string) (file, error)
	// rename replaces a file.
	rename(from, to string) error
	remove(name string) error
	list() ([]string, error)
	// sync makes durable which files there are.
	sync() error
}

type file interface {
	io.WriteCloser
	Sync() error
}

// folder is files in a folder of the operating system. It is created when the first file is.
type folder struct{ dir atomic.Pointer[string] }

func newFolder(dir string) *folder {
	f := &folder{}
	f.dir.Store(&dir)
	return f
}

func (f *folder) path(name string) string { return filepath.Join(*f.dir.Load(), name) }

// move renames the folder, and removes another one of that name before.
func (f *folder) move(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.Rename(*f.dir.Load(), dir); err != nil && !os.IsNotExist(err) { // without files, there is no folder
		return err
	}
	f.dir.Store(&dir)
	return syncDir(filepath.Dir(dir))
}

func (f *folder) read(name string) ([]byte, func() error, error) { return mapFile(f.path(name)) }

func (f *folder) create(name string) (file, error) {
	if err := os.MkdirAll(*f.dir.Load(), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(f.path(name), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
}

func (f *folder) rename(from, to string) error { return os.Rename(f.path(from), f.path(to)) }

func (f *folder) remove(name string) error { return os.RemoveAll(f.path(name)) }

func (f *folder) list() ([]string, error) {
	entries, err := os.ReadDir(*f.dir.Load())
	if os.IsNotExist(err) {
		return nil, nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

func (f *folder) sync() error { return syncDir(*f.dir.Load()) }

// Files returns the size of the files of an index in a folder, and when the last of them was written. The error is fs.ErrNotExist if
// the folder has no index.
func Files(dir string) (bytes int64, written time.Time, err error) {
	manifest, err := os.Stat(filepath.Join(dir, manifestName))
	if err != nil {
		return 0, time.Time{}, err
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.Name() != manifestName {
			bytes += info.Size()
		}
	}
	return bytes, manifest.ModTime(), err
}

func syncDir(path string) error {
	if runtime.GOOS == "windows" { // it cannot, and renames are durable
		return nil
	}
	dir, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync the folder: %w", err)
	}
	defer dir.Close()
	err = dir.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) { // some file systems cannot flush a folder
		return nil
	}
	return err
}
