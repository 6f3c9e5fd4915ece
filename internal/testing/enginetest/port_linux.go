package enginetest

import (
	"fmt"
	"net"
	"syscall"
)

// reservePort lets the system choose a port, and reserves it with a socket that is bound and does not listen. The system
// gives it to no connection and to no process that asks for any port. A server that names the port and sets SO_REUSEADDR, as
// servers do, can still listen on it. Without the socket, another process sometimes gets the port.
func reservePort(ip net.IP) (port int, release func(), err error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, fmt.Errorf("reserve a port: %w", err)
	}
	release = func() { syscall.Close(socket) }
	if err = syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err == nil {
		err = syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte(ip.To4())})
	}
	var name syscall.Sockaddr
	if err == nil {
		name, err = syscall.Getsockname(socket)
	}
	if err != nil {
		release()
		return 0, nil, fmt.Errorf("reserve a port: %w", err)
	}
	return name.(*syscall.SockaddrInet4).Port, release, nil
}
