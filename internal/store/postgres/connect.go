package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// place is a database that a URL names.
type place struct {
	config      *pgxpool.Config
	connections int // what the URL says of them; 0: nothing
}

// parse reads a URL. What the driver says of a wrong one may hold pieces of a password, so it is not passed on.
func parse(text string) (place, error) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		return place{}, errors.New("the database's URL is not of the form postgres://user:password@host:port/database " +
			"(in a password, characters such as @ : / ? # are written as %40 %3A %2F %3F %23)")
	}
	config, err := pgxpool.ParseConfig(text)
	if err != nil {
		// The URL as such is in order, so this is about one of its settings, or a file that one names.
		if inner := errors.Unwrap(err); inner != nil && !strings.Contains(inner.Error(), u.Host) {
			return place{}, fmt.Errorf("the database's URL has a setting that is wrong: %s", oneLine(inner))
		}
		return place{}, errors.New("the database's URL has a setting that is wrong")
	}
	if config.ConnConfig.ValidateConnect == nil {
		config.ConnConfig.ValidateConnect = primary
	}
	p := place{config: config}
	if u.Query().Has("pool_max_conns") {
		p.connections = int(config.MaxConns)
	}
	return p, nil
}

var errStandby = errors.New("it is a standby")

// primary refuses a server that only lets us read: where the URL names several, another one is tried, and after a
// failover we come to the new one.
func primary(_ context.Context, conn *pgconn.PgConn) error {
	if conn.ParameterStatus("in_hot_standby") == "on" {
		return errStandby
	}
	return nil
}

// String names the place for the operator: who, where, which, and no password.
func (p place) String() string {
	c := p.config.ConnConfig
	if strings.HasPrefix(c.Host, "/") {
		return fmt.Sprintf("%s (database %s, user %s)", c.Host, c.Database, c.User)
	}
	return fmt.Sprintf("%s (database %s, user %s)", net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))), c.Database, c.User)
}

// connConfig is how to connect to a part, with settings that the URL does not name itself.
func (p place) connConfig(part string, connect time.Duration, settings map[string]string) *pgx.ConnConfig {
	c := p.config.ConnConfig.Copy()
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connect
	}
	c.RuntimeParams["search_path"] = schemas[part]
	set := map[string]string{"application_name": "keepsake " + part}
	maps.Copy(set, settings)
	for name, value := range set {
		if _, there := c.RuntimeParams[name]; !there {
			c.RuntimeParams[name] = value
		}
	}
	return c
}

// connect makes a connection outside of the pools.
func (e *Engine) connect(ctx context.Context, p place, part string) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, p.connConfig(part, e.opt.Connect, nil))
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// closeConn says goodbye, and waits for nobody who does not answer.
func closeConn(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}

// lockClass is the first half of our advisory locks, so that they meet nobody else's.
const lockClass = 0x6b656570 // "keep"

// lock waits for an advisory lock, which the connection holds until it is closed.
func lock(ctx context.Context, conn *pgx.Conn, name string) error {
	class, key := lockNumbers(name)
	_, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1, $2)", class, key)
	return err
}

// opening says in one line why a database could not be opened.
func (p place) opening(err error) error {
	name := p.config.ConnConfig.Database
	var e *pgconn.PgError
	if errors.As(err, &e) {
		switch {
		case strings.HasPrefix(e.Code, "28"):
			return fmt.Errorf("PostgreSQL at %s does not let this user in: check the user and the password (%s)", p, e.Code)
		case e.Code == "3D000":
			return fmt.Errorf("PostgreSQL at %s has no such database: CREATE DATABASE %s OWNER %s ENCODING 'UTF8'",
				p, name, p.config.ConnConfig.User)
		case e.Code == "42501":
			return fmt.Errorf("PostgreSQL at %s: the user lacks rights: GRANT CREATE ON DATABASE %s TO %s, and let it own what is in our schemas (%s)",
				p, name, p.config.ConnConfig.User, oneLine(e))
		case strings.HasPrefix(e.Code, "53"):
			return fmt.Errorf("PostgreSQL at %s has no room for another connection (%s)", p, oneLine(e))
		case e.Code == "25006":
			return fmt.Errorf("PostgreSQL at %s only lets us read: it is a standby, or set to read only", p)
		}
		return fmt.Errorf("PostgreSQL at %s: %s", p, oneLine(err))
	}
	if errors.Is(err, errStandby) {
		return fmt.Errorf("PostgreSQL at %s is a standby, which only lets us read: name the primary, or all servers that may be it", p)
	}
	var c *pgconn.ConnectError
	if errors.As(err, &c) {
		return fmt.Errorf("PostgreSQL at %s cannot be reached: %s", p, oneLine(errors.Unwrap(c)))
	}
	return fmt.Errorf("PostgreSQL at %s: %s", p, oneLine(err))
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
