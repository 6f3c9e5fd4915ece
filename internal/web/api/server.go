package api

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// Limits of Go's server around our code. Operations of longer classes extend their deadlines (see class.go).
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 10 * time.Second
	writeTimeout      = 25 * time.Second // read the body, 10 s of work, write the answer
	idleTimeout       = 60 * time.Second
	maxHeaderBytes    = 16 << 10
)

// NewServer returns the HTTP server of a surface, for Serve on a listener of LimitConnections. The server's own errors go to
// log.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	s := &http.Server{
		Handler:                      h,
		ConnContext:                  connContext,
		ReadHeaderTimeout:            readHeaderTimeout,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		DisableGeneralOptionsHandler: true, // we respond to OPTIONS * with every header
		HTTP2:                        &http.HTTP2Config{MaxConcurrentStreams: 100},
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	serveHTTP2(s)
	return s
}

type localKey struct{}

// LocalContext is an http.Server.ConnContext that marks connections of the data folder's socket. Their callers are the
// operator of the machine and need no key.
func LocalContext(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, localKey{}, true)
}

func isLocal(ctx context.Context) bool { return ctx.Value(localKey{}) != nil }

// LimitConnections limits the open connections of l; more wait to be accepted. Once half of them are open, an address gets
// at most a quarter, unless it is a proxy's.
func LimitConnections(l net.Listener, most int, proxies []netip.Prefix) *Listener {
	return &Listener{Listener: l, proxies: proxies, slots: make(chan struct{}, most), done: make(chan struct{}), queued: make(chan net.Conn, min(most, 1024))}
}
