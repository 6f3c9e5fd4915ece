package api

import (
	"net"
	"os"
	"syscall"
)

// eachQueued accepts the connections that are waiting.
func eachQueued(l *net.TCPListener, do func(net.Conn)) {
	raw, err := l.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(listener uintptr) {
		for {
			fd, _, err := syscall.Accept4(int(listener), syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
			if err != nil {
				return
			}
			file := os.NewFile(uintptr(fd), "")
			accepted, err := net.FileConn(file)
			file.Close()
			if err == nil {
				do(accepted)
			}
		}
	})
}
