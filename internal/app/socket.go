package app

import (
	"net"
	"os"
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
