package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// traces is what the files of a folder contain before anything is written to them.
type traces struct {
	main, keys string // instance IDs; empty if a file has none yet
	secrets    bool   // keys.db contains wrapped secrets, so there was a first start
}

// inspect reads the traces. It creates no file.
func inspect(ctx context.Context, dir string) (traces, error) {
	var t traces
	var err error
	if t.main, _, err = peek(ctx, filepath.Join(dir, mainFile)); err != nil {
		return t, err
	}
	t.keys, t.secrets, err = peek(ctx, filepath.Join(dir, keysFile))
	return t, err
}

// contradiction describes in one line why the files do not belong together. A new key or an empty database next to old data
// would look like a start and be a loss.
func (t traces) contradiction(dir string) error {
	switch {
	case t.main != "" && t.keys == "":
		return fmt.Errorf("%s: keys.db is missing or empty although main.db holds data: restore the keys.db that belongs to it", dir)
	case t.main == "" && t.secrets:
		return fmt.Errorf("%s: main.db is missing or empty although keys.db holds its secrets: restore the main.db that belongs to it", dir)
	case t.main != "" && t.main != t.keys:
		return fmt.Errorf("%s: main.db and keys.db belong to different instances: restore the pair that belongs together", dir)
	}
	return nil
}

// peek reads a file's instance ID and whether it contains secrets. It returns nothing if the file is missing, empty or not yet
// set up.
func peek(ctx context.Context, path string) (id string, secrets bool, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("read %s: %w", path, err)
	}
	if info.Size() == 0 {
		return "", false, nil
	}
	if err := checkHeader(path); err != nil {
		return "", false, err
	}
	db, err := sql.Open("sqlite", dsn(path, false))
	if err != nil {
		return "", false, opening(path, err)
	}
	defer db.Close()
	if id, err = readIfTable(ctx, db, "instance", "SELECT id FROM instance"); err != nil {
		return "", false, opening(path, err)
	}
	name, err := readIfTable(ctx, db, "wrapped_secret", "SELECT name FROM wrapped_secret LIMIT 1")
	if err != nil {
		return "", false, opening(path, err)
	}
	return id, name != "", nil
}

// readIfTable reads one text. It is empty if the table or the row does not exist.
func readIfTable(ctx context.Context, db *sql.DB, table, query string) (string, error) {
	var n int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = $1", table).Scan(&n); err != nil {
		return "", err
	}
	if n == 0 {
		return "", nil
	}
	var text string
	err := db.QueryRowContext(ctx, query).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return text, err
}

// name writes the instance ID into a file that has none, and returns the one that it has.
func (d *database) name(ctx context.Context, id string) (string, error) {
	if _, err := d.session.conn.ExecContext(ctx, "INSERT INTO instance (id) SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM instance)", id); err != nil {
		return "", fmt.Errorf("write instance id to %s: %w", d.file, err)
	}
	var has string
	if err := d.session.conn.QueryRowContext(ctx, "SELECT id FROM instance").Scan(&has); err != nil {
		return "", fmt.Errorf("read instance id of %s: %w", d.file, err)
	}
	return has, nil
}

// newInstanceID is random: it only has to differ from other instances.
func newInstanceID() string { return rand.Text() }
