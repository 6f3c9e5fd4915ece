// Package postgres stores members and reads events in the PostgreSQL database that the members share.
//
// It uses connections of its own: while those of the store are busy or blocked, a revoked key still reaches all members.
package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Connect opens a connection whose search path contains Keepsake's tables, as an engine's Connect does.
type Connect func(ctx context.Context) (*pgx.Conn, error)

// link is one connection that is opened on first use and again after it was lost.
type link struct {
	connect Connect
	setup   string // runs on every new connection

	mu   sync.Mutex
	conn *pgx.Conn
}

// do runs fn on the connection. If a connection that was used before turns out to be dead, fn runs again on a new one, so
// it must be safe to repeat.
func (l *link) do(ctx context.Context, fn func(conn *pgx.Conn) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	used := l.conn != nil
	err := l.try(ctx, fn)
	if err != nil && used && l.conn == nil && ctx.Err() == nil {
		err = l.try(ctx, fn)
	}
	return err
}

func (l *link) try(ctx context.Context, fn func(conn *pgx.Conn) error) error {
	if l.conn == nil {
		conn, err := l.connect(ctx)
		if err != nil {
			return readable(err)
		}
		l.conn = conn
		if l.setup != "" {
			if _, err := conn.Exec(ctx, l.setup); err != nil {
				l.drop()
				return readable(err)
			}
		}
	}
	err := fn(l.conn)
	if err == nil {
		return nil
	}
	// After an error of the server the connection can be good, but a new one costs little.
	l.drop()
	return readable(err)
}

func (l *link) drop() {
	conn := l.conn
	l.conn = nil
	closeQuickly(conn)
}

func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		l.drop()
	}
}

// closeQuickly closes a connection without waiting long for the server.
func closeQuickly(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_ = conn.Close(ctx)
}

// readable removes what can contain an address or a user from an error.
func readable(err error) error {
	var connect *pgconn.ConnectError
	var server *pgconn.PgError
	var network *net.OpError
	switch {
	case errors.As(err, &server):
		return errors.New("the database says: " + server.Message + " (" + server.Code + ")")
	case errors.As(err, &connect):
		return errUnreachable
	case pgconn.Timeout(err) || errors.Is(err, context.DeadlineExceeded):
		return errSilent
	case errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, pgconn.ErrConnClosed):
		return errLost
	default:
		return err
	}
}

var (
	errUnreachable = errors.New("the database cannot be reached")
	errLost        = errors.New("the connection to the database was lost")
	errSilent      = errors.New("the database does not answer")
)
