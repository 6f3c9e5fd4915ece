//go:build !linux

package enginetest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"keepsake/internal/base/folder"
)

// The ports for tests. They are below those that systems give to connections and to processes that ask for any port.
const (
	firstPort = 20000
	ports     = 10000
)

var nextPort atomic.Int64

// reservePort finds a port on which no process listens, and reserves it for this test binary with a locked folder. A bound
// socket would also block the server; only Linux lets both use the port.
func reservePort(ip net.IP) (port int, release func(), err error) {
	for range ports {
		port := firstPort + (os.Getpid()*31+int(nextPort.Add(1)))%ports
		dir := filepath.Join(tempFolder(), fmt.Sprint(folderName, "port-", port))
		lock, err := folder.Take(dir)
		if errors.Is(err, folder.ErrInUse) || errors.Is(err, os.ErrPermission) { // possibly another user's
			continue
		}
		if err != nil {
			return 0, nil, fmt.Errorf("reserve a port: %w", err)
		}
		l, err := net.Listen("tcp", net.JoinHostPort(ip.String(), strconv.Itoa(port)))
		if err != nil {
			_ = lock.Release(true)
			continue
		}
		l.Close()
		return port, func() { _ = lock.Release(true) }, nil // keep the folder, because another process can be locking it
	}
	return 0, nil, errors.New("reserve a port: none is free")
}
