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
	"keepsake/internal/api"
	"keepsake/internal/config"
	"keepsake/internal/instance"
)

// door is a listener with the server behind it. A nil door is one that this process does not have.
type door struct {
	name     string
	scheme   string
	listener net.Listener
	server   *http.Server
	// limited is what listener accepts from; nil for the folder's socket.
	limited *api.Listener
	// inherited: the socket outlives this process, and connections wait in it for the next one.
	inherited bool
}

// bind opens the two network listeners. Nobody is answered before Run; who connects earlier waits.
func (a *App) bind(ctx context.Context) (err error) {
	if a.deps.Local {
		return nil
	}
	a.primary, err = a.bindTCP("primary", "listen", a.cfg.Listen)
	if err == nil {
		a.backend, err = a.bindTCP("backend", "backendListen", a.cfg.BackendListen)
	}
	if err != nil {
		if client.SocketAnswers(ctx, instance.SocketPath(a.cfg.Data)) {
			// The same command a second time: that the port is taken too would send its caller the wrong way.
			return fmt.Errorf("data folder %s %w", a.cfg.Data, instance.ErrInUse)
		}
		return err
	}
	return a.primary.useTLS(a.cfg.TLS)
}

func bindSocket(data string) (*door, error) {
	l, err := listenSocket(data)
	if err != nil {
		return nil, err
	}
	return &door{name: "socket", scheme: "http", listener: l}, nil
}

func (a *App) bindTCP(name, setting, address string) (*door, error) {
	l, inherited := a.deps.Listeners[name]
	if !inherited {
		var err error
		if l, err = net.Listen("tcp", address); err != nil {
			return nil, &config.Error{Setting: setting, Reason: cannotListen(setting, address, err)}
		}
	}
	limited := api.LimitConnections(l, a.cfg.Limits.Connections, a.cfg.TrustedProxies)
	return &door{name: name, scheme: "http", listener: limited, limited: limited, inherited: inherited}, nil
}

// addressInUse is what Windows calls syscall.EADDRINUSE (WSAEADDRINUSE).
const addressInUse syscall.Errno = 10048

// cannotListen says why an address cannot be used, and which setting chooses another one.
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

func (d *door) useTLS(t config.TLS) error {
	if t.Cert == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
	if err != nil {
		return &config.Error{Setting: "tls.cert", Reason: fmt.Sprintf("cannot be used with tls.key: %v", err)}
	}
	d.scheme = "https"
	d.listener = tls.NewListener(d.listener, &tls.Config{
		Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
	})
	return nil
}

// answer puts a surface behind the door. Once stopping, every answer asks its client to come back on
// another connection.
func (d *door) answer(h http.Handler, stopping *atomic.Bool, log *slog.Logger) {
	d.server = api.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if stopping.Load() {
			w.Header()["Connection"] = []string{"close"}
		}
		h.ServeHTTP(w, r)
	}), log)
}

func (d *door) close() error {
	if d == nil {
		return nil
	}
	if d.server != nil {
		d.server.Close()
	}
	return d.listener.Close()
}

// url is how this machine reaches the door; where it listens on every address, by name.
func (d *door) url() string {
	if d == nil {
		return ""
	}
	host, port, err := net.SplitHostPort(d.listener.Addr().String())
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "localhost"
	}
	return d.scheme + "://" + net.JoinHostPort(host, port)
}
