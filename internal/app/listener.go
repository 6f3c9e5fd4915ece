package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"

	"keepsake/client"
	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/web/api"
)

// listener is a network listener or the folder's socket, with its HTTP server. It is nil if this process does not have it.
type listener struct {
	name    string
	scheme  string
	inner   net.Listener
	limited *api.Listener // below inner; nil for the folder's socket
	server  *http.Server
	// inherited means that the socket outlives this process. Connections wait in it for the next process.
	inherited bool
}

// bind opens the network listeners. Connections wait until Run.
func (a *App) bind(ctx context.Context) (err error) {
	if a.deps.Local {
		return nil
	}
	a.primary, err = a.bindNetwork("primary", "listen", a.cfg.Listen)
	if err == nil {
		a.backend, err = a.bindNetwork("backend", "backendListen", a.cfg.BackendListen)
	}
	if err == nil && (a.cfg.AIListen != "" || a.deps.Listeners["ai"] != nil) {
		a.agents, err = a.bindNetwork("ai", "aiListen", a.cfg.AIListen)
	}
	if err != nil {
		if client.SocketAnswers(ctx, instance.SocketPath(a.cfg.Data)) {
			// The same command was run twice. An error about the port would mislead.
			return fmt.Errorf("data folder %s %w", a.cfg.Data, instance.ErrInUse)
		}
		return err
	}
	if a.certificate, err = loadCertificate(a.cfg.TLS, &a.deps); err != nil {
		return err
	}
	a.primary.useTLS(a.certificate)
	if a.agents != nil {
		a.agents.useTLS(a.certificate)
	}
	return nil
}

func bindSocket(data string) (*listener, error) {
	socket, err := listenSocket(data)
	if err != nil {
		return nil, err
	}
	return &listener{name: "socket", scheme: "http", inner: socket}, nil
}

func (a *App) bindNetwork(name, setting, address string) (*listener, error) {
	open, inherited := a.deps.Listeners[name]
	if !inherited {
		var err error
		if path, ok := config.SocketPath(address); ok {
			open, err = listenPath(path)
		} else {
			open, err = net.Listen("tcp", address)
		}
		if err != nil {
			return nil, &config.Error{Setting: setting, Reason: cannotListen(setting, address, err)}
		}
	}
	limited := api.LimitConnections(open, a.cfg.Limits.Connections, a.cfg.TrustedProxies)
	return &listener{name: name, scheme: "http", inner: limited, limited: limited, inherited: inherited}, nil
}

// addressInUse is Windows' syscall.EADDRINUSE (WSAEADDRINUSE).
const addressInUse syscall.Errno = 10048

// cannotListen returns why an address cannot be used, and which setting to change.
func cannotListen(setting, address string, err error) string {
	if !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, addressInUse) {
		return err.Error()
	}
	reason := fmt.Sprintf("another program is using %s; stop it or choose another address", address)
	for _, s := range config.Settings() {
		if s.Path == setting {
			reason += fmt.Sprintf(" with --%s or %s", s.Flag, s.Env())
		}
	}
	return reason
}

// useTLS serves TLS if there is a certificate.
func (l *listener) useTLS(c *certificate) {
	if c == nil {
		return
	}
	l.scheme = "https"
	l.inner = tls.NewListener(l.inner, &tls.Config{
		GetCertificate: c.get, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
	})
}

// handle attaches a handler. While stopping, every response asks the client to close the connection.
func (l *listener) handle(h http.Handler, stopping *atomic.Bool, log *slog.Logger) {
	l.server = api.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if stopping.Load() {
			w.Header()["Connection"] = []string{"close"}
		}
		h.ServeHTTP(w, r)
	}), log)
}

func (l *listener) close() error {
	if l == nil {
		return nil
	}
	if l.server != nil {
		l.server.Close()
	}
	return l.inner.Close()
}

// loopback reports whether only this machine can reach the listener.
func (l *listener) loopback() bool {
	if l.path() != "" {
		return true
	}
	at, ok := l.inner.Addr().(*net.TCPAddr)
	return ok && at.IP.IsLoopback()
}

// path returns the path of the listener's socket, or "" for a port.
func (l *listener) path() string {
	if at, ok := l.inner.Addr().(*net.UnixAddr); ok {
		return at.Name
	}
	return ""
}

// setting returns the address as a setting names it.
func (l *listener) setting() string {
	if path := l.path(); path != "" {
		return config.SocketPrefix + path
	}
	return l.inner.Addr().String()
}

// address returns where the listener is: its URL on this machine, or unix: and the path of its socket.
func (l *listener) address() string {
	if l != nil && l.path() != "" {
		return l.setting()
	}
	return l.url()
}

// url returns the address on this machine, with localhost if the listener accepts on every address or on a socket.
func (l *listener) url() string {
	if l == nil {
		return ""
	}
	if l.path() != "" {
		return l.scheme + "://localhost"
	}
	host, port, err := net.SplitHostPort(l.inner.Addr().String())
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "localhost"
	}
	return l.scheme + "://" + net.JoinHostPort(host, port)
}
