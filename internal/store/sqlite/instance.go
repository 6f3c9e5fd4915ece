package sqlite

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"keepsake/internal/store"
	"keepsake/internal/store/schema"
)

// traces is what the files of a folder contain before anything is written to them.
type traces struct {
	main, keys string // instance IDs; empty if a file has none yet
	secrets    bool   // keys.db contains wrapped secrets, so there was a first start
}

// inspect reads the traces, and refuses files whose schema this program cannot use. It changes nothing.
func inspect(ctx context.Context, dir string) (traces, error) {
	var found traces
	for _, file := range []struct {
		name    string
		id      *string
		secrets *bool
	}{{mainFile, &found.main, nil}, {keysFile, &found.keys, &found.secrets}, {usageFile, new(string), nil}} {
		err := peek(ctx, dir, file.name, func(q store.Querier) error {
			if _, _, err := checkSchema(ctx, q, file.name); err != nil {
				return err
			}
			if err := readIfTable(ctx, q, "instance", "SELECT id FROM instance", file.id); err != nil || file.secrets == nil {
				return err
			}
			return readIfTable(ctx, q, "wrapped_secret", "SELECT EXISTS (SELECT 1 FROM wrapped_secret)", file.secrets)
		})
		if err != nil {
			return traces{}, err
		}
	}
	return found, nil
}

// Examine returns schema.ErrUnreleased, with the name of the folder, if a program before the first release created one of its
// files. It changes nothing, also while another process uses the folder. Other errors are left to Open.
func Examine(ctx context.Context, dir string) error {
	for _, file := range []string{mainFile, keysFile, usageFile} {
		err := peek(ctx, dir, file, func(q store.Querier) error {
			_, _, err := checkSchema(ctx, q, file)
			return err
		})
		if errors.Is(err, schema.ErrUnreleased) {
			return err
		}
	}
	return nil
}

// InstanceID returns the ID of the instance whose files are in a folder; empty: there are none. It changes nothing, also while another
// process uses the folder.
func InstanceID(ctx context.Context, dir string) (string, error) {
	found, err := inspect(ctx, dir)
	return cmp.Or(found.main, found.keys), err
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

// peek calls read with a file, unless it is missing or empty.
func peek(ctx context.Context, dir, file string, read func(store.Querier) error) error {
	path := filepath.Join(dir, file)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if info.Size() == 0 {
		return nil
	}
	v, err := view(ctx, path)
	if err != nil {
		return err
	}
	defer v.readers.db.Close()
	if err := read(&v.readers); errors.Is(err, schema.ErrUnreleased) {
		return fmt.Errorf("the data folder %s %w", dir, err)
	} else if err != nil {
		return opening(path, err)
	}
	return nil
}

// readIfTable reads one value, unless the table or the row does not exist.
func readIfTable(ctx context.Context, q store.Querier, table, query string, into any) error {
	if has, err := hasTable(ctx, q, table); err != nil || !has {
		return err
	}
	err := q.QueryRow(ctx, query).Scan(into)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
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
