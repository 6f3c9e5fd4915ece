package app

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"keepsake/client"
	"keepsake/internal/api"
	"keepsake/internal/config"
)

// door is a listener with the server behind it. A nil door is one that this process does not have.
type door struct {
	name     string
	scheme   string
	listener net.Listener
	server   *http.Server
}

// bind opens the two network listeners. Nobody is answered before Run; who connects earlier waits.
func (a *App) bind(ctx context.Context) (err error) {
	if a.deps.Local {
		return nil
	}
	a.primary, err = bindTCP("primary", "listen", a.cfg.Listen, a.cfg.Limits.Connections)
	if err == nil {
		a.backend, err = bindTCP("backend", "backendListen", a.cfg.BackendListen, a.cfg.Limits.Connections)
	}
	if err != nil {
		if client.SocketAnswers(ctx, SocketPath(a.cfg.Data)) {
			// The same command a second time: that the port is taken too would send its caller the wrong way.
			return fmt.Errorf("data folder %s %w", a.cfg.Data, ErrInUse)
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

func bindTCP(name, setting, address string, connections int) (*door, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, &config.Error{Setting: setting, Reason: err.Error()}
	}
	return &door{name: name, scheme: "http", listener: api.LimitConnections(l, connections)}, nil
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

// answer puts a surface behind the door.
func (d *door) answer(h http.Handler, log *slog.Logger) {
	d.server = api.NewServer(h, log)
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
