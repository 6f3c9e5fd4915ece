package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"keepsake/internal/base/serverurl"
)

// place is the database server and database that a URL names.
type place struct {
	url         string
	config      *pgxpool.Config
	settings    *settings
	connections int // the URL's pool_max_conns; 0 if it has none
}

// parse parses a database URL. Its errors contain no part of the password.
func parse(text string) (place, error) {
	if err := serverurl.Check(text, "postgres", "postgresql"); err != nil {
		if errors.Is(err, serverurl.ErrEncode) {
			return place{}, fmt.Errorf("the database URL %w", err)
		}
		return place{}, errors.New("the database URL must have the form postgres://user:password@host:port/database " +
			"(in a password, write @ : / ? # as %40 %3A %2F %3F %23)")
	}
	config, err := pgxpool.ParseConfig(text)
	if err != nil {
		// The URL itself is well-formed, so the error is about one of its settings or a file that a setting names.
		u, _ := url.Parse(text)
		if inner := errors.Unwrap(err); inner != nil && u != nil && !strings.Contains(inner.Error(), u.Host) {
			return place{}, fmt.Errorf("the database URL has an invalid setting: %s", serverurl.Line(inner, text))
		}
		return place{}, errors.New("the database URL has an invalid setting")
	}
	if config.ConnConfig.ValidateConnect == nil {
		config.ConnConfig.ValidateConnect = primary
	}
	settings, err := sessionSettings(config.ConnConfig.RuntimeParams)
	if err != nil {
		return place{}, err
	}
	p := place{url: text, config: config, settings: settings}
	if u, err := url.Parse(text); err == nil && u.Query().Has("pool_max_conns") {
		p.connections = int(config.MaxConns)
	}
	return p, nil
}

var errStandby = errors.New("the server is a standby")

// primary refuses a read-only server. If the URL names several servers, the driver then tries the next one, so after a
// failover it finds the new primary.
func primary(_ context.Context, conn *pgconn.PgConn) error {
	if conn.ParameterStatus("in_hot_standby") == "on" {
		return errStandby
	}
	return nil
}

// String names the server, the database and the user, without the password.
func (p place) String() string {
	c := p.config.ConnConfig
	if strings.HasPrefix(c.Host, "/") {
		return fmt.Sprintf("%s (database %s, user %s)", c.Host, c.Database, c.User)
	}
	return fmt.Sprintf("%s (database %s, user %s)", net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))), c.Database, c.User)
}

// connConfig returns the configuration of a connection to a part. A setting in the URL takes precedence over settings.
func (p place) connConfig(part string, connect time.Duration, settings map[string]string) *pgx.ConnConfig {
	c := p.config.ConnConfig.Copy()
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connect
	}
	name := cmp.Or(p.settings.of["application_name"], "keepsake "+part)
	c.RuntimeParams = map[string]string{"application_name": name}
	set := map[string]string{"default_transaction_read_only": "off", "client_encoding": "UTF8"}
	maps.Copy(set, settings)
	maps.Copy(set, p.settings.of)
	set["application_name"], set["search_path"] = name, schemas[part]
	timeout := c.ConnectTimeout
	c.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return configure(ctx, conn, set)
	}
	return c
}

// connect opens a connection outside the pools.
func (e *Engine) connect(ctx context.Context, p place, part string) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, p.connConfig(part, e.opt.Connect, nil))
	if err != nil {
		return nil, err
	}
	return conn, nil
}

const closeTimeout = time.Second // for the server

// closeConn closes a connection.
func closeConn(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = conn.Close(ctx)
}

// lockClass is the first key of all our advisory locks, so that they do not collide with those of other programs.
const lockClass = 0x6b656570 // "keep"

// lock acquires an advisory lock. The connection holds it until it is closed.
func lock(ctx context.Context, conn *pgx.Conn, name string) error {
	class, key := lockNumbers(name)
	_, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1, $2)", class, key)
	return err
}

// openError returns a one-line error for a database that could not be opened.
func (p place) openError(err error) error {
	if errors.Is(err, errPooler) {
		return err
	}
	name := p.config.ConnConfig.Database
	var e *pgconn.PgError
	if errors.As(err, &e) {
		switch {
		case strings.HasPrefix(e.Code, "28"):
			return fmt.Errorf("PostgreSQL at %s rejected the login: check the user and the password (%s)", p, e.Code)
		case e.Code == "3D000":
			return fmt.Errorf("PostgreSQL at %s has no such database; create it: CREATE DATABASE %s OWNER %s ENCODING 'UTF8'",
				p, name, p.config.ConnConfig.User)
		case e.Code == "42501":
			return fmt.Errorf("PostgreSQL at %s: the user lacks privileges: GRANT CREATE ON DATABASE %s TO %s, and make it the owner of everything in the schemas keepsake* (%s)",
				p, name, p.config.ConnConfig.User, p.line(e))
		case strings.HasPrefix(e.Code, "53"):
			return fmt.Errorf("PostgreSQL at %s accepts no more connections (%s)", p, p.line(e))
		case e.Code == "25006":
			return fmt.Errorf("PostgreSQL at %s is read-only: it is a standby, or configured as read-only", p)
		}
		if _, connecting := errors.AsType[*pgconn.ConnectError](err); connecting {
			err = e
		}
		return fmt.Errorf("PostgreSQL at %s: %s", p, p.line(err))
	}
	if errors.Is(err, errStandby) {
		return fmt.Errorf("PostgreSQL at %s is a read-only standby: name the primary, or all servers that can become the primary", p)
	}
	var c *pgconn.ConnectError
	if errors.As(err, &c) {
		return fmt.Errorf("PostgreSQL at %s cannot be reached: %s", p, p.line(eachOnce(errors.Unwrap(c))))
	}
	return fmt.Errorf("PostgreSQL at %s: %s", p, p.line(err))
}

// eachOnce returns an error with each line once. The driver reports an attempt with TLS and one without, and every address of a
// host, in a line each.
func eachOnce(err error) error {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return errors.New(strings.Join(lines, "; "))
}

// line returns an error as one line without the password of the URL.
func (p place) line(err error) string { return serverurl.Line(err, p.url) }

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
