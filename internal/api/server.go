package api

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// What Go's server enforces before and around our code. Operations that need longer than the small class extend their
// own deadlines (see class.go).
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 10 * time.Second
	writeTimeout      = 25 * time.Second // read the body, 10 s of work, write the answer
	idleTimeout       = 60 * time.Second
	maxHeaderBytes    = 16 << 10
)

// NewServer makes the HTTP server of a surface, ready for Serve on a listener of LimitConnections. What the server itself
// complains about goes to log.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:                      h,
		ConnContext:                  connContext,
		ReadHeaderTimeout:            readHeaderTimeout,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		DisableGeneralOptionsHandler: true, // OPTIONS * is answered by us, with every header
		HTTP2:                        &http.HTTP2Config{MaxConcurrentStreams: 100},
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

type localKey struct{}

// LocalContext marks the connections of the data folder's socket, for http.Server.ConnContext: their callers are the
// operator of the machine and need no key.
func LocalContext(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, localKey{}, true)
}

func isLocal(ctx context.Context) bool { return ctx.Value(localKey{}) != nil }

// LimitConnections bounds how many connections of l are open at once; more wait to be accepted. Once half of them are open,
// no address gets more than a quarter, unless it is a proxy's.
func LimitConnections(l net.Listener, most int, proxies []netip.Prefix) *Listener {
	return &Listener{Listener: l, proxies: proxies, slots: make(chan struct{}, most), done: make(chan struct{}), queued: make(chan net.Conn, min(most, 1024))}
}
