//go:build unix

package app

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"keepsake/internal/app/instance"
)

// listenSocket listens on DIR/keepsake.sock, which only the owner of the folder can open. The caller holds the folder's
// lock, so an existing socket was left by a process that was killed.
//
// The socket is created in a private folder and moved into place after chmod: its initial mode follows the umask, so others
// could connect.
func listenSocket(data string) (net.Listener, error) {
	private, err := os.MkdirTemp(data, ".socket-") // mode 0700
	if err != nil {
		return nil, fmt.Errorf("create socket: %w", err)
	}
	defer os.RemoveAll(private)
	l, err := listenUnix(private, "s")
	if err != nil {
		return nil, fmt.Errorf("create socket: %w", err)
	}
	path := instance.SocketPath(data)
	created := filepath.Join(private, "s")
	if err := errors.Join(os.Chmod(created, 0o600), os.Rename(created, path)); err != nil {
		l.Close()
		return nil, fmt.Errorf("create socket: %w", err)
	}
	return &socket{Listener: l, path: path}, nil
}

// listenUnix listens on dir/name, through a short symbolic link if the path is too long.
func listenUnix(dir, name string) (net.Listener, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if path := filepath.Join(dir, name); len(path) <= maxSocketPath {
		return listenAt(path)
	}
	temp, err := os.MkdirTemp("", "keepsake")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	link := filepath.Join(temp, "d")
	if err := os.Symlink(dir, link); err != nil {
		return nil, err
	}
	short := filepath.Join(link, name)
	if len(short) > maxSocketPath {
		return nil, fmt.Errorf("%s and the temporary folder %s are both too long for the path of a socket; set TMPDIR to a shorter folder", dir, os.TempDir())
	}
	return listenAt(short)
}

// withoutSockets reports whether an error says that the system has no Unix sockets.
func withoutSockets(error) bool { return false }
