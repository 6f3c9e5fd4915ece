package api

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// closeEmptied closes l, and calls fn for the connections that wait in the system's queue. The system resets connections that
// are still in the queue of a socket when it is closed. So it is closed by one system call right after the queue was empty:
// l.Close alone waits for the goroutine that accepts, and connections are established meanwhile.
func closeEmptied(l *net.TCPListener, fn func(net.Conn)) error {
	raw, err := l.SyscallConn()
	if err != nil {
		return l.Close()
	}
	var socket int
	var copied error
	err = raw.Control(func(listener uintptr) { socket, copied = unix.FcntlInt(listener, unix.F_DUPFD_CLOEXEC, 0) })
	if closed := l.Close(); err != nil || copied != nil {
		return closed
	}
	var waiting []int
	for {
		fd, _, err := syscall.Accept4(socket, syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
		if err == syscall.EINTR || err == syscall.ECONNABORTED { //nolint:errorlint // a system call returns no other type
			continue
		}
		if err != nil {
			break
		}
		waiting = append(waiting, fd)
	}
	err = syscall.Close(socket)
	for _, fd := range waiting {
		file := os.NewFile(uintptr(fd), "")
		if accepted, err := net.FileConn(file); err == nil {
			fn(accepted)
		}
		file.Close()
	}
	return err
}
