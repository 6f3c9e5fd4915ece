package enginetest

import (
	"fmt"
	"net"
	"strconv"
	"syscall"
	"testing"
)

// FreeAddress gives an address of this machine for a server that the test starts. Nobody else is given it until the test
// ends, also while the server does not run.
func FreeAddress(t testing.TB) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", FreePort(t, net.IPv4(127, 0, 0, 1)))
}

// FreePort is FreeAddress for a port of one address, or of all where ip is 0.0.0.0.
func FreePort(t testing.TB, ip net.IP) string {
	t.Helper()
	port, release, err := reservePort(ip)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return strconv.Itoa(port)
}

// reservePort has the system choose a port, and keeps it with a socket that is bound and does not listen. The system gives
// it to nobody who asks for any port, nor to a connection; whoever names it and lets addresses be used again, as servers
// do, listens there all the same. A port that was only looked up and let go is somebody else's now and then.
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
