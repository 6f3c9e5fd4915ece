package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// settings are the settings of a session that a URL contains.
type settings struct{ of map[string]string }

// sessionSettings removes the settings of the session from the parameters of the startup message, because a pooler such as
// PgBouncer refuses most of them there. The program sets them after connecting.
func sessionSettings(startup map[string]string) (*settings, error) {
	s := &settings{of: map[string]string{}}
	if options, given := startup["options"]; given {
		of, err := parseOptions(options)
		if err != nil {
			return nil, err
		}
		s.of = of
	}
	for name, value := range startup {
		if name != "options" {
			s.of[name] = value
		}
	}
	return s, nil
}

var errOptions = errors.New(`the database URL has an invalid setting: options can contain only settings such as "-c work_mem=8MB"`)

// parseOptions parses the command line of a session: -c name=value or --name=value, where a backslash keeps the next
// character, for example a blank.
func parseOptions(text string) (map[string]string, error) {
	var words []string
	var word strings.Builder
	inWord, escaped := false, false
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\':
			inWord, escaped = true, true
		case strings.ContainsRune(" \t\r\n", r):
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	of := map[string]string{}
	for i := 0; i < len(words); i++ {
		setting, ok := strings.CutPrefix(words[i], "--")
		if !ok {
			setting, ok = strings.CutPrefix(words[i], "-c")
		}
		if ok && setting == "" && i+1 < len(words) {
			i++
			setting = words[i]
		}
		name, value, found := strings.Cut(setting, "=")
		if !ok || !found || name == "" {
			return nil, errOptions
		}
		of[strings.ReplaceAll(name, "-", "_")] = value
	}
	return of, nil
}

// pooledKey marks a connection that goes through a pooler, in its custom data.
const pooledKey = "keepsake.pooled"

// configure applies the settings of a session. In a session of a pooler, it first discards what an earlier client can have
// left there if the pooler itself does not.
func configure(ctx context.Context, conn *pgconn.PgConn, set map[string]string) error {
	pid, err := applySettings(ctx, conn, set)
	if err != nil {
		return err
	}
	if pid == conn.PID() {
		return nil
	}
	// A pooler gives each client a number of its own, which is not that of the server's process.
	conn.CustomData()[pooledKey] = true
	if err := conn.Exec(ctx, "DISCARD ALL").Close(); err != nil {
		return err
	}
	_, err = applySettings(ctx, conn, set)
	return err
}

// applySettings sets settings and returns the number of the process that serves the connection.
func applySettings(ctx context.Context, conn *pgconn.PgConn, set map[string]string) (pid uint32, err error) {
	text := strings.Builder{}
	text.WriteString("SELECT pg_backend_pid()")
	var args [][]byte
	for _, name := range slices.Sorted(maps.Keys(set)) {
		fmt.Fprintf(&text, ", set_config($%d, $%d, false)", len(args)+1, len(args)+2)
		args = append(args, []byte(name), []byte(set[name]))
	}
	r := conn.ExecParams(ctx, text.String(), args, nil, nil, nil).Read()
	if r.Err != nil {
		return 0, r.Err
	}
	return backend(r)
}

var errNoBackend = errors.New("the server does not say which process serves the connection")

// backend returns the number of the server's process from the first column of a result.
func backend(r *pgconn.Result) (uint32, error) {
	if len(r.Rows) != 1 || len(r.Rows[0]) < 1 {
		return 0, errNoBackend
	}
	pid, err := strconv.ParseUint(string(r.Rows[0][0]), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errNoBackend, err)
	}
	return uint32(pid), nil
}

// throughPooler reports whether a connection goes through a pooler.
func throughPooler(conn *pgx.Conn) bool {
	_, pooled := conn.PgConn().CustomData()[pooledKey]
	return pooled
}
