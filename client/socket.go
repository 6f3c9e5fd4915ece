package client

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// OverSocket makes a client for the server that holds a data folder, through the socket in it (DIR/keepsake.sock). Who may
// open the socket is the operator of the machine and needs no key.
func OverSocket(path string, options ...Option) *Client {
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dialSocket(ctx, path) },
	}
	c, err := New("http://keepsake.sock", "", append([]Option{HTTPClient(&http.Client{Transport: transport})}, options...)...)
	if err != nil {
		panic(err) // the address is a constant
	}
	return c
}

// SocketAnswers reports whether a server listens on a socket; a file without one behind it is left by a server that
// was killed.
func SocketAnswers(ctx context.Context, path string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := dialSocket(ctx, path)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// maxSocketPath is the longest path that every system allows: 104 bytes with the final zero on macOS, 108 on Linux.
const maxSocketPath = 103

// dialSocket connects to the socket, through a short symbolic link if its path is too long.
func dialSocket(ctx context.Context, path string) (net.Conn, error) {
	var d net.Dialer
	if len(path) <= maxSocketPath {
		return d.DialContext(ctx, "unix", path)
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, err
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
	short := filepath.Join(link, filepath.Base(path))
	if len(short) > maxSocketPath {
		return nil, fmt.Errorf("%s and the temporary folder %s are both too long for the path of a socket; set TMPDIR to a shorter folder", path, os.TempDir())
	}
	return d.DialContext(ctx, "unix", short)
}
