package app

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"
)

// socket removes its file at its final path when it is closed.
type socket struct {
	net.Listener
	path string
}

func (s *socket) Close() error {
	err := s.Listener.Close()
	if err == nil {
		os.Remove(s.path)
	}
	return err
}

func listenAt(path string) (net.Listener, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: path})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	return l, nil
}

// listenPath listens on the socket that a setting of an address names, for a proxy on this machine. The mode 0660 lets the
// socket's owner and group connect. A socket that no process listens on was left by one that was killed, and is replaced.
func listenPath(path string) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the path of a socket has at most %d bytes, and %s has %d", maxSocketPath, path, len(path))
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode().IsRegular() || info.IsDir() {
			return nil, fmt.Errorf("%s is not a socket; choose another path", path)
		}
		if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
			conn.Close()
			return nil, fmt.Errorf("another program is listening on %s; stop it or choose another path", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := listenAt(path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o660); err != nil {
		return nil, errors.Join(err, l.Close(), os.Remove(path))
	}
	return &pathListener{socket{Listener: l, path: path}}, nil
}

// maxSocketPath is the longest path of a socket. Systems limit it to a little over a hundred bytes.
const maxSocketPath = 100

// pathListener is a socket whose callers have the address 127.0.0.1: they are on this machine. So limits by address,
// trustedProxies and allowedIps treat them as callers of a local port.
type pathListener struct{ socket }

func (l *pathListener) Accept() (net.Conn, error) {
	conn, err := l.socket.Accept()
	if err != nil {
		return nil, err
	}
	return pathConn{conn}, nil
}

type pathConn struct{ net.Conn }

var onThisMachine = net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0"))

func (pathConn) RemoteAddr() net.Addr { return onThisMachine }
