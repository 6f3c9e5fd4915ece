//go:build !linux

package api

import "net"

// eachQueued does nothing: waiting connections are reset with the listener.
func eachQueued(*net.TCPListener, func(net.Conn)) {}
