// Package postgres keeps the members and the news of a cluster in the PostgreSQL database that its members share.
//
// It has connections of its own: when those of the store are all in use, or wait for each other, members still hear that
// a key was revoked.
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

// Connect makes a connection to the database, with our tables in its search path. An engine's Connect is one.
type Connect func(ctx context.Context) (*pgx.Conn, error)

// link is one connection, made when it is needed and made again when it was lost.
type link struct {
	connect Connect
	setup   string // what is said on a new connection

	mu   sync.Mutex
	conn *pgx.Conn
}

// do runs fn on the connection. What it does must bear being done twice: on a connection that turns out to be dead it
// runs again on a new one.
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
	// After an error of the server's the connection may be good, but a new one costs little.
	l.drop()
	return readable(err)
}

func (l *link) drop() {
	conn := l.conn
	l.conn = nil
	goodbye(conn)
}

func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		l.drop()
	}
}

// goodbye closes a connection, and waits for nobody who does not answer.
func goodbye(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_ = conn.Close(ctx)
}

// readable leaves out of an error what may hold an address or a user.
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
