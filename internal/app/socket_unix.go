//go:build unix

package app

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"keepsake/internal/instance"
)

// listenSocket listens on DIR/keepsake.sock, which only the owner of the folder may open. The caller holds the
// folder's lock, so a socket that is there already is left by a process that was killed.
//
// The socket is made in a private folder and moved into place with its mode set: bind gives it the mode of the umask,
// and until chmod others could connect.
func listenSocket(data string) (net.Listener, error) {
	private, err := os.MkdirTemp(data, ".socket-") // mode 0700
	if err != nil {
		return nil, fmt.Errorf("make socket: %w", err)
	}
	defer os.RemoveAll(private)
	l, err := listenUnix(private, "s")
	if err != nil {
		return nil, fmt.Errorf("make socket: %w", err)
	}
	path := instance.SocketPath(data)
	made := filepath.Join(private, "s")
	if err := errors.Join(os.Chmod(made, 0o600), os.Rename(made, path)); err != nil {
		l.Close()
		return nil, fmt.Errorf("make socket: %w", err)
	}
	return &socket{Listener: l, path: path}, nil
}

// maxAddress is how long the path of a socket may be: an address has little over a hundred bytes.
const maxAddress = 100

// listenUnix listens on dir/name, through a short link where the folder lies too deep for an address.
func listenUnix(dir, name string) (net.Listener, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if path := filepath.Join(dir, name); len(path) <= maxAddress {
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
	return listenAt(filepath.Join(link, name))
}

// withoutSockets reports whether an error says that the system has no Unix sockets.
func withoutSockets(error) bool { return false }
