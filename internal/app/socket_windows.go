package app

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"golang.org/x/sys/windows"

	"keepsake/internal/app/instance"
)

// listenSocket listens on DIR\keepsake.sock. The caller holds the folder's lock, so an existing socket was left by a process
// that was killed. The socket inherits the access list of the folder. Windows cannot move a socket that is in use, so it is
// created in place.
func listenSocket(data string) (net.Listener, error) {
	path := instance.SocketPath(data)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("create socket: %w", err)
	}
	l, err := listenAt(path)
	if err != nil {
		return nil, fmt.Errorf("create socket: %w (its path must have at most 107 bytes)", err)
	}
	return &socket{Listener: l, path: path}, nil
}

// withoutSockets reports whether an error says that the system has no Unix sockets, as Windows before 10.
func withoutSockets(err error) bool { return errors.Is(err, windows.WSAEAFNOSUPPORT) }
