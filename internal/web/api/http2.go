package api

//lint:file-ignore SA1019 net/http cannot wrap a connection between TLS and HTTP/2; docs/decisions/0048 says when this can go.

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"

	"golang.org/x/net/http2"
)

// serveHTTP2 lets s serve HTTP/2 on connections whose frames are counted. net/http cannot wrap a connection between TLS and
// HTTP/2; golang.org/x/net/http2 is the same code with that possibility.
func serveHTTP2(s *http.Server) {
	h2 := &http2.Server{}
	if err := http2.ConfigureServer(s, h2); err != nil {
		panic(err) // only an unfit TLSConfig is an error, and s has none
	}
	s.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){
		http2.NextProtoTLS: func(hs *http.Server, c *tls.Conn, h http.Handler) {
			ctx := context.Background()
			// net/http gives the connection's context to its HTTP/2 server in this way.
			if b, ok := h.(interface{ BaseContext() context.Context }); ok {
				ctx = b.BaseContext()
			}
			h2.ServeConn(countFrames(c, hs), &http2.ServeConnOpts{Context: ctx, BaseConfig: hs, Handler: h})
		},
	}
}

// countedConn is an HTTP/2 connection that ends when its client has used up its allowance of frames.
type countedConn struct {
	*tls.Conn
	server *http.Server
	left   atomic.Int64 // of the allowance
	in     frameReader  // only used by the goroutine that reads
	out    frameReader  // only used by the goroutine that writes; there is one at a time
}

func countFrames(c *tls.Conn, server *http.Server) *countedConn {
	counted := &countedConn{Conn: c, server: server, in: frameReader{skip: len(http2.ClientPreface)}}
	counted.left.Store(frameAllowance)
	return counted
}

// Read returns net.ErrClosed once the allowance is used up. The server then closes the connection.
func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	var change int64
	for f, rest, ok := c.in.next(p[:n]); ok; f, rest, ok = c.in.next(rest) {
		change += f.received()
	}
	if change != 0 && c.change(change) < 0 {
		c.server.ErrorLog.Printf("http2: closed the connection of %s: too many frames without content", c.RemoteAddr())
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *countedConn) Write(p []byte) (int, error) {
	var change int64
	for f, rest, ok := c.out.next(p); ok; f, rest, ok = c.out.next(rest) {
		change += f.sent()
	}
	if change != 0 {
		c.change(change)
	}
	return c.Conn.Write(p)
}

// change changes the allowance and returns what is left.
func (c *countedConn) change(by int64) int64 {
	for {
		left := c.left.Load()
		next := afterFrame(left, by)
		if c.left.CompareAndSwap(left, next) {
			return next
		}
	}
}
